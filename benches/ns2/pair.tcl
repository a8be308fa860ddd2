# The experiment of examples/pair.toml in ns-2, to compare results and speed with.
#
#   ns pair.tcl CC1 CC2 DURATION START2 SAMPLES [INTERVAL] [PACKETS] [PAIRS] [SEED] [MONITORS]
#      [RATE] [DELAY] [BUFFER]
#
#   CC1, CC2   a TCP-Linux module: reno bic compound cubic highspeed htcp hybla illinois lp
#              scalable vegas veno westwood yeah; CC2 may be "none", for one flow alone
#   DURATION   seconds simulated
#   START2     when the second flow starts, seconds (the first starts at 0.1 s)
#   SAMPLES    file for one line of columns every INTERVAL seconds, or "-" for none
#   INTERVAL   seconds between samples; 0.1 if not given
#   PACKETS    directory for packet and variable traces of flow 1, or "-" for none.
#              Large: about 400 bytes for every data packet
#   PAIRS      how many pairs of flows to run; 1 if not given. The window limit and
#              the bottleneck are those of one pair; more pairs only share it out
#   SEED       of the sender's random delays (overhead_); 1 if not given
#   MONITORS   1 for a flow monitor on both directions of the bottleneck, as the script of the
#              paper has them to count each flow's packets, bytes and drops; 0 if not given
#   RATE       of the bottleneck; 622Mb if not given
#   DELAY      of the bottleneck, one way; 48ms if not given
#   BUFFER     of the bottleneck, packets; 1555 if not given
#
# The set-up follows the script in the appendix of S. Gelle, "Performance of high-speed
# TCP Protocols over NS-2 TCP Linux" (Old Dominion University, 2008), restated. Lines of
# that script that change nothing are left out: its `set_ca_default_param tcp_bic …`
# name a module that TCP-Linux does not have (modules are called `bic`, not `tcp_bic`).
#
# Results, as "name value" lines on standard output: the data packets that left the
# bottleneck, and each flow's acknowledged 1000-byte packets as Mbit/s over the second
# half of the run.

# Every packet carries all of ns-2's protocol headers unless told otherwise; these three
# are the ones TCP needs.
remove-all-packet-headers
add-packet-header Flags IP TCP

proc argument {index otherwise} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $otherwise
}

if {[llength $argv] < 5} {
    puts stderr "usage: ns pair.tcl CC1 CC2 DURATION START2 SAMPLES \[INTERVAL\] \[PACKETS\] \[PAIRS\] \[SEED\] \[MONITORS\] \[RATE\] \[DELAY\] \[BUFFER\]"
    exit 2
}
set cc(0)      [argument 0 bic]
set cc(1)      [argument 1 cubic]
set duration   [argument 2 500]
set start(0)   0.1
set start(1)   [argument 3 50]
set samples    [argument 4 -]
set interval   [argument 5 0.1]
set packets    [argument 6 -]
set pairs      [argument 7 1]
set seed       [argument 8 1]
set monitors   [argument 9 0]
set rate       [argument 10 622Mb]
set delay      [argument 11 48ms]
set buffer     [argument 12 1555]

set segment_bits 8000.0

global defaultRNG
$defaultRNG seed $seed

set ns [new Simulator]

Agent/TCP/Linux set timestamps_   1
Agent/TCP/Linux set window_       67000
Agent/TCP/Linux set packetSize_   1000
Agent/TCP/Linux set overhead_     0.000008
Agent/TCP/Linux set maxburst_     2

# In TCP-Linux max_ssthresh_ is nothing but the initial ssthresh: TcpAgent::reset() caps
# ssthresh_ with it when the run begins, and the limited slow start that the name promises
# is never reached (the modules look at Linux's own sysctl_tcp_max_ssthresh, which is 0).
# So slow start ends at 100 packets, and H-TCP has none.
proc initial_ssthresh {module} { return [expr {$module == "htcp" ? 1 : 100}] }

set left  [$ns node]
set right [$ns node]
$ns duplex-link $left $right $rate $delay DropTail
$ns queue-limit $left $right $buffer
$ns queue-limit $right $left $buffer
set bottleneck [$ns monitor-queue $left $right ""]
if {$monitors} {
    foreach {from to} [list $left $right $right $left] {
        $ns attach-fmon [$ns link $from $to] [$ns makeflowmon Fid]
    }
}

