//! Two endpoints and a path between them, written down as a time-sequence diagram.
//!
//! One line for each segment sent: the time in milliseconds, `>` for the source and `<` for the
//! sink, and what it is:
//!
//! ```text
//!    0 > SYN
//!   50 < SYN ACK
//!  100 > 0..3000 (3)                   three segments together, stream offsets
//!  100 > 3000..4000 lost               one that the test loses
//!  150 < ack 3000 sack 4000-5000
//!  200 > 3000..4000 again              sent before
//!  200 > fin 9000
//! ```
//!
//! Segments that leave together and continue each other share a line. The path takes 50 ms each
//! way, has no rate and keeps order. The tests of a file use what they need of this.

pub mod witness;

use std::collections::VecDeque;

use fairway_cc::{CongestionControl, Selection, Variant, create};
use fairway_tcp::{
    Config, DelayedAck, Endpoint, Flags, PRESETS, Range, Role, SackBlock, Segment, SeqNr, Stack,
};
use fairway_units::{Duration, Time};
use witness::{Asks, Notes, Witness};

/// Propagation in one direction; a round trip is 100 ms.
pub const DELAY: Duration = Duration::from_millis(50);

/// The switches of a preset, with segments of 1000 bytes.
pub fn preset(name: &str) -> Stack {
    let preset = PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
    (preset.stack)().with(|s| s.options.mss = 1000)
}

/// The RFCs, with an acknowledgement for every segment and an initial window of `window` segments.
pub fn rfc(window: u32) -> Stack {
    preset("rfc5681").with(|s| {
        s.window.initial_window = window;
        s.acks.delayed_ack = DelayedAck::Off;
    })
}

/// Reno; that of ns-3 has the name of NewReno.
fn reno(stack: &Stack) -> Box<dyn CongestionControl> {
    let name = if stack.window.cc_variant == Variant::Ns3_29 { "newreno" } else { "reno" };
    let reno = Selection { name: name.to_owned(), variant: None, params: Vec::new() };
    create(&reno, stack.window.cc_variant, &stack.init(name)).expect("Reno")
}

/// What happens to a segment of a certain text.
enum Fate {
    Lost,
    Marked,
    Late(Duration),
}

/// Two endpoints and what happened so far.
pub struct Script {
    pub source: Endpoint,
    pub sink: Endpoint,
    isns: [u32; 2],
    now: Time,
    /// On its way, in the order of arrival.
    travelling: VecDeque<(Time, Segment)>,
    fates: Vec<(String, Fate)>,
    /// Data segments of the source that are lost, by their number; and how many it has sent.
    lost_numbers: Vec<usize>,
    data_sent: usize,
    /// End of the data that each side has sent.
    sent_end: [u64; 2],
    /// Whether AE, CWR and ECE are written as a count, `ace 6`, unless that is 5, from which it begins
    /// (RFC 9768).
    pub counts_marks: bool,
    lines: Vec<Line>,
}

#[derive(Clone, PartialEq)]
struct Line {
    ms: u64,
    from_source: bool,
    /// Data without anything special, which later segments may continue.
    data: Option<(Range, u64)>,
    text: String,
}

impl Script {
    /// Two ends of one stack, Reno at both.
    pub fn new(stack: &Stack) -> Self {
        Script::between(stack, stack, [1000, 5000])
    }

    /// A source and a sink of their own stacks, with these initial sequence numbers.
    pub fn between(source: &Stack, sink: &Stack, isns: [u32; 2]) -> Self {
        Script::of([source, sink], [reno(source), reno(sink)], isns)
    }

    /// Two ends of one stack whose algorithm, otherwise Reno, asks this; and what the source's is
    /// told.
    pub fn asking(stack: &Stack, asks: &Asks) -> (Self, Notes) {
        let notes = Notes::default();
        let witness = |notes: &Notes| -> Box<dyn CongestionControl> {
            let (inner, asks, notes) = (reno(stack), asks.clone(), notes.clone());
            Box::new(Witness { inner, asks, notes, delivered: 0 })
        };
        let ccs = [witness(&notes), witness(&Notes::default())];
        (Script::of([stack; 2], ccs, [1000, 5000]), notes)
    }

