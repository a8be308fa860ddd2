//! What each kind of algorithm is known for, in measured runs. Expected values come from the
//! algorithm's source; each tolerance says where it is from.

use crate::common::run_text;
use fairway_sim::Run;

// The path is 10 Mbit/s and 100 ms without a queue; a full packet takes 1.2 ms, and 84 packets fill
// the path. Every segment is acknowledged, so that packets leave one by one and the queue is what
// the algorithm believes.

/// An experiment on that path for `seconds`, measured from `from` on.
fn on_path(seconds: u32, from: u32, queue: &str, flows: &str) -> Run {
    on_path_of("10 Mbit/s", "50 ms", "", seconds, from, queue, flows)
}

fn on_path_of(
    rate: &str,
    delay: &str,
    loss: &str,
    seconds: u32,
    from: u32,
    queue: &str,
    flows: &str,
) -> Run {
    run_text(&format!(
        r#"
        duration = "{seconds} s"
        seed = 3
        [stack]
        delayed_ack = false
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "{rate}"
        delay = "{delay}"
        queue = {queue}
        {loss}
        {flows}
        [measure]
        window = ["{from} s", "{seconds} s"]
        sample = "10 ms"
        "#
    ))
}

fn goodput(run: &Run, flow: usize) -> f64 {
    run.summary.flows[flow].goodput_bps
}

fn backlog(run: &Run) -> f64 {
    run.summary.links[0].mean_backlog_packets
}

fn assert_within(what: &str, measured: f64, low: f64, high: f64) {
    assert!(
        (low..=high).contains(&measured),
        "{what}: measured {measured}, expected {low} to {high}"
    );
}

/// The window of one flow in segments, by sample, from a time on.
fn windows(run: &Run, flow: u32, from_s: f64) -> Vec<(f64, f64)> {
    let series = &run.series;
    (0..series.t_s.len())
        .filter(|i| series.flow[*i] == flow && series.t_s[*i] >= from_s)
        .map(|i| (series.t_s[i], series.cwnd_segments[i]))
        .collect()
}

/// Brakmo and Peterson 1995: between alpha and beta packets in the queue; Linux 6.1 takes 2 and 4.
/// It takes whole packets of its own count, so less than 5; one of them is in transmission.
#[test]
fn vegas_keeps_two_to_four_packets_queued() {
    let flow = "[[flow]]\ncc = \"vegas\"\ncc_variant = \"linux-6.1\"";
    let run = on_path(60, 20, "{ limit = \"200 packets\" }", flow);
    assert_within("packets queued", backlog(&run), 1.0, 5.0);
    assert!(run.summary.links[0].utilisation > 0.98);
}

/// Wei et al. 2006: alpha packets in the queue at equilibrium, here 20; one less waits.
#[test]
fn fast_keeps_alpha_packets_queued() {
    let flow = "[[flow]]\ncc = \"fast\"\ncc_params = { alpha = 20 }";
    let run = on_path(60, 20, "{ limit = \"200 packets\" }", flow);
    assert_within("packets queued", backlog(&run), 17.0, 22.0);
}

/// Linux 6.1 `tcp_nv.c`: growth stops between 8 and 10 packets above the product of rate and
/// smallest round trip (`nv_pad` 10, and the two below it in which the window holds). That holds
/// until it looks for a new smallest round trip, after 3.75 to 6.25 s and as long again, and takes
/// its own queue for the path's.
#[test]
fn nv_keeps_its_pad_queued() {
    let flow = "[[flow]]\ncc = \"nv\"";
    let run = on_path(10, 7, "{ limit = \"200 packets\" }", flow);
    assert_within("packets queued", backlog(&run), 7.0, 10.0);
    assert!(run.summary.links[0].utilisation > 0.98);
}

/// RFC 6817 section 2.1: it yields where others fill the queue. The queue holds 250 ms, more than
/// its target of 100 ms, so Reno keeps the delay above the target nearly all the time.
#[test]
fn ledbat_yields_to_reno() {
    let flows = "[[flow]]\ncc = \"ledbat\"\n[[flow]]\ncc = \"reno\"\nstart = \"10 s\"";
    let queue = "{ limit = \"208 packets\" }";
    let run = on_path(130, 30, queue, flows);
    let share = goodput(&run, 0) / (goodput(&run, 0) + goodput(&run, 1));
    assert_within("share of LEDBAT", share, 0.0, 0.1);
    // Alone it uses the path, with its target of delay in the queue: 100 ms, 83 packets.
    let alone = on_path(130, 60, queue, "[[flow]]\ncc = \"ledbat\"");
    assert!(alone.summary.links[0].utilisation > 0.98);
    assert_within("its queue alone", backlog(&alone), 75.0, 92.0);
}

