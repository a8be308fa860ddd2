//! Segments between a script's form and the endpoint's.

use fairway_tcp::{Flags, SackBlock, Segment as Sent, SeqNr};

use crate::connection::DEFAULT_MSS;
use crate::script::{Bits, IpEcn, OptionList, Options, Segment};

/// The segment that a script lets arrive, its timestamp echo translated by `echo`.
pub fn arriving(segment: &Segment, from_opener: bool, echo: impl Fn(u32) -> u32) -> Sent {
    let bits = segment.flags;
    let none = OptionList::default();
    let options = if let Options::These(list) = &segment.options { list } else { &none };
    let mut flags = Flags::default()
        .with_if(bits.syn, Flags::SYN)
        .with_if(bits.fin, Flags::FIN)
        .with_if(bits.psh, Flags::PSH)
        .with_if(bits.ack, Flags::ACK)
        .with_if(bits.ece, Flags::ECE)
        .with_if(bits.cwr, Flags::CWR)
        .with_if(bits.ae, Flags::AE)
        .with_if(options.timestamp.is_some(), Flags::TIMESTAMP)
        .with_if(options.sack_permitted, Flags::SACK_PERMITTED)
        .with_if(options.window_scale.is_some(), Flags::WINDOW_SCALE);
    flags = match segment.ip_ecn {
        None | Some(IpEcn::NotCapable) => flags,
        Some(IpEcn::Ect0 | IpEcn::Ect1 | IpEcn::Either) => flags.with(Flags::ECT),
        Some(IpEcn::Marked) => flags.with(Flags::CE),
    };
    let (ts_value, ts_echo) = options.timestamp.unwrap_or_default();
    let mut arrived = Sent {
        seq: SeqNr(segment.seq),
        ack: SeqNr(segment.ack.unwrap_or(0)),
        payload_bytes: segment.payload,
        ts_value,
        ts_echo: echo(ts_echo),
        window: segment.window.unwrap_or(u16::MAX),
        flags,
        mss: if bits.syn { options.mss.unwrap_or(DEFAULT_MSS) } else { 0 },
        window_scale: options.window_scale.unwrap_or(0),
        sack_count: options.sack.len() as u8,
        forward: from_opener,
        ..Sent::default()
    };
    for (block, &(left, right)) in arrived.sack.iter_mut().zip(&options.sack) {
        *block = SackBlock { left: SeqNr(left), right: SeqNr(right) };
    }
    arrived
}

/// A segment as a script would write it, without its direction. `several` is the payload of the
/// burst that it begins.
pub fn written(segment: &Sent, several: Option<u32>) -> String {
    let flags = segment.flags;
    let mut text = match (flags.has(Flags::CE), flags.has(Flags::ECT)) {
        (true, _) => "[ce] ".to_owned(),
        (_, true) => "[ect0] ".to_owned(),
        _ => String::new(),
    };
    let start = text.len();
    for (flag, letter) in [
        (Flags::SYN, 'S'),
        (Flags::FIN, 'F'),
        (Flags::PSH, 'P'),
        (Flags::ECE, 'E'),
        (Flags::CWR, 'W'),
        (Flags::AE, 'A'),
        (Flags::ACK, '.'),
    ] {
        if flags.has(flag) {
            text.push(letter);
        }
    }
    if text.len() == start {
        text.push('-');
    }
    let (seq, payload) = (segment.seq.0, several.unwrap_or(segment.payload_bytes));
    text += &format!(" {seq}:{}({payload})", seq.wrapping_add(payload));
    if flags.has(Flags::ACK) {
        text += &format!(" ack {}", segment.ack.0);
    }
    text += &format!(" win {}", segment.window);
    let options = option_texts(segment);
    if options.is_empty() { text } else { format!("{text} <{}>", options.join(",")) }
}

fn option_texts(segment: &Sent) -> Vec<String> {
    let flags = segment.flags;
    let mut found = Vec::new();
    if flags.has(Flags::SYN) {
        found.push(format!("mss {}", segment.mss));
    }
    if flags.has(Flags::SACK_PERMITTED) {
        found.push("sackOK".to_owned());
    }
    if flags.has(Flags::TIMESTAMP) {
        found.push(format!("TS val {} ecr {}", segment.ts_value, segment.ts_echo));
    }
    if flags.has(Flags::WINDOW_SCALE) {
        found.push(format!("wscale {}", segment.window_scale));
    }
    let blocks: Vec<String> = segment
        .sack_blocks()
        .iter()
        .map(|SackBlock { left, right }| format!("{}:{}", left.0, right.0))
        .collect();
    if !blocks.is_empty() {
        found.push(format!("sack {}", blocks.join(" ")));
    }
    found
}

