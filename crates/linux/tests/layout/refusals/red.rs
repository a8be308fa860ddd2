//! RED: what `tc` and the kernel take.

use super::*;

const RED: &str = "kind = \"red\", limit = \"60 packets\", gentle = false";

#[test]
fn gentle() {
    check(
        &with_queue("kind = \"red\", limit = \"60 packets\""),
        &["topology.bottleneck.queue.gentle: a kernel's RED drops everything above \
           max_threshold; write gentle = false, or remove `network = \"tc\"`"],
    );
}

#[test]
fn a_probability_of_nothing() {
    check(
        &with_queue(&format!("{RED}, max_probability = 0")),
        &["topology.bottleneck.queue.max_probability: a kernel's RED needs a probability above \
           7.0e-6 with these thresholds, got 0; write 0.1, or kind = \"droptail\""],
    );
}

/// A byte has to have 2^-31: 0.000006 over 10 packets of 1500 bytes, 0.000007 = 15000/2^31.
#[test]
fn a_probability_of_less_than_tc_counts() {
    check(&with_queue(&format!("{RED}, max_probability = 0.000008")), &[]);
    check(
        &with_queue(&format!("{RED}, max_probability = 0.000006")),
        &["topology.bottleneck.queue.max_probability: a kernel's RED needs a probability above \
           7.0e-6 with these thresholds, got 0.000006; write 0.1, or kind = \"droptail\""],
    );
}

/// 15 packets of 1500 bytes times 2^16 are 1.47e9, times 2^17 2.95e9; 2^31 is 2.15e9.
#[test]
fn thresholds_beyond_31_bits() {
    let with = |exponent: u32| {
        with_queue(&format!("{RED}, weight = {}", 1.0 / f64::from(1u32 << exponent)))
    };
    check(&with(16), &[]);
    check(
        &with(17),
        &["topology.bottleneck.queue.max_threshold: 15 packets with a weight of 2^-17 need more \
           than the 31 bits of a kernel's average; write a lower threshold or a larger weight"],
    );
}

/// 2^32 bytes a second are 34.36 Gbit/s.
#[test]
fn rates_beyond_32_bits() {
    let at = |rate: &str| with_queue(RED).replace("10 Mbit/s", rate);
    check(&at("34 Gbit/s"), &[]);
    check(
        &at("35 Gbit/s"),
        &["topology.bottleneck.rate: 35 Gbit/s is more than tc takes for RED; write \"34 \
           Gbit/s\" or less, or kind = \"droptail\""],
    );
}

/// Packets of 1000 bytes at R byte/s take 1000/R · 15625000 ticks; 31 over the weight of them are
/// 31 · 511.5 · 1.5625e10/R, which is below 512 · 2^31 where R > 225.3 byte/s.
#[test]
fn rates_too_low_for_a_table() {
    let at = |rate: &str| with_queue(RED).replace("10 Mbit/s", rate);
    check(&at("1810 bit/s"), &[]);
    check(
        &at("1800 bit/s"),
        &["topology.bottleneck.rate: tc cannot tabulate the idle times of RED at 1.8 kbit/s with \
           a weight of 2^-9; write more than \"1803 bit/s\", or a larger weight"],
    );
}

/// For 1500 bytes, 0.5 is the answer up to a burst of 2 (1.5 ≤ 2 · (1 - 1/4)), and beyond, 0.25 is not:
/// 2.5 > 4 · (1 - 27/64).
#[test]
fn a_weight_that_no_burst_leads_to() {
    let with =
        |min: u32| with_queue(&format!("{RED}, weight = 0.25, min_threshold = \"{min} packets\""));
    check(&with(5), &[]);
    check(
        &with(1),
        &["topology.bottleneck.queue.weight: tc has no burst for a weight of 0.25 with this \
           min_threshold; raise that"],
    );
}

#[test]
fn weights_that_are_no_powers_of_two() {
    // Between 2^-8 = 0.0039 and 2^-9 = 0.00195.
    check(
        &with_queue(&format!("{RED}, weight = 0.003")),
        &["topology.bottleneck.queue.weight: a kernel's weights are powers of two, got 0.003; \
           write 0.00390625"],
    );
    // A half is the largest that tc knows.
    check(
        &with_queue(&format!("{RED}, weight = 1")),
        &["topology.bottleneck.queue.weight: a kernel's weights are powers of two, got 1; write \
           0.5"],
    );
}

#[test]
fn what_a_kernels_red_does_not_do() {
    check(
        &with_queue(&format!(
            "{RED}, adaptive = true, weight = 0.002, by_size = true, mean_packet = \"500 bytes\""
        )),
        &[
            "topology.bottleneck.queue.adaptive: adaptive RED is not yet given to tc; write \
             false, or remove `network = \"tc\"`",
            "topology.bottleneck.queue.by_size: a kernel's RED does not look at the sizes of \
             packets; write false, or remove `network = \"tc\"`",
            "topology.bottleneck.queue.mean_packet: a kernel's RED is given packets of 1000 bytes; \
             write \"1000 bytes\", or remove `network = \"tc\"`",
        ],
    );
}
