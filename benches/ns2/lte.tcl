# The LTE chain of M. Siddiqui, S. Khalid and R. Beg, "The Analysis of Various TCP Sub-Versions and
# Mechanism for Congestion Avoidance", IJERA 2(5), 2012, table 1 and figure 3, in ns-2.35.
#
#   ns lte.tcl SENDER [WINDOW] [SEGMENT] [QUEUE] [RADIO] [BACKHAUL] [DURATION]
#
#   SENDER     TCP-Linux (Agent/TCP/Linux with reno), FullTCP (Agent/TCP/FullTcp), FullTCP-both (the
#              same with a file from the user device, too, on the same connection) or HSTCP
#              (Agent/TCP/Sack1 with windowOption_ 8)
#   WINDOW     window_, in packets; 100 if not given
#   SEGMENT    payload of a packet in bytes; 1500 if not given. FullTcp has its own, segsize_, which
#              is 536 unless a script sets it.
#   QUEUE      packets in front of each link; 50 if not given, which is ns-2's own
#   RADIO      rate of the link to the user device; 1Mb if not given
#   BACKHAUL   rate of the link to the base station; 10Mb if not given
#   DURATION   seconds; 50 if not given
#
# One line for each 10 ms: time (s), cwnd_ and ssthresh_ (packets), smoothed round-trip time (s),
# dupacks_, which FullTcp's cwnd_ has in it during fast recovery.

remove-all-packet-headers
add-packet-header Flags IP TCP

proc argument {index otherwise} {
    global argv
    if {[llength $argv] > $index} { return [lindex $argv $index] }
    return $otherwise
}
if {[llength $argv] < 1} {
    puts stderr "usage: ns lte.tcl SENDER \[WINDOW\] \[SEGMENT\] \[QUEUE\] \[RADIO\] \[BACKHAUL\] \[DURATION\]"
    exit 2
}
set sender   [argument 0 TCP-Linux]
set window   [argument 1 100]
set segment  [argument 2 1500]
set queue    [argument 3 50]
set radio    [argument 4 1Mb]
set backhaul [argument 5 10Mb]
set duration [argument 6 50]

set ns [new Simulator]
Agent/TCP         set window_     $window
Agent/TCP         set packetSize_ $segment
Agent/TCP/FullTcp set segsize_    $segment

set server  [$ns node]
set gateway [$ns node]
$ns duplex-link $server $gateway 100Mb 2ms DropTail
$ns queue-limit $server $gateway $queue
foreach cell {0 1} {
    set enb($cell) [$ns node]
    set ue($cell)  [$ns node]
    $ns duplex-link $gateway $enb($cell) $backhaul 2ms DropTail
    $ns duplex-link $enb($cell) $ue($cell) $radio 2ms DropTail
    $ns queue-limit $gateway $enb($cell) $queue
    $ns queue-limit $enb($cell) $ue($cell) $queue
}

switch $sender {
    TCP-Linux {
        set tcp  [new Agent/TCP/Linux]
        set sink [new Agent/TCPSink/Sack1]
        $ns at 0 "$tcp select_ca reno"
    }
    FullTCP {
        set tcp  [new Agent/TCP/FullTcp]
        set sink [new Agent/TCP/FullTcp]
        $sink listen
    }
    FullTCP-both {
        set tcp  [new Agent/TCP/FullTcp]
        set sink [new Agent/TCP/FullTcp]
        $sink listen
        set answer [new Application/FTP]
        $answer attach-agent $sink
        $ns at 0.0 "$answer start"
    }
    HSTCP {
        set tcp  [new Agent/TCP/Sack1]
        set sink [new Agent/TCPSink/Sack1]
        $tcp set windowOption_ 8
    }
    default { puts stderr "no such sender: $sender"; exit 2 }
}
$ns attach-agent $server $tcp
$ns attach-agent $ue(0) $sink
$ns connect $tcp $sink
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 0.0 "$ftp start"

proc sample {} {
    global ns tcp
    # srtt_ is in eighths of a tick (tcp.cc, rtt_update).
    set srtt [expr {[$tcp set srtt_] / 8.0 * [$tcp set tcpTick_]}]
    set line [list [$tcp set cwnd_] [$tcp set ssthresh_] $srtt [$tcp set dupacks_]]
    puts [format "%.2f %.4f %s %.4f %s" [$ns now] {*}$line]
    $ns at [expr {[$ns now] + 0.01}] sample
}
$ns at 0.01 sample
$ns at $duration { exit 0 }
$ns run