    fn of(stacks: [&Stack; 2], ccs: [Box<dyn CongestionControl>; 2], isns: [u32; 2]) -> Self {
        let endpoint = |stack: &Stack, cc, role, isn| {
            Endpoint::new(Config {
                connection: 0,
                role,
                stack: stack.clone().into(),
                cc,
                isn,
                timestamp_offset: isn,
            })
        };
        let [source, sink] = ccs;
        Script {
            source: endpoint(stacks[0], source, Role::Active, isns[0]),
            sink: endpoint(stacks[1], sink, Role::Passive, isns[1]),
            isns,
            now: Time::ZERO,
            travelling: VecDeque::new(),
            fates: Vec::new(),
            lost_numbers: Vec::new(),
            data_sent: 0,
            sent_end: [0; 2],
            counts_marks: false,
            lines: Vec::new(),
        }
    }

    /// Loses the next segment whose line, without its time, is this: `"> 2000..3000"`.
    pub fn lose(&mut self, segment: &str) {
        self.fates.push((segment.to_owned(), Fate::Lost));
    }

    /// Loses the next `count` of them.
    pub fn lose_times(&mut self, count: usize, segment: &str) {
        (0..count).for_each(|_| self.lose(segment));
    }

    /// Loses a data segment of the source by its number: the first that is sent is 1.
    pub fn lose_number(&mut self, number: usize) {
        self.lost_numbers.push(number);
    }

    /// Marks the next such segment as a congested router does (RFC 3168), if it may be marked.
    pub fn mark(&mut self, segment: &str) {
        self.fates.push((segment.to_owned(), Fate::Marked));
    }

    /// Delivers the next such segment so much later, behind others.
    pub fn delay(&mut self, segment: &str, ms: u64) {
        self.fates.push((segment.to_owned(), Fate::Late(Duration::from_millis(ms))));
    }

    /// The source opens the connection and writes.
    pub fn open(&mut self, bytes: u64) {
        self.source.connect();
        self.write(bytes);
    }

    /// The source's application writes now.
    pub fn write(&mut self, bytes: u64) {
        self.source.write(bytes);
        self.pump(true);
    }

    /// The source's application closes now.
    pub fn close(&mut self) {
        self.source.close();
        self.pump(true);
    }

    /// The sink's application closes now.
    pub fn close_sink(&mut self) {
        self.sink.close();
        self.pump(false);
    }

    /// Lets time pass up to and with `ms`.
    pub fn run(&mut self, ms: u64) {
        let until = Time::ZERO + Duration::from_millis(ms);
        loop {
            let arrival = self.travelling.front().map_or(Time::NEVER, |(at, _)| *at);
            let timers = [self.source.poll_timeout(), self.sink.poll_timeout()];
            let next = arrival.min(timers[0]).min(timers[1]);
            if next > until {
                break;
            }
            self.now = next;
            if arrival == next {
                self.deliver();
            } else if timers[0] == next {
                self.source.handle_timeout(next);
                self.pump(true);
            } else {
                self.sink.handle_timeout(next);
                self.pump(false);
            }
        }
        self.now = until;
    }

    /// Lets time pass up to and with `ms`; what was sent since the last look has to be this.
    #[track_caller]
    pub fn expect(&mut self, ms: u64, diagram: &str) {
        let seen = self.look(ms);
        let wanted: Vec<String> = diagram.lines().map(squeeze).filter(|l| !l.is_empty()).collect();
        if seen != wanted {
            panic!("until {ms} ms:\n{}\n\nexpected:\n{}\n", seen.join("\n"), wanted.join("\n"));
        }
    }

    /// What the sink's application wrote leaves now, as this.
    #[track_caller]
    pub fn expect_pumped(&mut self, diagram: &str) {
        self.pump(false);
        let now = self.now.as_millis();
        self.expect(now, diagram);
    }

    /// Lets time pass; what was sent since the last look.
    pub fn look(&mut self, ms: u64) -> Vec<String> {
        self.run(ms);
        std::mem::take(&mut self.lines).iter().map(Line::to_string).collect()
    }

    /// The window and the threshold of the source, in segments; 0 for an infinite threshold.
    pub fn window(&self) -> (u64, u64) {
        let sender = self.source.sender();
        let ssthresh = if sender.ssthresh() == u64::MAX { 0 } else { sender.ssthresh() / 1000 };
        (sender.cwnd() / 1000, ssthresh)
    }

    /// Bytes that the sink's application has.
    pub fn received(&self) -> u64 {
        self.sink.receiver().delivered_bytes()
    }

    fn deliver(&mut self) {
        let Some((_, segment)) = self.travelling.pop_front() else { return };
        let to = if segment.forward { &mut self.sink } else { &mut self.source };
        to.handle_segment(&segment, self.now);
        self.pump(!segment.forward);
    }

    fn pump(&mut self, is_source: bool) {
        loop {
            let from = if is_source { &mut self.source } else { &mut self.sink };
            let Some(segment) = from.poll_transmit(self.now) else { return };
            self.send(segment);
        }
    }

