//! Packets of a Linux 6.1.192 in virtual time.
//!
//! A trace has one line for each packet at a host's device, in order: the time in nanoseconds of the
//! kernel's clock, `>` from the source and `<` from the sink, TCP flags (`c` and `e` after them for IP's CE
//! and ECT), offset, bytes of data, acknowledged offset, window field, timestamp value and echo, and the
//! SACK blocks.

use fairway_tcp::{Flags, SackBlock, Segment, SeqNr};

/// Initial sequence numbers of source and sink.
pub const ISN: [u32; 2] = [1000, 5000];
/// Blocks that fit beside timestamps (RFC 2018 section 3).
const MAX_SACK_BLOCKS: usize = 4;

/// A packet.
pub struct Line<'a> {
    pub at: u64,
    pub got: bool,
    pub flags: &'a str,
    pub offset: u64,
    pub bytes: u32,
    pub ack: u64,
    pub window: u16,
    pub ts_value: u32,
    pub ts_echo: u32,
    pub rest: Vec<&'a str>,
}

/// A line of a trace.
pub fn parse(line: &str) -> Line<'_> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    Line {
        at: fields[0].parse().unwrap(),
        got: fields[1] == ">",
        flags: fields[2],
        offset: fields[3].parse().unwrap(),
        bytes: fields[4].parse().unwrap(),
        ack: fields[5].parse().unwrap(),
        window: fields[6].parse().unwrap(),
        ts_value: fields[7].parse().unwrap(),
        ts_echo: fields[8].parse().unwrap(),
        rest: fields[9..].to_vec(),
    }
}

/// The packet as the simulator has it, from the source (`forward`) or from the sink.
pub fn segment(line: &Line, forward: bool) -> Segment {
    let [own, other] = if forward { ISN } else { [ISN[1], ISN[0]] };
    let flag = |letter: char, flag: Flags| (line.flags.contains(letter), flag);
    let flags = [
        flag('S', Flags::SYN),
        flag('F', Flags::FIN),
        flag('.', Flags::ACK),
        flag('P', Flags::PSH),
        flag('E', Flags::ECE),
        flag('W', Flags::CWR),
        flag('c', Flags::CE.with(Flags::ECT)),
        flag('e', Flags::ECT),
        flag('S', Flags::SACK_PERMITTED.with(Flags::WINDOW_SCALE)),
    ];
    let flags = flags.iter().fold(Flags::TIMESTAMP, |all, (on, flag)| all.with_if(*on, *flag));
    let mut sack = [SackBlock::default(); MAX_SACK_BLOCKS];
    let mut sack_count = 0;
    for (block, words) in sack.iter_mut().zip(blocks(line)) {
        let (left, right) = words.split_once('-').unwrap();
        block.left = SeqNr::of(other, left.parse().unwrap());
        block.right = SeqNr::of(other, right.parse().unwrap());
        sack_count += 1;
    }
    let scale = line.rest.iter().find_map(|word| word.strip_prefix("wscale="));
    Segment {
        flags,
        forward,
        seq: if flags.has(Flags::SYN) { SeqNr(own) } else { SeqNr::of(own, line.offset) },
        ack: SeqNr::of(other, line.ack),
        payload_offset: line.offset,
        payload_bytes: line.bytes,
        ts_value: line.ts_value,
        ts_echo: line.ts_echo,
        window: line.window,
        window_scale: scale.map_or(0, |scale| scale.parse().unwrap()),
        mss: 1460,
        sack,
        sack_count,
        ..Segment::default()
    }
}

/// Its SACK blocks, by offsets.
pub fn blocks<'a>(line: &Line<'a>) -> Vec<&'a str> {
    line.rest.iter().copied().filter(|word| word.contains('-')).collect()
}
