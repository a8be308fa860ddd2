//! Stacks of Linux kernels. Files and functions are of the kernel's source.

use fairway_cc::Variant;
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const LINUX_6_1: Preset = preset!(
    "linux-6.1",
    "Linux 6.1: initial window 10, SACK, timestamps, 200 ms minimum RTO.",
{
    window: Window {
        cc_variant: Variant::Linux6_1, "net/ipv4/tcp_*.c of Linux 6.1";
        initial_window: 10, "include/net/tcp.h, TCP_INIT_CWND";
        initial_ssthresh: None, "include/net/tcp.h, TCP_INFINITE_SSTHRESH";
        initial_ssthresh_of: &[], "net/ipv4/tcp.c, tcp_init_sock: the same for every algorithm";
        slow_start: None,
            "the algorithm's own; net/ipv4/tcp_cong.c, tcp_slow_start, where it has none";
        slow_start_after_idle: true,
            "net.ipv4.tcp_slow_start_after_idle 1 (net/ipv4/tcp_output.c, tcp_cwnd_restart)";
        cwnd_validation: true,
            "net/ipv4/tcp_output.c, tcp_cwnd_validate; include/net/tcp.h, tcp_is_cwnd_limited";
        cwnd_clamp: None, "net/ipv4/tcp.c, tcp_init_sock: snd_cwnd_clamp ~0";
        grow_when_unused: false, "include/net/tcp.h, tcp_is_cwnd_limited";
        grow_on_exit: true,
            "net/ipv4/tcp_input.c, tcp_ack: tcp_cong_control comes after tcp_fastretrans_alert";
        abe: false, "net/ipv4/tcp_input.c, tcp_enter_cwr: the same threshold as for a loss";
    }
    options: Options {
        mss: 1448,
            "net/ipv4/tcp_output.c, tcp_mtu_to_mss: MTU 1500 less 20 (IP), 20 (TCP) and 12 (timestamps)";
        sack: true, "net.ipv4.tcp_sack 1 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
        dsack: true, "net.ipv4.tcp_dsack 1 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
        timestamps: true, "net.ipv4.tcp_timestamps 1 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
        paws: true, "net/ipv4/tcp_input.c, tcp_validate_incoming";
        window_scaling: true, "net.ipv4.tcp_window_scaling 1 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
        ecn: EcnMode::Off,
            "net.ipv4.tcp_ecn 2: answered, not asked for (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
    }
    buffers: Buffers {
        send_buffer: 4 << 20, "net.ipv4.tcp_wmem[2] (net/ipv4/tcp.c, tcp_init)";
        send_buffer_tuning: true, "net/ipv4/tcp_input.c, tcp_init_buffer_space and tcp_new_space";
        write_queue: true, "net/ipv4/tcp.c, tcp_sendmsg_locked; tcp_output.c, tcp_write_xmit";
        header_room: 320,
            "include/net/tcp.h, MAX_TCP_HEADER, with wireless links and tunnels as in distributions";
        receive_buffer: 6 << 20, "net.ipv4.tcp_rmem[2] (net/ipv4/tcp.c, tcp_init)";
        receive_window_tuning: true,
            "net.ipv4.tcp_moderate_rcvbuf 1 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
        window_divisor: 2, "net.ipv4.tcp_adv_win_scale 1 (include/net/tcp.h, tcp_win_from_space)";
        receive_scaling: false, "came with Linux 6.6";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Linux,
            "net/ipv4/tcp_input.c, tcp_event_data_recv and __tcp_ack_snd_check";
        ack_every: 2,
            "include/linux/tcp.h, TCP_DELACK_SEG 1: more than a segment is acknowledged at once";
        ack_heartbeat: false, "net/ipv4/tcp_output.c, tcp_send_delayed_ack: a timer of its own";
        ack_first_at_once: false,
            "net/ipv4/tcp_input.c, tcp_event_data_recv: quick acknowledgements of its own";
        ack_compression: Duration::from_millis(1),
            "net.ipv4.tcp_comp_sack_delay_ns 1000000 (net/ipv4/tcp_ipv4.c, tcp_sk_init)";
    }
    losses: Losses {
        recovery: Recovery::Prr, "net/ipv4/tcp_input.c, tcp_cwnd_reduction";
        fack: false, "gone since Linux 4.15";
        rack: true, "net.ipv4.tcp_recovery 1 (net/ipv4/tcp_recovery.c, tcp_rack_mark_lost)";
        reordering: 3, "net.ipv4.tcp_reordering 3 (include/net/tcp.h, TCP_FASTRETRANS_THRESH)";
        adaptive_reordering: true, "net/ipv4/tcp_input.c, tcp_check_sack_reordering";
        limited_transmit: true,
            "include/net/tcp.h, tcp_packets_in_flight: a SACK makes room for new data";
        tail_loss_probe: true,
            "net.ipv4.tcp_early_retrans 3 (net/ipv4/tcp_output.c, tcp_schedule_loss_probe)";
        frto: true, "net.ipv4.tcp_frto 2 (net/ipv4/tcp_input.c, tcp_process_loss)";
        undo: true, "net/ipv4/tcp_input.c, tcp_may_undo";
        reduce_on_every_timeout: false,
            "net/ipv4/tcp_input.c, tcp_enter_loss: not again while everything before is missing";
    }
    rto: Rto {
        rto_min: Duration::from_millis(200), "include/net/tcp.h, TCP_RTO_MIN";
        rto_max: Duration::from_secs(120), "include/net/tcp.h, TCP_RTO_MAX";
        rto_initial: Duration::from_secs(1), "include/net/tcp.h, TCP_TIMEOUT_INIT";
        syn_linear_timeouts: 0, "came with Linux 6.5";
        rto_granularity: Duration::from_millis(1), "CONFIG_HZ_1000: one jiffy";
        rto_min_bounds_variance: true,
            "net/ipv4/tcp_input.c, tcp_rtt_estimator: rttvar_us is no less than tcp_rto_min_us";
        rto_in_ticks: false, "net/ipv4/tcp_input.c, tcp_rtt_estimator: microseconds";
        rto_restart_on_every_ack: false,
            "net/ipv4/tcp_input.c, tcp_clean_rtx_queue: FLAG_SET_XMIT_TIMER where data are acknowledged";
        rto_impatient: false, "net/ipv4/tcp_input.c, tcp_rearm_rto: each time";
        backoff_ends_with_any_ack: false, "net/ipv4/tcp_input.c, tcp_ack_update_rtt: with a sample";
        rtt_clock: Duration::ZERO,
            "net/ipv4/tcp_input.c, tcp_ack_update_rtt: microseconds of the segments themselves";
        timer_wheel: true, "kernel/time/timer.c, calc_wheel_index, at 1000 Hz";
    }
    sending: Sending {
        nagle: Nagle::Minshall,
            "net/ipv4/tcp_output.c, tcp_nagle_check and tcp_minshall_check, without TCP_NODELAY";
        tso: true, "net/ipv4/tcp_output.c, tcp_tso_autosize and tcp_tso_should_defer";
        tso_autosizing: true, "net/ipv4/tcp_output.c, tcp_tso_autosize";
        tso_fill: false, "not in Linux 6.1 and older";
        max_burst: None, "net/ipv4/tcp_output.c, tcp_write_xmit: as much as cwnd and window allow";
        send_jitter: Duration::ZERO, "a kernel in virtual time takes none";
    }
});

/// Of Debian's 6.1.192 and 6.12.117, `net/ipv4/tcp_*.c` of congestion controls compute the same.
pub(super) const LINUX_6_12: Preset = preset!(
    "linux-6.12",
    "Linux 6.12: as 6.1, with bursts across buffers, a measured receive window and five SYNs a second apart.",
    like LINUX_6_1,
{
    buffers.window_divisor: 2, "include/net/tcp.h, TCP_DEFAULT_SCALING_RATIO: a half at first";
    buffers.receive_scaling: true,
        "net/ipv4/tcp_input.c, tcp_measure_rcv_mss and tcp_rcv_space_adjust: scaling_ratio";
    rto.syn_linear_timeouts: 4,
        "net.ipv4.tcp_syn_linear_timeouts 4 (net/ipv4/tcp_timer.c, tcp_retransmit_timer)";
    sending.tso_fill: true, "net/ipv4/tcp_output.c, tcp_write_xmit: tcp_grow_skb";
});
