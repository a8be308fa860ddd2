//! Stacks of Linux before RACK. Files and functions are of the kernel's source, 2.6.27.

use fairway_cc::Variant;
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const LINUX_2_6_27: Preset = preset!(
    "linux-2.6.27",
    "Linux 2.6.27 of 2008: forward acknowledgement, rate halving, initial window 3, no probes.",
{
    window: Window {
        cc_variant: Variant::Linux2_6_22,
            "net/ipv4/tcp_*.c of Linux 2.6.22, the nearest there is; those of 2.6.27 differ little but for \
         cubic, 2.2 there: beta 717/1024, and neither max_increment nor a limit before the first loss";
        initial_window: 3,
            "net/ipv4/tcp_input.c, tcp_init_cwnd: 3 segments above 1095 bytes, 4 at or below, 2 above 1460 \
         (RFC 3390)";
        initial_ssthresh: None,
            "net/ipv4/tcp_ipv4.c, tcp_v4_init_sock: 0x7fffffff; net/ipv4/tcp_cubic.c, initial_ssthresh 0";
        initial_ssthresh_of: &[],
            "net/ipv4/tcp_ipv4.c, tcp_v4_init_sock: the same for every algorithm";
        slow_start: None,
            "the algorithm's own; net/ipv4/tcp_cong.c, tcp_slow_start: a segment for an acknowledgement \
         (net.ipv4.tcp_abc 0), and no HyStart before 2.6.29";
        slow_start_after_idle: true,
            "net.ipv4.tcp_slow_start_after_idle 1 (net/ipv4/tcp_output.c, tcp_cwnd_restart)";
        cwnd_validation: false,
            "net/ipv4/tcp_cong.c, tcp_is_cwnd_limited: by what was in flight when the acknowledgement came";
        cwnd_clamp: None, "net/ipv4/tcp_ipv4.c, tcp_v4_init_sock: snd_cwnd_clamp ~0";
        grow_when_unused: false, "net/ipv4/tcp_cong.c, tcp_is_cwnd_limited";
        grow_on_exit: false,
            "net/ipv4/tcp_input.c, tcp_ack: tcp_cong_avoid comes before tcp_fastretrans_alert";
        abe: false, "net/ipv4/tcp_input.c, tcp_enter_cwr: the same threshold as for a loss";
    }
    options: Options {
        mss: 1448,
            "net/ipv4/tcp_output.c, tcp_mtu_to_mss: MTU 1500 less 20 (IP), 20 (TCP) and 12 (timestamps)";
        sack: true, "net.ipv4.tcp_sack 1 (net/ipv4/tcp_input.c)";
        dsack: true, "net.ipv4.tcp_dsack 1 (net/ipv4/tcp_input.c)";
        timestamps: true, "net.ipv4.tcp_timestamps 1 (net/ipv4/tcp_input.c)";
        paws: true, "net/ipv4/tcp_input.c, tcp_validate_incoming and tcp_paws_discard";
        window_scaling: true, "net.ipv4.tcp_window_scaling 1 (net/ipv4/tcp_input.c)";
        ecn: EcnMode::Off, "net.ipv4.tcp_ecn 0 (net/ipv4/tcp_input.c)";
    }
    buffers: Buffers {
        send_buffer: 4 << 20,
            "net.ipv4.tcp_wmem[2] (net/ipv4/tcp.c, tcp_init: 4 MiB, less with little memory)";
        send_buffer_tuning: false,
            "net/ipv4/tcp_input.c, tcp_new_space: not modelled, as it is no limit";
        write_queue: false, "net/ipv4/tcp.c, tcp_sendmsg: not modelled";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 6 << 20,
            "net.ipv4.tcp_rmem[2] 4 MiB, of which three quarters are offered (tcp_adv_win_scale 2): as much \
         as half of this";
        receive_window_tuning: true,
            "net.ipv4.tcp_moderate_rcvbuf 1 (net/ipv4/tcp_input.c, tcp_rcv_space_adjust)";
        window_divisor: 2, "receive_buffer says why";
        receive_scaling: false, "came with Linux 6.6";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Linux,
            "net/ipv4/tcp_input.c, tcp_event_data_recv and __tcp_ack_snd_check";
        ack_every: 2,
            "net/ipv4/tcp_input.c, __tcp_ack_snd_check: more than a segment is acknowledged at once";
        ack_heartbeat: false, "net/ipv4/tcp_output.c, tcp_send_delayed_ack: a timer of its own";
        ack_first_at_once: false,
            "net/ipv4/tcp_input.c, tcp_event_data_recv: quick acknowledgements of its own";
        ack_compression: Duration::ZERO,
            "net/ipv4/tcp_input.c, __tcp_ack_snd_check: out-of-order data is acknowledged at once";
    }
    losses: Losses {
        recovery: Recovery::RateHalving,
            "net/ipv4/tcp_input.c, tcp_cwnd_down, tcp_complete_cwr and tcp_moderate_cwnd";
        fack: true, "net.ipv4.tcp_fack 1 (net/ipv4/tcp_input.c)";
        rack: false, "came with Linux 4.4";
        reordering: 3, "net.ipv4.tcp_reordering 3 (include/net/tcp.h, TCP_FASTRETRANS_THRESH)";
        adaptive_reordering: true,
            "net/ipv4/tcp_input.c, tcp_update_reordering, tcp_disable_fack and tcp_check_reno_reordering";
        limited_transmit: true,
            "include/net/tcp.h, tcp_packets_in_flight: a SACK or a duplicate makes room for new data";
        tail_loss_probe: false, "came with Linux 3.10";
        frto: true,
            "net.ipv4.tcp_frto 2 (net/ipv4/tcp_input.c, tcp_process_frto; RFC 4138), tcp_frto_response 0";
        undo: true, "net/ipv4/tcp_input.c, tcp_may_undo";
        reduce_on_every_timeout: false,
            "net/ipv4/tcp_input.c, tcp_enter_loss: not again while everything before is missing";
    }
    rto: Rto {
        rto_min: Duration::from_millis(200), "include/net/tcp.h, TCP_RTO_MIN";
        rto_max: Duration::from_secs(120), "include/net/tcp.h, TCP_RTO_MAX";
        rto_initial: Duration::from_secs(3), "include/net/tcp.h, TCP_TIMEOUT_INIT";
        syn_linear_timeouts: 0, "came with Linux 6.5";
        rto_granularity: Duration::from_millis(4),
            "CONFIG_HZ_250, as distributions built it (kernel/Kconfig.hz): one jiffy";
        rto_min_bounds_variance: true,
            "net/ipv4/tcp_input.c, tcp_rtt_estimator: rttvar is no less than tcp_rto_min";
        rto_in_ticks: false, "rtt_clock has the ticks; ns-2's form bounds the sum";
        rto_restart_on_every_ack: false,
            "net/ipv4/tcp_input.c, tcp_clean_rtx_queue: tcp_rearm_rto where data are acknowledged";
        rto_impatient: false, "net/ipv4/tcp_input.c, tcp_rearm_rto: each time";
        backoff_ends_with_any_ack: false,
            "net/ipv4/tcp_input.c, tcp_ack_saw_tstamp and tcp_ack_no_tstamp: with a sample";
        rtt_clock: Duration::from_millis(4),
            "net/ipv4/tcp_input.c, tcp_ack_update_rtt: tcp_time_stamp, which counts jiffies at 250 Hz";
        timer_wheel: false, "kernel/timer.c, __run_timers: to the tick, which rto_granularity is";
    }
    sending: Sending {
        nagle: Nagle::Minshall,
            "net/ipv4/tcp_output.c, tcp_nagle_check and tcp_minshall_check, without TCP_NODELAY";
        tso: true,
            "net/ipv4/tcp_output.c, tcp_tso_should_defer; net/core/dev.c, register_netdevice: wherever a \
         device gathers what it sends";
        tso_autosizing: false, "came with Linux 3.12";
        tso_fill: false, "not in Linux 6.1 and older";
        max_burst: None, "net/ipv4/tcp_output.c, tcp_write_xmit: as much as cwnd and window allow";
        send_jitter: Duration::ZERO, "a host of no computing time";
    }
});
