# Two flows of ns-2's own TCP agent (Agent/TCP/Sack1) on the path of pair.tcl, for the column
# "default" of S. Gelle, "Performance of high-speed TCP Protocols over NS-2 TCP Linux".
#
#   ns sack1-pair.tcl CC1 CC2 DURATION START2 [SEED] [MAX_SSTHRESH] [SAMPLES]
#
#   CC1, CC2      reno, highspeed or scalable: what an unpatched ns-2 can do
#   DURATION      seconds simulated
#   START2        when the second flow starts, seconds (the first starts at 0.1 s)
#   SEED          of the sender's random delays (overhead_); 1 if not given
#   MAX_SSTHRESH  100 if not given, as in the script of the paper
#   SAMPLES       file for one line of columns every 0.1 s, or "-" for none
#
# ns-2 has HighSpeed TCP (windowOption_ 8). Scalable TCP was a patch, but the binomial controls
# (windowOption_ 6) with these exponents are its two rules: cwnd + 0.01 for each acknowledgement,
# cwnd * 0.875 after a loss.

remove-all-packet-headers
add-packet-header Flags IP TCP

proc argument {index otherwise} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $otherwise
}

if {[llength $argv] < 4} {
    puts stderr "usage: ns sack1-pair.tcl CC1 CC2 DURATION START2 \[SEED\] \[MAX_SSTHRESH\] \[SAMPLES\]"
    exit 2
}
set cc(0)        [argument 0 reno]
set cc(1)        [argument 1 reno]
set duration     [argument 2 500]
set start(0)     0.1
set start(1)     [argument 3 50]
set seed         [argument 4 1]
set max_ssthresh [argument 5 100]
set samples      [argument 6 -]

set segment_bits 8000.0

global defaultRNG
$defaultRNG seed $seed

set ns [new Simulator]

Agent/TCP set timestamps_   1
Agent/TCP set window_       67000
Agent/TCP set packetSize_   1000
Agent/TCP set overhead_     0.000008
Agent/TCP set maxburst_     2
Agent/TCP set max_ssthresh_ $max_ssthresh
# Values of the paper's script, all ns-2's defaults too.
Agent/TCP set low_window_    38
Agent/TCP set high_window_   83000
Agent/TCP set high_p_        0.0000001
Agent/TCP set high_decrease_ 0.1

proc choose {agent cc} {
    switch $cc {
        reno      { $agent set windowOption_ 1 }
        highspeed { $agent set windowOption_ 8 }
        scalable {
            $agent set windowOption_ 6
            $agent set k_parameter_ -1.0
            $agent set l_parameter_ 1.0
            $agent set increase_num_ 0.01
            $agent set decrease_num_ 0.875
        }
        default { puts stderr "no such algorithm: $cc"; exit 2 }
    }
}

set left  [$ns node]
set right [$ns node]
$ns duplex-link $left $right 622Mb 48ms DropTail
$ns queue-limit $left $right 1555
$ns queue-limit $right $left 1555
set bottleneck [$ns monitor-queue $left $right ""]

for {set flow 0} {$flow < 2} {incr flow} {
    set sender   [$ns node]
    set receiver [$ns node]
    foreach {from to} [list $sender $left $receiver $right] {
        $ns duplex-link $from $to 1000Mb 1ms DropTail
        $ns queue-limit $from $to 67000
        $ns queue-limit $to $from 67000
    }
    set tcp($flow) [$ns create-connection TCP/Sack1 $sender TCPSink/Sack1 $receiver $flow]
    choose $tcp($flow) $cc($flow)
    set ftp [$tcp($flow) attach-app FTP]
    $ns at $start($flow) "$ftp start"
}

proc sample {} {
    global ns tcp sample_file bottleneck
    set line [format "%.3f" [$ns now]]
    foreach flow {0 1} {
        set a $tcp($flow)
        append line " [$a set cwnd_] [$a set ssthresh_] [$a set ack_] [$a set nrexmitpack_] [$a set nrexmit_] [$a set ncwndcuts_]"
    }
    append line " [$bottleneck set pkts_] [$bottleneck set pdrops_]"
    puts $sample_file $line
    $ns at [expr {[$ns now] + 0.1}] sample
}
if {$samples != "-"} {
    set sample_file [open $samples w]
    puts $sample_file "t_s cwnd1 ssthresh1 acked1 retransmitted1 rto1 cuts1 cwnd2 ssthresh2 acked2 retransmitted2 rto2 cuts2 backlog drops"
    $ns at 0.1 sample
}

set half [expr {$duration / 2.0}]
$ns at $half {
    foreach flow {0 1} { set acked_half($flow) [$tcp($flow) set ack_] }
}

proc finish {} {
    global duration half tcp acked_half bottleneck segment_bits
    puts "data_packets [$bottleneck set pdepartures_]"
    puts "drops [$bottleneck set pdrops_]"
    foreach flow {0 1} {
        set acked [expr {[$tcp($flow) set ack_] - $acked_half($flow)}]
        set mbps($flow) [expr {$acked * $segment_bits / ($duration - $half) / 1e6}]
        puts "throughput[expr {$flow + 1}]_mbps [format %.3f $mbps($flow)]"
        puts "timeouts[expr {$flow + 1}] [$tcp($flow) set nrexmit_]"
        puts "reductions[expr {$flow + 1}] [$tcp($flow) set ncwndcuts_]"
    }
    puts "asymmetry [format %.4f [expr {($mbps(0) - $mbps(1)) / ($mbps(0) + $mbps(1))}]]"
    exit 0
}
$ns at $duration finish
$ns run
