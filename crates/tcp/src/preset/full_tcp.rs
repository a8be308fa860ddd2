//! ns-2's two-way TCP, `Agent/TCP/FullTcp`: sequence numbers are bytes, both ends can send data,
//! and data carries acknowledgements. Files and functions are of ns-2.35's source, defaults of its
//! `tcl/lib/ns-default.tcl`; "Siddiqui 2012" is the study of LTE and WLAN that used it.
//!
//! The base agent is Reno; FullTcp/Newreno is close to `recovery = "rfc"` without SACK,
//! FullTcp/Sack to the same with SACK. Not modelled: `data_on_syn_` and `dupack_reset_` (false),
//! `spa_thresh_` (0), the FIN on the last segment of data (here a segment of its own), and fast
//! recovery entered by duplicates after a timeout without a retransmission.

use fairway_cc::{SlowStart, Variant};
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const FULL_TCP: Preset = preset!(
    "full-tcp",
    "ns-2.35's two-way FullTcp agent: Reno, acknowledgements ride on data.",
{
    window: Window {
        cc_variant: Variant::Paper,
            "tcp/tcp.cc, opencwnd and slowdown: Reno, one segment per window and half of it";
        initial_window: 2, "Agent/TCP windowInit_ 2, windowInitOption_ 1";
        initial_ssthresh: Some(186),
            "tcp/tcp.cc, reset: ssthresh_ is window_, here 100 kB of segments";
        initial_ssthresh_of: &[], "ns-2 knows no exceptions";
        slow_start: Some(SlowStart::Ns3),
            "tcp/tcp.cc, opencwnd: a segment for each acknowledgement while cwnd_ is below ssthresh_";
        slow_start_after_idle: true,
            "Agent/TCP slow_start_restart_ true; tcp/tcp-full.cc, foutput goes to windowInit_ at once";
        cwnd_validation: false, "Agent/TCP QOption_ 0";
        cwnd_clamp: None,
            "tcp/tcp-full.cc, recv, header prediction: window_, of which Siddiqui 2012 has 100 kB; here the \
         receiver's window limits alone";
        grow_when_unused: true, "Agent/TCP control_increase_ 0: tcp/tcp.cc, opencwnd";
        grow_on_exit: true,
            "Agent/TCP/FullTcp open_cwnd_on_pack_ true; tcp/tcp-full.cc, recv: opencwnd after ack_action";
        abe: false, "tcp/tcp-full.cc, ecn: the same threshold as for a loss";
    }
    options: Options {
        mss: 536, "Agent/TCP/FullTcp segsize_ 536; Siddiqui 2012 has packets of 1500 bytes";
        sack: false, "tcp/tcp-full.cc, process_sack: the base agent has none";
        dsack: false, "tcp/tcp-full.cc has none";
        timestamps: false, "Agent/TCP timestamps_ false";
        paws: true, "tcp/tcp-full.cc, recv: dropped for a bad ts, where timestamps are used";
        window_scaling: true, "ns-2 has no window field: window_ is not limited";
        ecn: EcnMode::Off, "Agent/TCP ecn_ 0";
    }
    buffers: Buffers {
        send_buffer: 67_000_000,
            "tcp/tcp-full.cc, advance_bytes: an application's data is not limited";
        send_buffer_tuning: false, "an agent has no buffer";
        write_queue: false, "an agent has no buffer";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 100_000,
            "Siddiqui 2012, table 1: window 100 Kbytes; Agent/TCP window_ has 20 segments";
        receive_window_tuning: false, "ns-2 has no window field: window_ is not limited";
        window_divisor: 1, "ns-2 has no receive buffer: all of window_ is offered";
        receive_scaling: false, "an agent has no buffer";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Counted { timeout: Duration::from_millis(100) },
            "Agent/TCP/FullTcp interval_ 0.1";
        ack_every: 1,
            "Agent/TCP/FullTcp segsperack_ 1, so that short segments alone wait; tcp/tcp-full.cc, need_send";
        ack_heartbeat: true, "tcp/tcp-full.cc, recv: delack_timer_ at multiples of interval_";
        ack_first_at_once: false, "tcp/tcp-full.cc, need_send makes no exception";
        ack_compression: Duration::ZERO, "tcp/tcp-full.cc, recv: TF_ACKNOW out of order";
    }
    losses: Losses {
        recovery: Recovery::Reno,
            "Agent/TCP/FullTcp reno_fastrecov_ true; tcp/tcp-full.cc, pack_action";
        fack: false, "tcp/tcp-full.cc, recv: duplicates are counted";
        rack: false, "tcp/tcp-full.cc, recv: duplicates are counted";
        reordering: 3, "Agent/TCP/FullTcp tcprexmtthresh_ 3";
        adaptive_reordering: false, "Agent/TCP/FullTcp tcprexmtthresh_ 3, always";
        limited_transmit: false,
            "tcp/tcp-full.cc, recv: before tcprexmtthresh_ duplicates the window is as it was";
        tail_loss_probe: false, "ns-2.35 has none";
        frto: false, "Agent/TCP frto_enabled_ 0";
        undo: false, "tcp/tcp-full.cc has none";
        reduce_on_every_timeout: true, "tcp/tcp-full.cc, timeout_action: CLOSE_SSTHRESH_HALF";
    }
    rto: Rto {
        rto_min: Duration::from_millis(200), "Agent/TCP minrto_ 0.2";
        rto_max: Duration::from_secs(60), "Agent/TCP maxrto_ 60";
        rto_initial: Duration::from_secs(3), "Agent/TCP rtxcur_init_ 3.0";
        syn_linear_timeouts: 0, "tcp/tcp.cc, rtt_backoff: each time";
        rto_granularity: Duration::from_millis(10), "Agent/TCP tcpTick_ 0.01";
        rto_min_bounds_variance: false, "tcp/tcp.cc, rtt_timeout: minrto_ bounds the sum";
        rto_in_ticks: true, "tcp/tcp.cc, rtt_update: whole ticks, with shifts";
        rto_restart_on_every_ack: false, "tcp/tcp-full.cc, newack: where there is progress";
        rto_impatient: false, "tcp/tcp-full.cc, newack: each time there is progress";
        backoff_ends_with_any_ack: true, "tcp/tcp-full.cc, newack: t_backoff_ 1";
        rtt_clock: Duration::from_millis(10), "Agent/TCP tcpTick_ 0.01";
        timer_wheel: false, "ns-2's timers are exact";
    }
    sending: Sending {
        nagle: Nagle::Rfc, "Agent/TCP/FullTcp nodelay_ false";
        tso: false, "tcp/tcp-full.cc, send_much sends segments one by one";
        tso_autosizing: false, "tcp/tcp-full.cc, send_much sends segments one by one";
        tso_fill: false, "of no effect without write_queue";
        max_burst: None, "Agent/TCP maxburst_ 0";
        send_jitter: Duration::ZERO, "Agent/TCP overhead_ 0";
    }
});
