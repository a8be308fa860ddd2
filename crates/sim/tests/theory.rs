//! Laws that TCP obeys whatever the code: what the simulator measures against arithmetic.
//!
//! Expected values are worked out in comments from the law alone. The window of a Reno flow is
//! counted in segments here, and a segment with its headers is 1000 bytes on the wire.

use crate::common::run_text;
use fairway_sim::Run;

/// An experiment of one Reno flow with an acknowledgement for every segment, so that the window
/// grows by one segment a round trip (RFC 5681 equation 3), over one link.
fn reno(duration: &str, ssthresh: u32, link: &str, more: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [stack]
        preset = "rfc5681"
        mss = "960 bytes"
        delayed_ack = false
        initial_ssthresh = "{ssthresh} segments"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        {link}
        [[flow]]
        cc = "reno"
        {more}
        "#
    )
}

/// Indices of the samples at which the window has just been cut to less than two thirds.
fn falls(run: &Run) -> Vec<usize> {
    let cwnd = &run.series.cwnd_segments;
    (1..cwnd.len()).filter(|i| cwnd[*i] < cwnd[i - 1] * 2.0 / 3.0).collect()
}

/// Mean of a column over whole cycles: from the first fall to the last.
fn mean_over_cycles(column: &[f64], falls: &[usize]) -> f64 {
    let cycles = &column[falls[0]..*falls.last().unwrap()];
    cycles.iter().sum::<f64>() / cycles.len() as f64
}

fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance,
        "{what}: measured {measured}, expected {expected} ± {tolerance}"
    );
}

/// 8 Mbit/s: a segment of 1000 bytes takes 1 ms, an acknowledgement of 40 bytes 0.04 ms. Round
/// trip without a queue: 1 + 0.04 + 2 · 49.48 = 100 ms, so P = 100 segments fill the path.
/// B = 100 segments fit the queue, the one in transmission counted.
///
/// With W ≥ P in flight, 99 are on their way and W − 99 in the queue; so the queue overflows when
/// W becomes 200 = P + B: one segment is dropped, because the window grows by one. Until the third
/// duplicate acknowledgement says so the window is 200 for a round trip; then it is 100.
///
/// The link is never idle, so W acknowledgements take W ms, and then the window is W + 1:
/// Σ W for W = 100 … 199 is 14.95 s. Then 0.2 s at 200 until the loss is found and 0.2 s at 100
/// without growth until the retransmission, behind a queue of 100, is acknowledged:
/// a period of 15.35 s.
///
/// Mean of the window over time: Σ W² for W = 100 … 199 is 199·200·399/6 − 99·100·199/6 =
/// 2 318 350; with 200·200 and 200·100 it is 2 378 350 segment·ms; over 15 350 ms: 154.9.
#[test]
fn saw_tooth_of_one_reno_flow() {
    let link = r#"
        rate = "8 Mbit/s"
        delay = "49.48 ms"
        queue = { limit = "100 packets" }
    "#;
    let sample = "[measure]\nsample = \"10 ms\"\nwindow = [\"20 s\", \"190 s\"]";
    let run = run_text(&reno("190 s", 100, link, sample));
    let falls = falls(&run);
    let cwnd = &run.series.cwnd_segments;
    // Slow start, then the first climb takes 15 s; (190 − 16) / 15.35 = 11.3 periods follow.
    assert_eq!(falls.len() - 1, 11);
    for pair in falls.windows(2) {
        let period = run.series.t_s[pair[1]] - run.series.t_s[pair[0]];
        // Three duplicate acknowledgements (3 ms), the segment that the drop leaves out of the
        // queue, and two samples of 10 ms.
        assert_near("period in s", period, 15.35, 0.025);
        let tooth = &cwnd[pair[0]..pair[1]];
        assert_eq!(tooth.iter().copied().fold(f64::MAX, f64::min), 100.0);
        assert_eq!(tooth.iter().copied().fold(0.0, f64::max), 200.0);
    }
    // The sampling moves each tooth by up to 10 ms in 15 s, at 200 for 100 segments: 0.07.
    assert_near("mean window", mean_over_cycles(cwnd, &falls), 154.94, 0.3);
    // One segment a tooth is lost, and no other is sent twice.
    let flow = &run.summary.flows[0];
    assert_eq!((flow.lost_segments, flow.retransmitted_segments), (11, Some(11)));
    // The smallest window fills the path.
    assert!(run.summary.links[0].utilisation > 0.9999, "{:?}", run.summary.links);
}

