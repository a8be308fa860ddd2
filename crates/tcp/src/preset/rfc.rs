//! Stacks of the RFCs.

use fairway_cc::{HyStartPlusPlus, SlowStart, Variant};
use fairway_units::Duration;

use super::{DelayedAck, EcnMode, Nagle, Preset, Recovery, Stack, preset};

pub(super) const RFC_5681: Preset = preset!(
    "rfc5681",
    "The RFCs: 5681, 6675, 6298, 3042.",
{
    window: Window {
        cc_variant: Variant::Paper, "the document that describes the algorithm";
        initial_window: 3,
            "RFC 5681 section 3.1: 3 segments where SMSS is between 1095 and 2190 bytes";
        initial_ssthresh: None, "RFC 5681 section 3.1: arbitrarily high";
        initial_ssthresh_of: &[], "RFC 5681 knows no exceptions";
        slow_start: None, "the algorithm's own; RFC 5681 section 3.1 where it has none";
        slow_start_after_idle: true,
            "RFC 2861 section 3.1; RFC 5681 section 4.1 would restart from the initial window at once";
        cwnd_validation: false,
            "RFC 7661 came later; RFC 2861 section 3.1: not if the window is not full";
        cwnd_clamp: None, "RFC 5681 has none";
        grow_when_unused: false, "RFC 2861 section 3.1: not if the window is not full";
        grow_on_exit: false,
            "RFC 5681 section 3.2 step 6: recovery ends with the window at ssthresh";
        abe: false, "RFC 8511: an experiment; RFC 3168 section 6.1.2: as for a loss";
    }
    options: Options {
        mss: 1460,
            "MTU 1500 (RFC 894) less 20 bytes of IP header and 20 of TCP header (RFC 9293 section 3.7.1)";
        sack: true, "RFC 2018";
        dsack: false, "RFC 2883 section 4: an extension of SACK, which RFC 5681 does not ask for";
        timestamps: false, "RFC 7323 section 3.2: optional";
        paws: true, "RFC 7323 section 5.3, where timestamps are used";
        window_scaling: true, "RFC 7323 section 2: optional, but a large window needs it";
        ecn: EcnMode::Off, "RFC 3168 section 6.1.1: a host may ask for it";
    }
    buffers: Buffers {
        send_buffer: 256 << 20, "the RFCs have no limit: more than the windows of most paths";
        send_buffer_tuning: false, "left to the implementation (RFC 9293 section 3.9.1)";
        write_queue: false, "left to the implementation (RFC 9293 section 3.9.1)";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 256 << 20, "the RFCs have no limit: more than the windows of most paths";
        receive_window_tuning: false, "RFC 9293 section 3.8.6: the buffer that is free";
        window_divisor: 1, "RFC 9293 section 3.8.6: the buffer that is free";
        receive_scaling: false, "not a mechanism of the RFCs";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Counted { timeout: Duration::from_millis(200) },
            "RFC 5681 section 4.2: every second segment, within 500 ms; 200 ms is common practice";
        ack_every: 2, "RFC 5681 section 4.2: at least every second full segment";
        ack_heartbeat: false,
            "RFC 5681 section 4.2: within 500 ms of the first unacknowledged segment";
        ack_first_at_once: false, "RFC 5681 section 4.2 makes no exception";
        ack_compression: Duration::ZERO, "RFC 5681 section 4.2: at once";
    }
    losses: Losses {
        recovery: Recovery::Rfc, "RFC 6675 section 5; without SACK, RFC 6582 section 3.2";
        fack: false, "RFC 6675 section 4, IsLost";
        rack: false, "RFC 6675 section 4, IsLost; RFC 8985 came later";
        reordering: 3,
            "RFC 5681 section 3.2 step 2: three duplicate acknowledgements; RFC 6675 section 2, DupThresh";
        adaptive_reordering: false, "RFC 6675 section 2: DupThresh is three";
        limited_transmit: true, "RFC 3042; RFC 5681 section 3.2 step 1";
        tail_loss_probe: false, "RFC 8985 came later";
        frto: false, "RFC 5682: optional";
        undo: false, "RFC 3522 and RFC 4015: optional";
        reduce_on_every_timeout: false,
            "RFC 5681 section 3.1: not for a segment that the timer has resent already";
    }
    rto: Rto {
        rto_min: Duration::from_secs(1), "RFC 6298 rule 2.4";
        rto_max: Duration::from_secs(60), "RFC 6298 rule 2.5: at least 60 s";
        rto_initial: Duration::from_secs(1), "RFC 6298 rule 2.1";
        syn_linear_timeouts: 0, "RFC 6298 rule 5.5: doubled each time";
        rto_granularity: Duration::from_millis(1),
            "RFC 6298 section 4: finer than 100 ms works better";
        rto_min_bounds_variance: false,
            "RFC 6298 rules 2.3 and 2.4: G bounds the variance, the minimum the sum";
        rto_in_ticks: false, "RFC 6298 section 2: real numbers";
        rto_restart_on_every_ack: false, "RFC 6298 rule 5.3: an acknowledgement of new data";
        rto_impatient: false,
            "RFC 6298 rule 5.3; RFC 6675 section 5 step 4.3 lets the fast retransmit restart it";
        backoff_ends_with_any_ack: false, "RFC 6298 section 5: with a new measurement";
        rtt_clock: Duration::ZERO, "RFC 6298 section 4: no granularity is asked for";
        timer_wheel: false, "RFC 6298 section 4: no granularity is asked for";
    }
    sending: Sending {
        nagle: Nagle::Rfc, "RFC 9293 section 3.7.4; RFC 1122 section 4.2.3.4";
        tso: false, "RFC 5681 section 3.1: segments";
        tso_autosizing: false, "RFC 5681 section 3.1: segments";
        tso_fill: false, "of no effect without write_queue";
        max_burst: None, "RFC 5681 has none";
        send_jitter: Duration::ZERO, "the RFCs' hosts take no time to send";
    }
});

