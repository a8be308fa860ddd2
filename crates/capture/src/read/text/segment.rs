//! What a line says of a TCP segment, in the format of today and in that before version 4.1.

use crate::packet::{MAX_SACK_BLOCKS, Options, flags};

const TCP_HEADER_BYTES: u32 = 20;
/// More than a header has room for.
const MAX_OPTION_BYTES: u32 = 40;

/// A segment with its numbers as they are printed, relative or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    pub flags: u16,
    /// First and last sequence number, if any is printed.
    pub seq: Option<(u32, u32)>,
    pub ack: Option<u32>,
    pub window: u16,
    pub payload_bytes: u32,
    /// Sequence numbers in them are as they are printed.
    pub options: Options,
}

/// Why a line that looks like a segment is none.
#[derive(Debug, thiserror::Error)]
pub enum BadSegment {
    #[error("its flags are none that tcpdump prints")]
    Flags,
    #[error("its sequence numbers cannot be read")]
    Sequence,
    #[error("it claims more data than a packet has")]
    TooLong,
}

impl Segment {
    pub fn header_bytes(&self) -> u32 {
        TCP_HEADER_BYTES + u32::from(self.options.bytes).next_multiple_of(4).min(MAX_OPTION_BYTES)
    }
}

/// Reads a segment; nothing if it is something else.
pub fn read(what: &str) -> Result<Option<Segment>, BadSegment> {
    let segment = match what.strip_prefix("Flags [") {
        Some(rest) => Some(read_new(rest)?),
        None => read_old(what)?,
    };
    if segment.is_some_and(|segment| segment.payload_bytes > super::super::MAX_FRAME_BYTES) {
        return Err(BadSegment::TooLong);
    }
    Ok(segment)
}

/// `S.], seq 1:1449, ack 1, win 229, options [nop,nop,TS val 1 ecr 2], length 1448: HTTP`.
fn read_new(rest: &str) -> Result<Segment, BadSegment> {
    let (letters, rest) = rest.split_once(']').ok_or(BadSegment::Flags)?;
    let mut segment = Segment { flags: new_flags(letters)?, ..Segment::default() };
    let (fields, options, rest) = match rest.split_once("options [") {
        Some((fields, rest)) => {
            let (options, rest) = rest.split_once(']').unwrap_or((rest, ""));
            (fields, options, rest)
        }
        None => (rest, "", rest),
    };
    for field in fields.split(", ") {
        let Some((name, value)) = field.trim().split_once(' ') else { continue };
        match name {
            "seq" => segment.seq = Some(range(value).ok_or(BadSegment::Sequence)?),
            "ack" => segment.ack = Some(leading_number(value).ok_or(BadSegment::Sequence)?),
            "win" => segment.window = window(value),
            _ => {}
        }
    }
    read_options(&mut segment.options, options);
    segment.payload_bytes = match rest.split_once("length ") {
        Some((_, length)) => leading_number(length).ok_or(BadSegment::TooLong)?,
        // Cut off, or of a version that does not print it.
        None => segment.seq.map_or(0, |(from, to)| to.wrapping_sub(from)),
    };
    Ok(segment)
}

fn new_flags(letters: &str) -> Result<u16, BadSegment> {
    if letters == "none" {
        return Ok(0);
    }
    letters.chars().try_fold(0, |all, letter| {
        let flag = match letter {
            'S' => flags::SYN,
            'F' => flags::FIN,
            'R' => flags::RST,
            'P' => flags::PSH,
            '.' => flags::ACK,
            'U' => flags::URG,
            'E' => flags::ECE,
            'W' => flags::CWR,
            'e' => flags::AE,
            _ => return Err(BadSegment::Flags),
        };
        Ok(all | flag)
    })
}

/// `P 1:1449(1448) ack 1 win 229 <nop,nop,timestamp 1 2>`.
fn read_old(what: &str) -> Result<Option<Segment>, BadSegment> {
    let (letters, rest) = what.split_once(' ').unwrap_or((what, ""));
    let Some(flags) = old_flags(letters) else { return Ok(None) };
    let mut segment = Segment { flags, ..Segment::default() };
    let (fields, options) = match rest.split_once('<') {
        Some((fields, rest)) => (fields, rest.split_once('>').map_or(rest, |(options, _)| options)),
        None => (rest, ""),
    };
    let mut words = fields.split_ascii_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().and_then(leading_number);
        match word {
            "ack" => {
                segment.ack = Some(value().ok_or(BadSegment::Sequence)?);
                segment.flags |= flags::ACK;
            }
            "win" => segment.window = value().map_or(0, |window| window.min(0xffff) as u16),
            "urg" => segment.flags |= flags::URG,
            _ if segment.seq.is_none() && word.contains(':') && word.ends_with(')') => {
                let (numbers, length) = word.split_once('(').ok_or(BadSegment::Sequence)?;
                segment.seq = Some(range(numbers).ok_or(BadSegment::Sequence)?);
                segment.payload_bytes = leading_number(length).ok_or(BadSegment::TooLong)?;
            }
            _ => {}
        }
    }
    read_options(&mut segment.options, options);
    // A word of these letters alone is no segment: those have a window or numbers.
    let is_segment = rest.contains("win ") || segment.ack.is_some() || segment.seq.is_some();
    Ok(is_segment.then_some(segment))
}