/// Cardwell et al. 2016: the gain cycle has eight phases of a smallest round trip each, one of
/// them above the rate of the path; every ten seconds in which no lower round trip was seen the window
/// is four segments for at least 200 ms.
#[test]
fn bbr_cycles_have_their_lengths() {
    // A second flow keeps a queue, so that the smallest round trip is not seen again by itself.
    let flows = "[[flow]]\ncc = \"bbr\"\n[[flow]]\ncc = \"bbr\"\nstart = \"1 s\"";
    let run = on_path(90, 20, "{ limit = \"400 packets\" }", flows);
    let mut begins = Vec::new();
    let mut lengths = Vec::new();
    let mut since = None;
    for (t_s, cwnd) in windows(&run, 0, 0.0) {
        match (cwnd <= 4.0, since) {
            (true, None) => {
                since = Some(t_s);
                begins.push(t_s);
            }
            (false, Some(began)) => {
                lengths.push(t_s - began);
                since = None;
            }
            _ => {}
        }
    }
    assert!(lengths.len() >= 6, "windows of four segments at {begins:?}");
    for length in lengths {
        // What is in flight drains first, in a round trip of up to 200 ms behind the flows' own
        // queue; then 200 ms and a round trip of 100 ms pass, side by side or after each other.
        assert_within("ProbeRTT in s", length, 0.19, 0.2 + 0.2 + 0.1 + 0.05);
    }
    for pair in begins.windows(2) {
        // Ten seconds after the last, and the time it took.
        assert_within("between two ProbeRTT in s", pair[1] - pair[0], 9.9, 11.0);
    }
}

/// The gain cycle of one flow alone: its queue rises in one phase of eight, each 101.2 ms long.
#[test]
fn bbr_probes_for_bandwidth_every_eight_round_trips() {
    let run = on_path(40, 5, "{ limit = \"400 packets\" }", "[[flow]]\ncc = \"bbr\"");
    let queues = &run.queues;
    let samples: Vec<(f64, f64)> = (0..queues.t_s.len())
        .filter(|i| queues.link[*i] == 0 && queues.t_s[*i] > 12.0 && queues.t_s[*i] < 19.5)
        .map(|i| (queues.t_s[i], queues.backlog_packets[i]))
        .collect();
    let peak = samples.iter().map(|s| s.1).fold(0.0, f64::max);
    // A phase of gain 1.25 adds a quarter of the path's 84 packets, beside the three bursts of
    // two packets or more for which the window leaves room.
    assert_within("highest queue", peak, 10.0, 30.0);
    let rises: Vec<f64> = samples
        .windows(2)
        .filter(|pair| pair[0].1 < peak / 2.0 && pair[1].1 >= peak / 2.0)
        .map(|pair| pair[1].0)
        .collect();
    assert!(rises.len() >= 7, "the queue rises at {rises:?}");
    for pair in rises.windows(2) {
        // 8 · 0.1012 s; a phase ends with the acknowledgement that finds it over.
        assert_within("cycle in s", pair[1] - pair[0], 0.78, 0.90);
    }
}

