//! The stack of ns-3.29. Files are of its `src/internet/model`, names in them classes, functions
//! and attributes; "Khader 2020" is the thesis on DCM+, which ran its `tcp-variants-comparison`
//! script.
//!
//! With `recovery = "ns3"` the sender is ns-3's own (`sender/recovery/ns3.rs`): switches of other
//! senders have no effect, and their values document ns-3. Not modelled: the zero-window probe
//! timer, and
//! `TcpPrrRecovery` (`recovery = "prr"` is Linux's form).

use fairway_cc::Variant;
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const NS3_3_29: Preset = preset!(
    "ns3-3.29",
    "ns-3.29's TcpSocketBase with SACK, classic recovery and buffers of 2 MiB.",
{
    window: Window {
        cc_variant: Variant::Ns3_29, "tcp-congestion-ops.cc and its descendants";
        initial_window: 1, "tcp-socket.cc, InitialCwnd 1; Khader 2020 sets none";
        initial_ssthresh: None, "tcp-socket.cc, InitialSlowStartThreshold UINT32_MAX";
        initial_ssthresh_of: &[], "ns-3 knows no exceptions";
        slow_start: None, "the algorithm's own; tcp-congestion-ops.cc, TcpNewReno::SlowStart";
        slow_start_after_idle: false, "tcp-socket-base.cc has none";
        cwnd_validation: false, "tcp-socket-base.cc has none";
        cwnd_clamp: None, "tcp-socket-base.cc has none";
        grow_when_unused: true,
            "tcp-socket-base.cc, ProcessAck: IncreaseWindow whatever was in flight";
        grow_on_exit: false,
            "tcp-socket-base.cc, ProcessAck: no IncreaseWindow where exitedFastRecovery";
        abe: false, "tcp-socket-base.cc, EnterCwr: the same threshold as for a loss";
    }
    options: Options {
        mss: 536, "tcp-socket.cc, SegmentSize 536; Khader 2020 has MTU 1500";
        sack: true, "tcp-socket-base.cc, Sack true";
        dsack: false, "tcp-rx-buffer.cc, UpdateSackList: what is held beyond the next byte";
        timestamps: true, "tcp-socket-base.cc, Timestamp true";
        paws: false, "tcp-socket-base.cc, ProcessOptionTimestamp refuses nothing";
        window_scaling: true, "tcp-socket-base.cc, WindowScaling true";
        ecn: EcnMode::Off, "tcp-socket-base.cc, EcnMode NoEcn";
    }
    buffers: Buffers {
        send_buffer: 2 << 20, "Khader 2020's script: SndBufSize 1 << 21; tcp-socket.cc has 131072";
        send_buffer_tuning: false, "tcp-tx-buffer.cc: of one size";
        write_queue: false, "tcp-tx-buffer.cc: one stretch of bytes";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 2 << 20,
            "Khader 2020's script: RcvBufSize 1 << 21; tcp-socket.cc has 131072";
        receive_window_tuning: false, "tcp-socket-base.cc, AdvertisedWindowSize: the whole buffer";
        window_divisor: 1, "tcp-socket-base.cc, AdvertisedWindowSize: the whole buffer";
        receive_scaling: false, "tcp-rx-buffer.cc: the window is what is free";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Counted { timeout: Duration::from_millis(200) },
            "tcp-socket.cc, DelAckTimeout 0.2 s";
        ack_every: 2, "tcp-socket.cc, DelAckCount 2; Khader 2020 sets none";
        ack_heartbeat: false,
            "tcp-socket-base.cc, ReceivedData: m_delAckEvent is scheduled by the segment";
        ack_first_at_once: true,
            "tcp-socket-base.cc, ProcessSynRcvd: m_delAckCount is m_delAckMaxCount";
        ack_compression: Duration::ZERO,
            "tcp-socket-base.cc, ReceivedData: a gap is acknowledged at once";
    }
    losses: Losses {
        recovery: Recovery::Ns3,
            "tcp-l4-protocol.cc, RecoveryType TcpClassicRecovery: tcp-recovery-ops.cc, EnterRecovery sets \
         the window to the threshold, which m_cWndInfl does not inflate; tcp-socket-base.cc, tcp-tx-buffer.cc";
        fack: false, "tcp-tx-buffer.cc, UpdateLostCount: three SACKed segments above";
        rack: false, "tcp-tx-buffer.cc, UpdateLostCount counts segments";
        reordering: 3, "tcp-socket-base.cc, ReTxThreshold 3";
        adaptive_reordering: false, "tcp-socket-base.cc, ReTxThreshold 3, always";
        limited_transmit: true, "tcp-socket-base.cc, LimitedTransmit true";
        tail_loss_probe: false, "tcp-socket-base.cc has none";
        frto: false, "tcp-socket-base.cc has none";
        undo: false, "tcp-socket-base.cc has none";
        reduce_on_every_timeout: true,
            "tcp-socket-base.cc, ReTxTimeout: SetSentListLost has cleared what IsHeadRetransmitted asks for";
    }
    rto: Rto {
        rto_min: Duration::from_secs(1), "tcp-socket-base.cc, MinRto 1 s; Khader 2020 has the same";
        rto_max: Duration::from_secs(60), "tcp-socket-base.cc, ReTxTimeout: 60 s";
        rto_initial: Duration::from_secs(3), "tcp-socket.cc, ConnTimeout 3 s";
        syn_linear_timeouts: 0, "tcp-socket-base.cc, SendEmptyPacket: doubled each time";
        rto_granularity: Duration::from_millis(1), "tcp-socket-base.cc, ClockGranularity 1 ms";
        rto_min_bounds_variance: false,
            "tcp-socket-base.cc, EstimateRtt: Max of the sum and m_minRto";
        rto_in_ticks: false, "rtt-estimator.cc, RttMeanDeviation: whole nanoseconds, with shifts";
        rto_restart_on_every_ack: false, "tcp-socket-base.cc, NewAck";
        rto_impatient: true, "tcp-socket-base.cc, ProcessAck: NewAck with m_isFirstPartialAck";
        backoff_ends_with_any_ack: true, "tcp-socket-base.cc, NewAck: m_rto from the estimate";
        rtt_clock: Duration::from_millis(1), "tcp-option-ts.cc, NowToTsValue: milliseconds";
        timer_wheel: false, "ns-3's timers are exact";
    }
    sending: Sending {
        nagle: Nagle::Off, "tcp-socket.cc, TcpNoDelay true";
        tso: false, "tcp-socket-base.cc, SendPendingData sends segments one by one";
        tso_autosizing: false, "tcp-socket-base.cc, SendPendingData sends segments one by one";
        tso_fill: false, "of no effect without write_queue";
        max_burst: None, "tcp-socket-base.cc, SendPendingData has no limit";
        send_jitter: Duration::ZERO, "ns-3's hosts take no time to send";
    }
});
