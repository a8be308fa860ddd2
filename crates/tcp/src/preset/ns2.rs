//! Stacks of ns-2. Files and functions are of ns-2.35's source; "Gelle 2008" is S. Gelle,
//! *Performance of high-speed TCP Protocols over NS-2 TCP Linux*, whose appendix prints a script.

use fairway_cc::Variant;
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const NS2_TCP_LINUX: Preset = preset!(
    "ns2-tcp-linux",
    "ns-2.35's TCP-Linux agent with an acknowledgement per packet.",
{
    window: Window {
        cc_variant: Variant::Linux2_6_22, "tcp/linux/src: modules of Linux 2.6.22";
        initial_window: 2, "tcp/tcp-linux.cc, reset: snd_cwnd 2";
        initial_ssthresh: Some(100),
            "Gelle 2008: max_ssthresh_ 100, and 1 for H-TCP, which so begins in congestion avoidance; \
         tcp/tcp.cc, reset, takes it as the first threshold and not as a limit of slow start";
        initial_ssthresh_of: &[("htcp", 1)],
            "Gelle 2008: max_ssthresh_ 1 for H-TCP, which so begins in congestion avoidance";
        slow_start: None, "the algorithm's own; tcp/linux/src/tcp_cong.c, tcp_slow_start";
        slow_start_after_idle: false,
            "tcp/tcp.cc, send_idle_helper: only with QOption_, which is 0";
        cwnd_validation: false,
            "tcp/tcp-linux.cc, LinuxTcpAgent::tcp_is_cwnd_limited: when the acknowledgement comes";
        cwnd_clamp: None,
            "tcp/tcp-linux.cc, load_to_linux: window_, which Gelle 2008 has at 67000 packets";
        grow_when_unused: false, "tcp/tcp-linux.cc, LinuxTcpAgent::tcp_is_cwnd_limited";
        grow_on_exit: false,
            "tcp/tcp-linux.cc, recv: tcp_cong_avoid comes before tcp_fastretrans_alert";
        abe: false, "tcp/tcp-linux.cc: the same threshold as for a loss";
    }
    options: Options {
        mss: 1000, "tcl/lib/ns-default.tcl, Agent/TCP packetSize_ 1000";
        sack: true, "tcp/tcp-linux.cc, recv: UpdateScoreBoard; Agent/TCPSink/Sack1";
        dsack: false, "Agent/TCPSink/Sack1 reports none";
        timestamps: true, "tcp/tcp-linux.cc, time_processing: ts_option_";
        paws: false, "tcp/tcp-sink.cc, TcpSink::recv: a timestamp is echoed and nothing else";
        window_scaling: true, "ns-2 has no window field: window_ is not limited";
        ecn: EcnMode::Off, "tcl/lib/ns-default.tcl, Agent/TCP ecn_ 0";
    }
    buffers: Buffers {
        send_buffer: 67_000_000, "Gelle 2008: window_ 67000 packets";
        send_buffer_tuning: false, "an agent has no buffer";
        write_queue: false, "an agent has no buffer";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 67_000_000, "Gelle 2008: window_ 67000 packets";
        receive_window_tuning: false, "ns-2 has no window field: window_ is not limited";
        window_divisor: 1, "ns-2 has no receive buffer: all of window_ is offered";
        receive_scaling: false, "an agent has no buffer";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Off, "Agent/TCPSink/Sack1 acknowledges every packet";
        ack_every: 2, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_heartbeat: false, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_first_at_once: false, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_compression: Duration::ZERO, "Agent/TCPSink/Sack1 acknowledges every packet";
    }
    losses: Losses {
        recovery: Recovery::TcpLinux, "tcp/tcp-linux.cc, tcp_fastretrans_alert and send_much";
        fack: true, "tcp/scoreboard1.cc, UpdateScoreBoard";
        rack: false, "tcp/scoreboard1.cc counts packets";
        reordering: 3, "tcp/scoreboard1.cc, UpdateScoreBoard: three packets above";
        adaptive_reordering: false,
            "tcp/scoreboard1.cc, UpdateScoreBoard: three packets above, always";
        limited_transmit: true, "tcp/tcp-linux.cc, packets_in_flight: without the SACKed packets";
        tail_loss_probe: false, "ns-2.35 has none";
        frto: false, "tcl/lib/ns-default.tcl, Agent/TCP frto_ 0";
        undo: false, "tcp/tcp-linux.cc never calls undo_cwnd";
        reduce_on_every_timeout: true, "tcp/tcp-linux.cc, enter_loss";
    }
    rto: Rto {
        rto_min: Duration::from_millis(200), "tcl/lib/ns-default.tcl, Agent/TCP/Linux minrto_ 0.2";
        rto_max: Duration::from_secs(120), "tcl/lib/ns-default.tcl, Agent/TCP/Linux maxrto_ 120";
        rto_initial: Duration::from_secs(3),
            "tcl/lib/ns-default.tcl, Agent/TCP/Linux rtxcur_init_ 3";
        syn_linear_timeouts: 0, "tcp/tcp.cc, rtt_backoff: each time";
        rto_granularity: Duration::from_millis(1),
            "tcp/tcp-linux.cc, install_congestion_control: tcp_tick_ 1 / JIFFY_RATIO";
        rto_min_bounds_variance: false, "tcp/tcp.cc, rtt_timeout: minrto_ bounds the sum";
        rto_in_ticks: false, "tcp/tcp-linux.cc, rtt_update: Linux's, in ticks of a millisecond";
        rto_restart_on_every_ack: true, "tcp/tcp-linux.cc, time_processing: set_rtx_timer";
        rto_impatient: false, "tcp/tcp-linux.cc, time_processing: set_rtx_timer";
        backoff_ends_with_any_ack: false,
            "tcp/tcp-linux.cc, time_processing: with the sample of the timestamp";
        rtt_clock: Duration::ZERO,
            "tcp/tcp-linux.cc, rtt_update: the modules are told microseconds; the milliseconds of the \
         timeout are left out";
        timer_wheel: false, "ns-2's timers are exact";
    }
    sending: Sending {
        nagle: Nagle::Rfc, "tcp/tcp-linux.cc, send_much: whole packets, so that none is held back";
        tso: false, "ns-2 sends packets one by one";
        tso_autosizing: false, "ns-2 sends packets one by one";
        tso_fill: false, "of no effect without write_queue";
        max_burst: Some(2), "Gelle 2008: maxburst_ 2";
        send_jitter: Duration::from_micros(8), "Gelle 2008: overhead_ 0.000008 s";
    }
});

