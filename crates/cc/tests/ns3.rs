//! The windows of ns-3.29 itself, for the same events, to the byte: `ns3/windows.csv` was printed by
//! `ns3/windows.cc`, linked with ns-3.29, from `ns3/events.txt`, which says what its lines mean.

use fairway_cc::{
    Ack, CongestionControl, Flow, Init, Phase, Selection, Signal, Timestamps, Variant, create,
};
use fairway_units::{Duration, Time};

const EVENTS: &str = include_str!("ns3/events.txt");
const WINDOWS: &str = include_str!("ns3/windows.csv");
const MSS: u64 = 1440;

/// The algorithm of a column.
fn make(name: &str) -> Box<dyn CongestionControl> {
    let (variant, params) = match name {
        // Its reading "frozen".
        "dcm+" => (Variant::Paper, vec![("reading".to_owned(), 2.0)]),
        _ => (Variant::Ns3_29, Vec::new()),
    };
    let selection = Selection { name: name.to_owned(), variant: Some(variant), params };
    let init = Init {
        mss: MSS as u32,
        initial_window: MSS,
        initial_ssthresh: None,
        slow_start: None,
        seed: 0,
        coupling: None,
        abe: false,
    };
    create(&selection, variant, &init).expect("a variant of ns-3.29")
}

fn phase(name: &str) -> Phase {
    match name {
        "Open" => Phase::Open,
        "Disorder" => Phase::Disorder,
        "Cwr" => Phase::Cwr,
        "Recovery" => Phase::Recovery,
        "Loss" => Phase::Loss,
        _ => panic!("no state {name}"),
    }
}

fn tell(cc: &mut dyn CongestionControl, line: &str) {
    let words: Vec<_> = line.split(' ').collect();
    let number = |index: usize| words[index].parse::<u64>().expect("a number");
    let mut flow = Flow {
        now: Time::from_nanos(number(0)),
        mss: MSS as u32,
        pipe: 0,
        in_flight: 0,
        srtt: None,
        min_rtt: Some(Duration::from_nanos(number(5))),
        snd_una: number(2),
        snd_nxt: number(3),
        snd_max: number(4),
        delivered: 0,
        lost: 0,
        pacing_delay: Duration::ZERO,
        phase: Phase::Open,
    };
    match words[1] {
        "ack" => {
            flow.phase = phase(words[9]);
            flow.srtt = Some(Duration::from_nanos(number(6)));
            let ack = Ack {
                delivered: number(7) * MSS,
                acked: number(8) * MSS,
                rtt: flow.srtt,
                may_grow: number(10) == 1,
                timestamps: Some(Timestamps { value: number(11) as u32, echo: number(12) as u32 }),
                ..Ack::default()
            };
            cc.on_ack(&ack, &flow);
        }
        "loss" => cc.on_congestion(Signal::Loss, &Flow { pipe: number(6), ..flow }),
        "mark" => cc.on_congestion(Signal::Ecn, &flow),
        "recovered" => cc.on_recovered(0, &flow),
        "timeout" => cc.on_rto(number(7) == 1, &Flow { pipe: number(6), ..flow }),
        kind => panic!("no event {kind}"),
    }
}

#[test]
fn windows_are_those_of_ns3_to_the_byte() {
    let mut rows = WINDOWS.lines();
    let names = rows.next().expect("a header").split(',');
    let rows: Vec<Vec<_>> = rows.map(|row| row.split(',').collect()).collect();
    assert_eq!(rows.len(), EVENTS.lines().count());
    for (column, name) in names.enumerate() {
        let mut cc = make(name);
        for (row, event) in rows.iter().zip(EVENTS.lines()) {
            tell(cc.as_mut(), event);
            let ssthresh = cc.ssthresh().min(u64::from(u32::MAX));
            assert_eq!(format!("{} {ssthresh}", cc.cwnd()), row[column], "{name} after: {event}");
        }
    }
}