pub(super) const RFC_9438: Preset = preset!(
    "rfc9438",
    "CUBIC's RFC and those it stands on: 8985, 6937, 5682, 6928, 9406, 3168.",
{
    window: Window {
        cc_variant: Variant::Paper, "the document that describes the algorithm: RFC 9438 for cubic";
        initial_window: 10, "RFC 6928 section 2";
        initial_ssthresh: None, "RFC 5681 section 3.1: arbitrarily high";
        initial_ssthresh_of: &[], "RFC 5681 knows no exceptions";
        slow_start: Some(SlowStart::HyStartPlusPlus(HyStartPlusPlus::new())),
            "RFC 9438 section 4.10: HyStart++ (RFC 9406)";
        slow_start_after_idle: true,
            "RFC 5681 section 4.1, step by step as in RFC 2861 section 3.1";
        cwnd_validation: true, "RFC 9438 section 5.8 and RFC 7661 section 4.3, in Linux 6.1's form";
        cwnd_clamp: None, "RFC 5681 has none";
        grow_when_unused: false, "RFC 9438 section 5.8";
        grow_on_exit: false,
            "RFC 5681 section 3.2 step 6: recovery ends with the window at ssthresh";
        abe: false, "RFC 8511: an experiment, and cubic's own factor is 0.7 already";
    }
    options: Options {
        mss: 1448,
            "MTU 1500 (RFC 894) less 20 bytes of IP header, 20 of TCP header (RFC 9293 section 3.7.1) and 12 \
         of timestamps (RFC 7323 section 3.2)";
        sack: true, "RFC 2018; RFC 8985 section 4 needs it";
        dsack: true, "RFC 2883; RFC 8985 section 4 asks for it, RFC 3708 uses it";
        timestamps: true, "RFC 7323; RFC 3522 and so RFC 9438 section 4.9 need them";
        paws: true, "RFC 7323 section 5.3";
        window_scaling: true, "RFC 7323 section 2: optional, but a large window needs it";
        ecn: EcnMode::Classic, "RFC 3168 section 6.1.1; RFC 8087 recommends it";
    }
    buffers: Buffers {
        send_buffer: 256 << 20, "the RFCs have no limit: more than the windows of most paths";
        send_buffer_tuning: false, "left to the implementation (RFC 9293 section 3.9.1)";
        write_queue: false, "left to the implementation (RFC 9293 section 3.9.1)";
        header_room: 320, "of no effect without write_queue and send_buffer_tuning";
        receive_buffer: 256 << 20, "the RFCs have no limit: more than the windows of most paths";
        receive_window_tuning: false, "RFC 9293 section 3.8.6: the buffer that is free";
        window_divisor: 1, "RFC 9293 section 3.8.6: the buffer that is free";
        receive_scaling: false, "not a mechanism of the RFCs";
    }
    acks: Acks {
        delayed_ack: DelayedAck::Counted { timeout: Duration::from_millis(200) },
            "RFC 5681 section 4.2: every second segment, within 500 ms; 200 ms is common practice";
        ack_every: 2, "RFC 5681 section 4.2: at least every second full segment";
        ack_heartbeat: false,
            "RFC 5681 section 4.2: within 500 ms of the first unacknowledged segment";
        ack_first_at_once: false, "RFC 5681 section 4.2 makes no exception";
        ack_compression: Duration::ZERO, "RFC 5681 section 4.2: at once";
    }
    losses: Losses {
        recovery: Recovery::Prr, "RFC 6937 section 3, in Linux 6.1's form";
        fack: false, "RFC 8985 has taken its place";
        rack: true, "RFC 8985 section 6";
        reordering: 3, "RFC 8985 section 6.2 step 4, DupThresh";
        adaptive_reordering: false, "RFC 8985 section 6.2 step 4: in time, not in segments";
        limited_transmit: true, "RFC 3042; RFC 5681 section 3.2 step 1";
        tail_loss_probe: true, "RFC 8985 section 7";
        frto: true, "RFC 5682; RFC 9438 section 4.9.1";
        undo: true, "RFC 3522 and RFC 3708; RFC 9438 section 4.9.2";
        reduce_on_every_timeout: false,
            "RFC 5681 section 3.1: not for a segment that the timer has resent already";
    }
    rto: Rto {
        rto_min: Duration::from_secs(1), "RFC 6298 rule 2.4";
        rto_max: Duration::from_secs(60), "RFC 6298 rule 2.5: at least 60 s";
        rto_initial: Duration::from_secs(1), "RFC 6298 rule 2.1";
        syn_linear_timeouts: 0, "RFC 6298 rule 5.5: doubled each time";
        rto_granularity: Duration::from_millis(1),
            "RFC 6298 section 4: finer than 100 ms works better";
        rto_min_bounds_variance: false,
            "RFC 6298 rules 2.3 and 2.4: G bounds the variance, the minimum the sum";
        rto_in_ticks: false, "RFC 6298 section 2: real numbers";
        rto_restart_on_every_ack: false, "RFC 6298 rule 5.3: an acknowledgement of new data";
        rto_impatient: false, "RFC 6298 rule 5.3: each time";
        backoff_ends_with_any_ack: false, "RFC 6298 section 5: with a new measurement";
        rtt_clock: Duration::ZERO, "RFC 6298 section 4: no granularity is asked for";
        timer_wheel: false, "RFC 6298 section 4: no granularity is asked for";
    }
    sending: Sending {
        nagle: Nagle::Rfc, "RFC 9293 section 3.7.4; RFC 1122 section 4.2.3.4";
        tso: false, "RFC 5681 section 3.1: segments";
        tso_autosizing: false, "RFC 5681 section 3.1: segments";
        tso_fill: false, "of no effect without write_queue";
        max_burst: None, "RFC 5681 has none";
        send_jitter: Duration::ZERO, "the RFCs' hosts take no time to send";
    }
});