/// Alizadeh et al. 2010: with marks above K packets, two synchronised flows and W* = (C·T + K)/N,
/// alpha²·(1 − alpha/4) = (2W* + 1)/(W* + 1)². 100 Mbit/s and 10 ms: C·T = 83.3 packets; K = 65:
/// W* = 74.17 and alpha = 0.166.
#[test]
fn dctcp_cuts_by_the_fraction_that_is_marked() {
    let queue = r#"{ kind = "red", limit = "400 packets", min_threshold = "65 packets",
        max_threshold = "66 packets", max_probability = 1.0, weight = 1.0, ecn = true,
        gentle = true }"#;
    let queue = queue.replace('\n', " ");
    // As the model has it: single segments, and a window that is cut at once.
    let flows = "[[flow]]\ncc = \"dctcp\"\ncount = 2\ntso = false\nrecovery = \"rfc\"";
    let run = on_path_of("100 Mbit/s", "5 ms", "", 40, 10, &queue, flows);
    let windows = windows(&run, 0, 10.0);
    // A reduction takes a round trip: from where the window begins to fall to where it ends.
    let cuts: Vec<f64> = windows
        .chunk_by(|before, after| after.1 < before.1)
        .filter(|fall| fall.last().map(|end| end.1) < fall.first().map(|top| top.1 * 0.97))
        .map(|fall| 2.0 * (1.0 - fall[fall.len() - 1].1 / fall[0].1))
        .collect();
    assert!(cuts.len() > 50, "{} cuts", cuts.len());
    let alpha = cuts.iter().sum::<f64>() / cuts.len() as f64;
    // Flows are not quite synchronised.
    assert_within("alpha", alpha, 0.166 * 0.75, 0.166 * 1.25);
    assert_eq!(run.summary.links[0].drops, 0);
    assert!(run.summary.links[0].utilisation > 0.99);
}

/// Caini and Firrincieli 2004: the rate of a path of 25 ms, whatever its own round trip is:
/// √(3/(2p))/25 ms.
#[test]
fn hybla_does_not_depend_on_the_round_trip() {
    let goodput_at = |delay: &str| {
        let loss = "loss = { probability = 2e-3, direction = \"forward\" }";
        let flow = "[[flow]]\ncc = \"hybla\"";
        let queue = "{ limit = \"unlimited\" }";
        let run = on_path_of("10 Gbit/s", delay, loss, 400, 20, queue, flow);
        goodput(&run, 0)
    };
    let (short, long) = (goodput_at("50 ms"), goodput_at("150 ms"));
    // Some two thousand losses each: three standard errors of the ratio are a tenth.
    assert_within("goodput at 300 ms over that at 100 ms", long / short, 0.8, 1.2);
}

/// Khalili et al. 2012, and RFC 6356 section 3's goal 2: on a shared bottleneck the connections of one
/// application take no more than one TCP would. Beside one Reno: no more than half, and two
/// uncoupled connections would take two thirds.
#[test]
fn olia_takes_no_more_than_one_tcp() {
    let share = |cc: &str| {
        let flows = format!(
            "[[flow]]\ncc = \"{cc}\"\ncount = 2\napplication = \"a\"\n[[flow]]\ncc = \"reno\"\nstart = \"1 s\""
        );
        let queue = r#"{ kind = "red", limit = "160 packets", min_threshold = "20 packets",
            max_threshold = "80 packets", max_probability = 0.05, weight = 0.002, gentle = true }"#;
        let run = on_path(600, 60, &queue.replace('\n', " "), &flows);
        let coupled = goodput(&run, 0) + goodput(&run, 1);
        coupled / (coupled + goodput(&run, 2))
    };
    // RED drops of each flow alike; ten minutes give each some six hundred losses, and a share to
    // within a twentieth.
    assert_within("share of OLIA", share("olia"), 0.3, 0.55);
    assert_within("share of two Renos", share("reno"), 0.6, 0.72);
}

/// Arun and Balakrishnan 2018, section 4.1: beside a flow that fills the queue it competes; in its
/// default mode alone it would starve.
#[test]
fn copa_competes_with_cubic() {
    let share = |params: &str| {
        let flows = format!("[[flow]]\ncc = \"copa\"\n{params}\n[[flow]]\ncc = \"cubic\"");
        let run = on_path(200, 60, "{ limit = \"166 packets\" }", &flows);
        goodput(&run, 0) / (goodput(&run, 0) + goodput(&run, 1))
    };
    let competing = share("");
    // The paper's figures show shares from a third to two thirds.
    assert_within("share in competitive mode", competing, 0.25, 0.75);
    // Alone it queues 1/δ = 2 packets and a little: far below the path.
    let alone = on_path(60, 20, "{ limit = \"166 packets\" }", "[[flow]]\ncc = \"copa\"");
    assert_within("its queue alone", backlog(&alone), 0.5, 8.0);
    assert!(alone.summary.links[0].utilisation > 0.95);
}