/// A buffer of one bandwidth-delay product keeps the link busy while the window is halved
/// (Villamizar and Song, "High performance TCP in ANSNET", 1994), whatever the stack.
#[test]
fn a_buffer_of_one_bandwidth_delay_product_keeps_the_link_busy() {
    for preset in ["rfc5681", "linux-6.1"] {
        for (rate, delay, limit) in [
            ("10 Mbit/s", "25 ms", "1.0 bdp"),
            ("10 Mbit/s", "25 ms", "2.0 bdp"),
            ("50 Mbit/s", "10 ms", "1.0 bdp"),
        ] {
            let run = run_text(&format!(
                r#"
                duration = "120 s"
                [stack]
                preset = "{preset}"
                [topology]
                kind = "dumbbell"
                [topology.bottleneck]
                rate = "{rate}"
                delay = "{delay}"
                queue = {{ limit = "{limit}" }}
                [[flow]]
                cc = "reno"
                [measure]
                window = ["20 s", "120 s"]
                "#
            ));
            let utilisation = run.summary.metrics.utilisation.unwrap();
            assert!(utilisation >= 0.99, "{preset}, {rate}, {delay}, {limit}: {utilisation}");
            assert!(run.summary.links[0].drops > 0, "{preset}, {rate}, {limit}: no loss, no test");
        }
    }
}

/// Without a buffer the window runs between half of the path and the path, and the link carries
/// the mean of the two, three quarters (see T. V. Lakshman, U. Madhow, "The performance of TCP/IP for
/// networks with high bandwidth-delay products and random loss", 1997). A buffer of no packet is no link, and the window grows by sending
/// two segments together; so it is two packets here, one waiting and one in transmission, on a
/// path of P = 500: 80 Mbit/s (a segment in 0.1 ms) and a round trip of
/// 0.1 + 0.004 + 2 · 24.948 = 50 ms. In units of 0.1 ms:
///
/// | window | rounds | lasts | carries |
/// |---|---|---|---|
/// | 251 … 499 | 249 | 249 · 500 | |
/// | 500, 501 | 2 | 500 + 501 | Σ 251 … 501 = 376 · 251 = 94 376 |
/// | 502, one dropped, until that is known | 1 | 502 | 502 |
/// | 251, until the retransmission is acknowledged | 1 | 500 | 251 |
///
/// 95 129 segments in 126 003 + 500 units: 0.7520. The law's 0.75 is the limit of large P.
#[test]
fn three_quarters_without_a_buffer() {
    let link = r#"
        rate = "80 Mbit/s"
        delay = "24.948 ms"
        queue = { limit = "2 packets" }
    "#;
    // Slow start would send bursts that two packets cannot hold: begin in congestion avoidance.
    let run = run_text(&reno("110 s", 2, link, "[measure]\nsample = \"50 ms\""));
    let falls = falls(&run);
    assert!(falls.len() >= 5, "{} falls", falls.len());
    for pair in falls.windows(2) {
        let period = run.series.t_s[pair[1]] - run.series.t_s[pair[0]];
        assert_near("period in s", period, 12.65, 0.1);
    }
    // Goodput is payload: 960 of 1000 bytes.
    let carried = mean_over_cycles(&run.series.goodput_bps, &falls) / 0.96 / 80e6;
    // A period is 253 samples; the ends of the cycles are a sample out at most.
    assert_near("utilisation", carried, 0.7520, 0.003);
}