pub(super) const NS2_SACK1: Preset = preset!(
    "ns2-sack1",
    "ns-2.35's own agent, TCP/Sack1, with an acknowledgement per packet.",
{
    window: Window {
        cc_variant: Variant::Ns2,
            "tcp/tcp.cc, opencwnd and slowdown; for BIC, CUBIC, H-TCP and Scalable, patches of its time";
        initial_window: 2,
            "tcl/lib/ns-default.tcl, Agent/TCP windowInit_ 2; syn_ and delay_growth_, true, set it after \
         the SYN";
        initial_ssthresh: Some(100),
            "Gelle 2008: max_ssthresh_ 100; tcp/tcp.cc, reset, makes it the first threshold";
        initial_ssthresh_of: &[("htcp", 1)],
            "Gelle 2008: max_ssthresh_ 1 for H-TCP, which so begins in congestion avoidance";
        slow_start: None, "tcp/tcp.cc, opencwnd; limited_slow_start is the variants' max_ssthresh";
        slow_start_after_idle: false,
            "tcp/tcp.cc, send_idle_helper: only with QOption_, which is 0";
        cwnd_validation: false, "unused: a window grows whether it is used or not";
        cwnd_clamp: None, "tcp/tcp.cc, opencwnd: maxcwnd_ 0, none";
        grow_when_unused: true,
            "tcl/lib/ns-default.tcl, Agent/TCP control_increase_ 0; tcp/tcp.cc, recv_newack_helper";
        grow_on_exit: false, "tcp/tcp-sack1.cc, recv: newack without opencwnd";
        abe: false, "RFC 8511 came later: a mark counts like a loss";
    }
    options: Options {
        mss: 1000, "tcl/lib/ns-default.tcl, Agent/TCP packetSize_ 1000";
        sack: true, "tcp/tcp-sack1.cc, recv: UpdateScoreBoard; Agent/TCPSink/Sack1";
        dsack: false, "tcl/lib/ns-default.tcl, Agent/TCPSink generateDSacks_ false";
        timestamps: true, "Gelle 2008: timestamps_ 1 (ns-2's default is false)";
        paws: false, "tcp/tcp-sink.cc, TcpSink::recv: a timestamp is echoed and nothing else";
        window_scaling: true, "ns-2 has no window field: window_ is not limited";
        ecn: EcnMode::Off, "tcl/lib/ns-default.tcl, Agent/TCP ecn_ 0";
    }
    buffers: Buffers {
        send_buffer: 67_000_000, "Gelle 2008: window_ 67000 packets (ns-2's default is 20)";
        send_buffer_tuning: false, "an agent has no buffer";
        write_queue: false, "an agent has no buffer";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 67_000_000, "Gelle 2008: window_ 67000 packets (ns-2's default is 20)";
        receive_window_tuning: false, "ns-2 has no window field: window_ is not limited";
        window_divisor: 1, "ns-2 has no receive buffer: all of window_ is offered";
        receive_scaling: false, "an agent has no buffer";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Off, "Agent/TCPSink/Sack1 acknowledges every packet";
        ack_every: 2, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_heartbeat: false, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_first_at_once: false, "unused: Agent/TCPSink/Sack1 acknowledges every packet";
        ack_compression: Duration::ZERO, "Agent/TCPSink/Sack1 acknowledges every packet";
    }
    losses: Losses {
        recovery: Recovery::Sack1,
            "tcp/tcp-sack1.cc, recv, dupack_action, send_much; tcl/lib/ns-default.tcl, Agent/TCP \
         partial_ack_ false, bugFix_ true, LimTransmitFix_ false, oldCode_ false";
        fack: false, "tcp/tcp-sack1.cc, recv: counts duplicates";
        rack: false, "tcp/tcp-sack1.cc, recv: counts duplicates";
        reordering: 3, "tcl/lib/ns-default.tcl, Agent/TCP numdupacks_ 3";
        adaptive_reordering: false, "tcp/tcp-sack1.cc, dupack_action: three duplicates, always";
        limited_transmit: true,
            "tcl/lib/ns-default.tcl, Agent/TCP singledup_ 1; tcp/tcp.cc, send_one";
        tail_loss_probe: false, "ns-2.35 has none";
        frto: false, "tcl/lib/ns-default.tcl, Agent/TCP sfrto_enabled_ 0";
        undo: false, "tcp/tcp-sack1.cc has none";
        reduce_on_every_timeout: true, "tcp/tcp.cc, timeout: slowdown";
    }
    rto: Rto {
        rto_min: Duration::from_millis(200), "tcl/lib/ns-default.tcl, Agent/TCP minrto_ 0.2";
        rto_max: Duration::from_secs(60), "tcl/lib/ns-default.tcl, Agent/TCP maxrto_ 60";
        rto_initial: Duration::from_secs(3), "tcl/lib/ns-default.tcl, Agent/TCP rtxcur_init_ 3.0";
        syn_linear_timeouts: 0, "tcp/tcp.cc, rtt_backoff: each time";
        rto_granularity: Duration::from_millis(10),
            "tcl/lib/ns-default.tcl, Agent/TCP tcpTick_ 0.01";
        rto_min_bounds_variance: false,
            "tcp/tcp.cc, rtt_timeout: minrto_ bounds the sum (rfc2988_ true)";
        rto_in_ticks: true, "tcp/tcp.cc, rtt_update";
        rto_restart_on_every_ack: false, "tcp/tcp-sack1.cc, recv: newtimer for new data";
        rto_impatient: false, "tcp/tcp-sack1.cc, recv: newtimer at every partial acknowledgement";
        backoff_ends_with_any_ack: false, "tcp/tcp.cc, newack: with a measured round trip";
        rtt_clock: Duration::ZERO,
            "rto_in_ticks has its ticks; the algorithms are told exact round trips";
        timer_wheel: false, "ns-2's timers are exact";
    }
    sending: Sending {
        nagle: Nagle::Rfc, "tcp/tcp-sack1.cc, send_much: whole packets, so that none is held back";
        tso: false, "ns-2 sends packets one by one";
        tso_autosizing: false, "ns-2 sends packets one by one";
        tso_fill: false, "of no effect without write_queue";
        max_burst: Some(2), "Gelle 2008: maxburst_ 2 (ns-2's default is 0, none)";
        send_jitter: Duration::from_micros(8),
            "Gelle 2008: overhead_ 0.000008 s (ns-2's default is 0)";
    }
});