fn old_flags(letters: &str) -> Option<u16> {
    if letters.is_empty() || letters.len() > 8 {
        return None;
    }
    letters.chars().try_fold(0, |all, letter| {
        Some(match letter {
            'S' => all | flags::SYN,
            'F' => all | flags::FIN,
            'R' => all | flags::RST,
            'P' => all | flags::PSH,
            'E' => all | flags::ECE,
            'W' => all | flags::CWR,
            // No flag but perhaps ACK, which shows in its number.
            '.' => all,
            _ => return None,
        })
    })
}

fn read_options(options: &mut Options, text: &str) {
    for option in text.split(',') {
        let mut words = option.split_ascii_whitespace();
        let Some(name) = words.next() else { continue };
        let mut number = || words.next().and_then(leading_number);
        let bytes = match name {
            "nop" | "eol" => 1,
            "mss" => {
                options.mss = number().and_then(|mss| u16::try_from(mss).ok());
                4
            }
            "wscale" => {
                options.window_scale = number().and_then(|scale| u8::try_from(scale).ok());
                3
            }
            "sackOK" => {
                options.sack_permitted = true;
                2
            }
            "timestamp" => {
                options.timestamps = number().zip(number());
                10
            }
            "TS" => {
                options.timestamps = new_timestamps(option);
                10
            }
            "sack" => 2 + 8 * read_sack(options, option),
            _ => 0,
        };
        options.bytes = options.bytes.saturating_add(bytes);
    }
}

/// `TS val 1 ecr 2`.
fn new_timestamps(option: &str) -> Option<(u32, u32)> {
    let (_, rest) = option.split_once("val ")?;
    let (value, echo) = rest.split_once(" ecr ")?;
    leading_number(value).zip(leading_number(echo))
}

/// `sack 2 {1449:2897}{4345:5793}`; says how many.
fn read_sack(options: &mut Options, option: &str) -> u8 {
    let mut count = 0;
    for block in option.split('{').skip(1).take(MAX_SACK_BLOCKS) {
        if let Some(edges) = range(block.trim_end_matches(['}', ' '])) {
            options.sack[usize::from(count)] = edges;
            count += 1;
        }
    }
    options.sack_count = count;
    count
}

/// `1:1449`, or `1` alone.
fn range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(':') {
        Some((from, to)) => leading_number(from).zip(leading_number(to)),
        None => leading_number(text).map(|number| (number, number)),
    }
}

fn window(value: &str) -> u16 {
    leading_number(value).map_or(0, |window| window.min(0xffff) as u16)
}

/// The number that a text begins with.
pub fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_of_today() {
        let what = "Flags [P.], cksum 0xfe28 (correct), seq 1:1449, ack 2, win 229, options \
                    [nop,nop,TS val 7 ecr 8,nop,nop,sack 2 {10:20}{30:40}], length 1448: HTTP";
        let segment = read(what).unwrap().unwrap();
        assert_eq!(segment.flags, flags::PSH | flags::ACK);
        assert_eq!((segment.seq, segment.ack), (Some((1, 1449)), Some(2)));
        assert_eq!((segment.window, segment.payload_bytes), (229, 1448));
        assert_eq!(segment.options.timestamps, Some((7, 8)));
        assert_eq!(
            (segment.options.sack_count, segment.options.sack[..2].to_vec()),
            (2, vec![(10, 20), (30, 40)])
        );
        // 2 + 10 + 2 + 18 bytes of options.
        assert_eq!(segment.header_bytes(), 52);
    }

    #[test]
    fn a_segment_before_version_4_1() {
        let what = "S 5:5(0) ack 9 win 5840 <mss 1460,nop,nop,sackOK,nop,wscale 7> (DF)";
        let segment = read(what).unwrap().unwrap();
        assert_eq!(segment.flags, flags::SYN | flags::ACK);
        assert_eq!((segment.seq, segment.ack, segment.window), (Some((5, 5)), Some(9), 5840));
        assert_eq!((segment.options.mss, segment.options.window_scale), (Some(1460), Some(7)));
        assert!(segment.options.sack_permitted);
        let data = read("FP 1:1001(1000) ack 1 win 92 urg 3").unwrap().unwrap();
        assert_eq!(data.flags, flags::FIN | flags::PSH | flags::ACK | flags::URG);
        assert_eq!(data.payload_bytes, 1000);
    }

    #[test]
    fn what_is_no_segment() {
        for what in ["UDP, length 5", "ICMP echo request, id 1, seq 1, length 64", "S", "P what"] {
            assert_eq!(read(what).unwrap(), None, "{what}");
        }
        assert!(read("Flags [?], length 0").is_err());
        assert!(read("Flags [.], ack x, length 0").is_err());
        assert!(read("P 1:2(99999999) ack 1 win 5").is_err());
    }
}