set flows {}
for {set pair 0} {$pair < $pairs} {incr pair} {
    for {set which 0} {$which < 2} {incr which} {
        if {$cc($which) == "none"} { continue }
        set flow [llength $flows]
        set sender   [$ns node]
        set receiver [$ns node]
        foreach {from to} [list $sender $left $receiver $right] {
            $ns duplex-link $from $to 1000Mb 1ms DropTail
            $ns queue-limit $from $to 67000
            $ns queue-limit $to $from 67000
        }
        set tcp($flow) [$ns create-connection TCP/Linux $sender TCPSink/Sack1 $receiver $flow]
        $tcp($flow) set max_ssthresh_ [initial_ssthresh $cc($which)]
        $ns at $start($which) "$tcp($flow) select_ca $cc($which)"
        set ftp [$tcp($flow) attach-app FTP]
        $ns at $start($which) "$ftp start"
        if {$flow == 0} { set first_sender $sender }
        lappend flows $flow
    }
}

# Samples: one line every `interval`; ack_ counts from -1 and packet 0 is the SYN.
proc sample {} {
    global ns tcp flows interval sample_file bottleneck
    set now [$ns now]
    set line [format "%.3f" $now]
    foreach flow $flows {
        set a $tcp($flow)
        append line " [$a set cwnd_] [$a set ssthresh_] [expr {[$a set ack_] > 0 ? [$a set ack_] : 0}]"
        append line " [expr {[$a set srtt_] / 8.0}] [$a set ndatapack_] [$a set nrexmitpack_] [$a set nrexmit_]"
    }
    append line " [$bottleneck set pkts_] [$bottleneck set pdrops_]"
    puts $sample_file $line
    $ns at [expr {$now + $interval}] sample
}
if {$samples != "-"} {
    set sample_file [open $samples w]
    set header "t_s"
    foreach flow $flows {
        set n [expr {$flow + 1}]
        append header " cwnd$n ssthresh$n acked$n srtt${n}_ms sent$n retransmitted$n rto$n"
    }
    append header " backlog drops"
    puts $sample_file $header
    $ns at $interval sample
}

# Traces of flow 1: every packet on its first hop and at the bottleneck, every ACK on its
# last hop, and every change of the variables below. A change of nackpack_ opens the
# lines of one ACK.
if {$packets != "-"} {
    set variable_file [open $packets/variables.tr w]
    $tcp(0) attach $variable_file
    foreach name {
        nackpack_ ack_ t_seqno_ maxseq_ cwnd_ ssthresh_ next_pkts_in_flight_
        ndatapack_ nrexmitpack_ nrexmit_ rtt_ srtt_ rttvar_ backoff_
    } { $tcp(0) trace $name }
    set bottleneck_file [open $packets/bottleneck.tr w]
    $ns trace-queue $left $right $bottleneck_file
    set send_file [open $packets/send.tr w]
    $ns trace-queue $first_sender $left $send_file
    set ack_file [open $packets/ack.tr w]
    $ns trace-queue $left $first_sender $ack_file
}

set half [expr {$duration / 2.0}]
$ns at $half {
    foreach flow $flows { set acked_half($flow) [$tcp($flow) set ack_] }
}

proc finish {} {
    global ns duration half flows tcp acked_half bottleneck segment_bits pairs cc
    # The forward queue carries data packets only.
    puts "data_packets [expr {[$bottleneck set pdepartures_]}]"
    puts "drops [$bottleneck set pdrops_]"
    foreach flow $flows {
        set acked [expr {[$tcp($flow) set ack_] - $acked_half($flow)}]
        set mbps($flow) [expr {$acked * $segment_bits / ($duration - $half) / 1e6}]
        puts "throughput[expr {$flow + 1}]_mbps [format %.3f $mbps($flow)]"
    }
    if {[llength $flows] == 2} {
        set asymmetry [expr {($mbps(0) - $mbps(1)) / ($mbps(0) + $mbps(1))}]
        puts "asymmetry [format %.4f $asymmetry]"
    }
    exit 0
}
$ns at $duration finish
$ns run
