# When ns-2's TCP/Sack1 sends what, if certain packets are lost: the recordings in
# crates/tcp/tests/ns2.
#
#   ns sack1-drops.tcl PACKETS WINDOW_INIT SSTHRESH MAXBURST END_S DROP ...
#
#   PACKETS      how many packets the application has
#   WINDOW_INIT  initial window, packets
#   SSTHRESH     slow-start threshold at the start, packets
#   MAXBURST     maxburst_; 0 for no limit
#   END_S        when the run ends, seconds
#   DROP         packets that the link loses: the first that it sees is 1, and is the SYN
#
# One link of 50 ms each way, less a thousandth of one, so that what happens at an instant happens in
# order; and so fast that packets take no time. Printed is a line for
# each packet sent: the time in whole milliseconds, its number (the SYN has 0), and "lost" if it is.

remove-all-packet-headers
add-packet-header Flags IP TCP

set packets [lindex $argv 0]
set end_s   [lindex $argv 4]
set drops   [lrange $argv 5 end]

Agent/TCP set timestamps_ 1
Agent/TCP set window_     67000
Agent/TCP set max_ssthresh_ 100
Agent/TCP set windowInit_ [lindex $argv 1]
Agent/TCP set maxburst_   [lindex $argv 3]

set ns [new Simulator]
set sender   [$ns node]
set receiver [$ns node]
$ns duplex-link $sender $receiver 1000000000Mb 49.999ms DropTail
$ns queue-limit $sender $receiver 100000
$ns queue-limit $receiver $sender 100000
set tcp [$ns create-connection TCP/Sack1 $sender TCPSink/Sack1 $receiver 0]
set ftp [$tcp attach-app FTP]

# Loses what is in the list.
set loser [new ErrorModel/List]
$loser droplist [lmap n $drops { expr {$n - 1} }]
$ns lossmodel $loser $sender $receiver

set trace_name [file join /tmp sack1-drops-[pid].tr]
set trace_file [open $trace_name w]
$ns trace-queue $sender $receiver $trace_file

proc finish {} {
    global trace_file trace_name ns drops argv
    $ns flush-trace
    close $trace_file
    puts "# ns sack1-drops.tcl $argv"
    set lines [open $trace_name r]
    set number 0
    while {[gets $lines line] >= 0} {
        if {[lindex $line 0] ne "+"} { continue }
        incr number
        set lost [expr {$number in $drops ? " lost" : ""}]
        puts "[format %.0f [expr {[lindex $line 1] * 1000.0}]] [lindex $line 10]$lost"
    }
    close $lines
    file delete $trace_name
    exit 0
}
# Running resets the agent, and with it the threshold.
$ns at 0.0 "$tcp set ssthresh_ [lindex $argv 2]; $ftp produce $packets"
$ns at $end_s finish
$ns run