/// How a sent segment that begins with `first` and has `payload` bytes differs from what a script
/// expects; timestamps are compared elsewhere.
pub fn differences(
    expected: &Segment,
    first: &Sent,
    payload: u32,
    compare_psh: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: &str, expected: String, sent: String| {
        if expected != sent {
            found.push(format!("{what} {sent} instead of {expected}"));
        }
    };
    let flags = first.flags;
    note("flags", flag_text(expected, compare_psh), sent_flag_text(flags, compare_psh));
    note("sequence number", expected.seq.to_string(), first.seq.0.to_string());
    note("payload", expected.payload.to_string(), payload.to_string());
    if let Some(ack) = expected.ack {
        note("ack", ack.to_string(), first.ack.0.to_string());
    }
    if let Some(window) = expected.window {
        note("win", window.to_string(), first.window.to_string());
    }
    let ect = (flags.has(Flags::CE), flags.has(Flags::ECT));
    let sent_ecn = match ect {
        (true, _) => "ce",
        (_, true) => "ect0",
        _ => "noecn",
    };
    let expected_ecn = match expected.ip_ecn {
        None => sent_ecn,
        Some(IpEcn::NotCapable) => "noecn",
        Some(IpEcn::Ect1) => "ect1",
        Some(IpEcn::Either) if ect == (false, true) => sent_ecn,
        Some(IpEcn::Ect0 | IpEcn::Either) => "ect0",
        Some(IpEcn::Marked) => "ce",
    };
    note("ECN in the IP header", expected_ecn.to_owned(), sent_ecn.to_owned());
    let none = OptionList::default();
    let options = match &expected.options {
        Options::Unseen => return found,
        Options::None => &none,
        Options::These(list) => list,
    };
    let syn = flags.has(Flags::SYN);
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "none".to_owned());
    note(
        "option mss",
        or_none(options.mss.map(|mss| mss.to_string())),
        or_none(syn.then(|| first.mss.to_string())),
    );
    note(
        "option wscale",
        or_none(options.window_scale.map(|shift| shift.to_string())),
        or_none(flags.has(Flags::WINDOW_SCALE).then(|| first.window_scale.to_string())),
    );
    let yes_no = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let sack_permitted = flags.has(Flags::SACK_PERMITTED);
    note("option sackOK", yes_no(options.sack_permitted), yes_no(sack_permitted));
    let timestamp = flags.has(Flags::TIMESTAMP);
    note("option TS", yes_no(options.timestamp.is_some()), yes_no(timestamp));
    if let Some((_, echo)) = options.timestamp
        && timestamp
    {
        note("option TS ecr", echo.to_string(), first.ts_echo.to_string());
    }
    let blocks = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
        let texts: Vec<String> = pairs.map(|(left, right)| format!("{left}:{right}")).collect();
        if texts.is_empty() { "none".to_owned() } else { texts.join(" ") }
    };
    note(
        "option sack",
        blocks(&mut options.sack.iter().copied()),
        blocks(&mut first.sack_blocks().iter().map(|block| (block.left.0, block.right.0))),
    );
    found
}

fn flag_text(expected: &Segment, compare_psh: bool) -> String {
    let bits = expected.flags;
    letters(Bits { psh: bits.psh && compare_psh, ..bits })
}

fn sent_flag_text(flags: Flags, compare_psh: bool) -> String {
    let has = |flag| flags.has(flag);
    letters(Bits {
        syn: has(Flags::SYN),
        fin: has(Flags::FIN),
        psh: has(Flags::PSH) && compare_psh,
        ack: has(Flags::ACK),
        ece: has(Flags::ECE),
        cwr: has(Flags::CWR),
        ae: has(Flags::AE),
    })
}

fn letters(bits: Bits) -> String {
    let Bits { syn, fin, psh, ack, ece, cwr, ae } = bits;
    let set = [(syn, 'S'), (fin, 'F'), (psh, 'P'), (ece, 'E'), (cwr, 'W'), (ae, 'A'), (ack, '.')];
    let text: String = set.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}