/// The square-root law for segments that are lost independently with probability p.
///
/// A window W grows by 1/W an acknowledgement, so W² by 2, and at a loss W² becomes W²/4. With
/// Z = p·W²/2 and losses after exponentially distributed numbers of segments, what a segment
/// finds is Z = Σ E_k/4^k, E_k independent with mean 1. A segment at window W takes RTT/W, so the
/// throughput in segments per round trip is 1/E[1/W] = √(2/p) / E[Z^(−1/2)], and with the Laplace
/// transform Π 1/(1 + s/4^k) of Z and Ramanujan's integral for its Mellin transform
///
///   E[Z^(−1/2)] = √π · Π_{k≥0} (1 − ½·4^(−k)) / Π_{k≥1} (1 − 4^(−k))
///               = 1.77245 · 0.41942 / 0.68854 = 1.0797,
///
/// so √p · W = 1.41421 / 1.0797 = 1.3098: T. Ott, J. Kemperman, M. Mathis, "The stationary
/// behavior of ideal TCP congestion avoidance" (1996), give the same 1.3098. (Losses at equal
/// distances give √(3/2) = 1.2247: M. Mathis et al., CCR 27(3), 1997.)
const SQUARE_ROOT_CONSTANT: f64 = 1.3098;

/// Throughput in segments per round trip times √p, one value for each of ten seeds.
fn square_root_constants(p: f64, seconds: u32) -> Vec<f64> {
    // No queue, no transmission time: a round trip is 100 ms.
    let link = format!(
        r#"
        rate = "unlimited"
        delay = "50 ms"
        queue = {{ limit = "unlimited" }}
        loss = {{ probability = {p}, direction = "forward" }}
        "#
    );
    let ssthresh = (1.0 / p.sqrt()) as u32;
    let measure = format!("[measure]\nwindow = [\"20 s\", \"{seconds} s\"]\nsample = \"10 s\"");
    let text = &reno(&format!("{seconds} s"), ssthresh, &link, &measure);
    let constant = |seed| {
        let run = run_text(&format!("seed = {seed}\n{text}"));
        run.summary.flows[0].goodput_bps / 8.0 / 960.0 * 0.1 * p.sqrt()
    };
    std::thread::scope(|scope| {
        let halves =
            [1..6, 6..11].map(|seeds| scope.spawn(move || seeds.map(constant).collect::<Vec<_>>()));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

/// Mean of ten values, and half of its confidence interval at 99 %.
fn confidence_interval(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
    // Student's t, 0.995 quantile at 9 degrees of freedom.
    (mean, 3.25 * (variance / n).sqrt())
}

/// The law is for a window without graininess. A real one counts whole segments (it is half a
/// segment below the smooth one on average), halves odd windows downwards, and stands still for a
/// round trip of recovery; several losses in a round trip count once. Each moves the mean window by
/// about one segment or less, whatever p is. So the constant is accepted within two segments below
/// the law's: 2·√p, which is 5 % at p = 10⁻³ and 1.5 % at 10⁻⁴. A retransmission is lost with
/// probability p: timeouts are rare.
#[test]
fn square_root_law_for_independent_losses() {
    for (p, seconds) in [(1e-3, 4_000), (1e-4, 2_000)] {
        let (mean, half) = confidence_interval(&square_root_constants(p, seconds));
        assert!(half < 0.04, "the interval at {p} is too wide to say anything: {mean} ± {half}");
        let (low, high) = (SQUARE_ROOT_CONSTANT - 2.0 * p.sqrt(), SQUARE_ROOT_CONSTANT);
        assert!(
            mean - half <= high && mean + half >= low,
            "p = {p}: measured {mean} ± {half}, expected {low} to {high}"
        );
    }
}