    fn send(&mut self, mut segment: Segment) {
        let line = self.line(&segment);
        let name = format!("{} {}", if segment.forward { '>' } else { '<' }, line.text);
        let fate = self.fates.iter().position(|(text, _)| *text == name);
        let mut fate = fate.map(|at| self.fates.remove(at).1);
        if segment.forward && segment.payload_bytes > 0 {
            self.data_sent += 1;
            if self.lost_numbers.contains(&self.data_sent) {
                fate = Some(Fate::Lost);
            }
        }
        match fate {
            None => {}
            Some(Fate::Lost) => {
                return self.note(Line { text: line.text + " lost", data: None, ..line });
            }
            Some(Fate::Late(by)) => {
                self.note(Line { text: line.text + " late", data: None, ..line });
                return self.travel(by, segment);
            }
            Some(Fate::Marked) => {
                assert!(segment.flags.has(Flags::ECT), "{name} may not be marked");
                segment.flags = segment.flags.with(Flags::CE);
                self.note(Line { text: line.text + " marked", data: None, ..line });
                return self.travel(Duration::ZERO, segment);
            }
        }
        self.note(line);
        self.travel(Duration::ZERO, segment);
    }

    /// Sends a segment on its way, which takes `longer` than the others'.
    fn travel(&mut self, longer: Duration, segment: Segment) {
        let arrival = self.now + DELAY + longer;
        let at = self.travelling.partition_point(|(earlier, _)| *earlier <= arrival);
        self.travelling.insert(at, (arrival, segment));
    }

    /// Adds a line, or continues the last one.
    fn note(&mut self, line: Line) {
        if let (Some((range, count)), Some(last)) = (line.data, self.lines.last_mut())
            && let Some((before, segments)) = last.data
            && (last.ms, last.from_source, before.end) == (line.ms, line.from_source, range.start)
        {
            let range = Range { start: before.start, end: range.end };
            last.data = Some((range, segments + count));
            return;
        }
        self.lines.push(line);
    }

    fn line(&mut self, segment: &Segment) -> Line {
        let side = usize::from(!segment.forward);
        let (own, peer) = (self.isns[side], self.isns[1 - side]);
        let offset = |number: SeqNr, isn| number.0.wrapping_sub(SeqNr::of(isn, 0).0);
        let start = segment.payload_offset;
        let end = start + u64::from(segment.payload_bytes);
        let flags = segment.flags;
        let has_data = segment.payload_bytes > 0;
        let again = has_data && end <= self.sent_end[side];
        self.sent_end[side] = self.sent_end[side].max(end);
        if has_data {
            assert_eq!(segment.seq, SeqNr::of(own, start), "sequence number of offset {start}");
        }
        let mut text = if flags.has(Flags::SYN) {
            if flags.has(Flags::ACK) { "SYN ACK".to_owned() } else { "SYN".to_owned() }
        } else if has_data {
            format!("{start}..{end}")
        } else if flags.has(Flags::FIN) {
            format!("fin {}", offset(segment.seq, own))
        } else {
            let mut text = format!("ack {}", offset(segment.ack, peer));
            for (i, SackBlock { left, right }) in segment.sack_blocks().iter().enumerate() {
                text += if i == 0 { " sack " } else { " " };
                text += &format!("{}-{}", offset(*left, peer), offset(*right, peer));
            }
            text
        };
        let has_words = !flags.has(Flags::SYN) && !self.counts_marks;
        for (present, word) in [
            (has_data && flags.has(Flags::FIN), " fin"),
            (again, " again"),
            (flags.has(Flags::CWR) && has_words, " cwr"),
            (flags.has(Flags::ECE) && has_words, " ece"),
        ] {
            text += if present { word } else { "" };
        }
        let bits = [(Flags::AE, 4), (Flags::CWR, 2), (Flags::ECE, 1)];
        let count: u8 = bits.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, bit)| bit).sum();
        if self.counts_marks && count != 5 && !flags.has(Flags::SYN) {
            text += &format!(" ace {count}");
        }
        let plain = has_data && text == format!("{start}..{end}");
        Line {
            ms: self.now.as_millis(),
            from_source: segment.forward,
            data: plain.then_some((Range { start, end }, 1)),
            text,
        }
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arrow = if self.from_source { '>' } else { '<' };
        match self.data {
            Some((Range { start, end }, count)) if count > 1 => {
                write!(f, "{} {arrow} {start}..{end} ({count})", self.ms)
            }
            _ => write!(f, "{} {arrow} {}", self.ms, self.text),
        }
    }
}

/// One space where there are several.
fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
