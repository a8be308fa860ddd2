//! Segments as they are written: `S. 0:0(0) ack 1 win 100 <mss 1460,nop>`.

use super::Parser;
use crate::lexer::Kind;
use crate::position::{Position, Problem, excerpt};
use crate::script::{Bits, IpEcn, OptionList, Options, Segment};

/// Most SACK blocks that fit the options of a segment (RFC 2018 section 3).
const MAX_SACK_BLOCKS: usize = 4;
/// Largest payload of a segment that arrives: what IP's length field leaves.
const MAX_INBOUND_PAYLOAD: u32 = 65_495;
/// Largest expected payload: several segments of one burst may be written as one.
const MAX_OUTBOUND_PAYLOAD: u32 = 1 << 28;

impl Parser<'_> {
    /// What follows the direction.
    pub(super) fn segment(&mut self, inbound: bool) -> Result<Segment, Problem> {
        let at = self.at();
        let mut segment = Segment { ip_ecn: self.ip_ecn()?, ..Segment::default() };
        self.refuse_other_packets()?;
        segment.flags = self.flags()?;
        (segment.seq, segment.payload) = self.sequence(segment.flags)?;
        let limit = if inbound { MAX_INBOUND_PAYLOAD } else { MAX_OUTBOUND_PAYLOAD };
        if segment.payload > limit {
            let message = format!("{} bytes of payload; at most {limit}", segment.payload);
            return Err(Problem::new(at, message));
        }
        if segment.payload > 0 && segment.flags.syn {
            let message =
                "a SYN with data: fast open is not supported; let data follow the handshake";
            return Err(Problem::new(at, message));
        }
        if self.accept_word("ack") {
            segment.ack = Some(self.field("ack")?);
        }
        if segment.flags.ack && segment.ack.is_none() {
            return Err(self.unexpected("`ack` and a number, as the flags have a ."));
        }
        if self.accept_word("win") {
            segment.window = Some(self.field("win")?);
        }
        if self.accept_word("urg") {
            let message = "urgent data is not supported; leave `urg` out";
            return Err(Problem::new(self.at(), message));
        }
        if self.accept('<') {
            segment.options = self.options()?;
        }
        if inbound && segment.options == Options::Unseen {
            let message = "<...> is for segments that are expected; write the options that arrive";
            return Err(Problem::new(at, message));
        }
        Ok(segment)
    }

    /// `[ect0]` and the like, before the flags.
    fn ip_ecn(&mut self) -> Result<Option<IpEcn>, Problem> {
        let close = match self.peek() {
            Some(Kind::Sign('[')) => ']',
            Some(Kind::Sign('(')) => ')',
            _ => return Ok(None),
        };
        self.next += 1;
        let at = self.at();
        let Some(Kind::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected("noecn, ect0, ect1, ect01 or ce"));
        };
        self.next += 1;
        let found = match word.as_str() {
            "noecn" => IpEcn::NotCapable,
            "ect0" => IpEcn::Ect0,
            "ect1" => IpEcn::Ect1,
            "ect01" => IpEcn::Either,
            "ce" => IpEcn::Marked,
            "tos" => self.type_of_service()?,
            _ => {
                let message = format!(
                    "{} in the IP header is not supported; only ECN is: noecn, ect0, ect1, ect01, ce",
                    excerpt(&word)
                );
                return Err(Problem::new(at, message));
            }
        };
        self.expect(close, &format!("{close} behind what stands in the IP header"))?;
        Ok(Some(found))
    }

    fn type_of_service(&mut self) -> Result<IpEcn, Problem> {
        let tos: u8 = self.field("tos")?;
        Ok(match tos & 3 {
            0 => IpEcn::NotCapable,
            1 => IpEcn::Ect1,
            2 => IpEcn::Ect0,
            _ => IpEcn::Marked,
        })
    }

    fn refuse_other_packets(&self) -> Result<(), Problem> {
        let refused = match self.peek() {
            Some(Kind::Word(word)) => match word.as_str() {
                "icmp" | "udp" | "gre" | "GREv0" | "mpls" | "ipv4" | "ipv6" | "psp" => {
                    word.as_str()
                }
                _ => return Ok(()),
            },
            Some(Kind::Integer(_)) => "a port",
            _ => return Ok(()),
        };
        let message = format!(
            "{refused} is not supported: there is one TCP connection and nothing below it; remove \
             this line"
        );
        Err(Problem::new(self.at(), message))
    }

    fn flags(&mut self) -> Result<Bits, Problem> {
        let at = self.at();
        let mut bits = Bits::default();
        if self.accept('-') {
            return Ok(bits);
        }
        let mut written = self.accept('.');
        bits.ack = written;
        if !written && let Some(Kind::Word(word)) = self.peek().cloned() {
            self.next += 1;
            written = true;
            for c in word.chars() {
                set_flag(&mut bits, c, at, &word)?;
            }
            bits.ack = self.accept('.');
        }
        if written {
            Ok(bits)
        } else {
            Err(self.unexpected("flags: ., S, F, P, E, W, A, or - for none"))
        }
    }

    /// `1:1001(1000)`: sequence number and payload.
    fn sequence(&mut self, flags: Bits) -> Result<(u32, u32), Problem> {
        let at = self.at();
        let start: u32 = self.field("the sequence number")?;
        self.expect(':', "`:` and where the segment ends")?;
        let end: u32 = self.field("the end of the segment")?;
        self.expect('(', "`(` and the bytes of payload")?;
        let payload: u32 = self.field("the payload")?;
        self.expect(')', "`)` behind the bytes of payload")?;
        // Flags take up sequence space, but it is custom to write numbers of the payload alone.
        if start.wrapping_add(payload) != end {
            let message = format!(
                "{start}:{end} is {} bytes, but ({payload}) is written{}",
                end.wrapping_sub(start),
                if flags.syn || flags.fin { "; S and F are not counted" } else { "" }
            );
            return Err(Problem::new(at, message));
        }
        Ok((start, payload))
    }

    /// What follows `<`.
    fn options(&mut self) -> Result<Options, Problem> {
        if self.peek() == Some(&Kind::Ellipsis) {
            self.next += 1;
            self.expect('>', "`>` behind `...`")?;
            return Ok(Options::Unseen);
        }
        let mut list = OptionList::default();
        loop {
            self.option(&mut list)?;
            if self.accept('>') {
                return Ok(Options::These(list));
            }
            self.expect(',', "`,` and another option, or `>` behind the last")?;
        }
    }

    fn option(&mut self, list: &mut OptionList) -> Result<(), Problem> {
        let at = self.at();
        let Some(Kind::Word(word)) = self.peek().cloned() else {
            return Err(self.unexpected("an option: mss, sackOK, TS, wscale, sack, nop or eol"));
        };
        self.next += 1;
        match word.as_str() {
            "nop" | "eol" => {}
            "mss" => list.mss = Some(self.field("mss")?),
            "wscale" => list.window_scale = Some(self.field("wscale")?),
            "sackOK" => list.sack_permitted = true,
            "TS" => {
                let wanted = "`val` and `ecr`, as in `TS val 100 ecr 0`";
                let problem = self.unexpected(wanted);
                if !self.accept_word("val") {
                    return Err(problem);
                }
                let value = self.field("val")?;
                let problem = self.unexpected(wanted);
                if !self.accept_word("ecr") {
                    return Err(problem);
                }
                list.timestamp = Some((value, self.field("ecr")?));
            }
            "sack" => list.sack = self.sack_blocks()?,
            _ => {
                let reason = match word.as_str() {
                    "FO" | "FOEXP" => "fast open is not supported",
                    "md5" => "signatures are not supported",
                    "ECN" | "e0b" | "e1b" | "ceb" => "AccECN's option is not supported",
                    _ => "no such option is known",
                };
                let message = format!(
                    "{}: {reason}; known are mss, sackOK, TS, wscale, sack, nop and eol",
                    excerpt(&word)
                );
                return Err(Problem::new(at, message));
            }
        }
        Ok(())
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, Problem> {
        let at = self.at();
        let mut blocks = Vec::new();
        while matches!(self.peek(), Some(Kind::Integer(_))) {
            let left = self.field("the left edge of a SACK block")?;
            self.expect(':', "`:` and the right edge of the SACK block")?;
            blocks.push((left, self.field("the right edge of a SACK block")?));
        }
        match blocks.len() {
            0 => Err(self.unexpected("SACK blocks, as in `sack 1001:2001 3001:4001`")),
            1..=MAX_SACK_BLOCKS => Ok(blocks),
            n => {
                let message = format!("{n} SACK blocks; at most {MAX_SACK_BLOCKS} fit a segment");
                Err(Problem::new(at, message))
            }
        }
    }
}

fn set_flag(bits: &mut Bits, flag: char, at: Position, word: &str) -> Result<(), Problem> {
    match flag {
        'S' => bits.syn = true,
        'F' => bits.fin = true,
        'P' => bits.psh = true,
        'E' => bits.ece = true,
        'W' => bits.cwr = true,
        'A' => bits.ae = true,
        _ => {
            let reason = match flag {
                'R' => "R: the endpoint knows no reset; end the script before it".to_owned(),
                'U' => "U: urgent data is not supported; leave it out".to_owned(),
                '0'..='7' => format!(
                    "{flag}: a count of marks is written by its flags, A for 4, W for 2 and E for 1"
                ),
                _ => format!("{}: known flags are . S F P E W A", excerpt(word)),
            };
            return Err(Problem::new(at, reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse;
    use crate::script::Action;

    fn segment(text: &str) -> Result<Segment, Problem> {
        match parse(&format!("0 {text}"))?.events.remove(0).action {
            Action::Inbound(segment) | Action::Outbound(segment) => Ok(segment),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_part() {
        let found = segment(
            "< [ce] PEWA. 1:1001(1000) ack 7 win 257 <nop,nop,TS val 3 ecr 4,sack 5:6 7:8>",
        )
        .expect("a segment");
        let flags =
            Bits { psh: true, ece: true, cwr: true, ae: true, ack: true, ..Bits::default() };
        assert_eq!(found.flags, flags);
        assert_eq!(found.ip_ecn, Some(IpEcn::Marked));
        assert_eq!(
            (found.seq, found.payload, found.ack, found.window),
            (1, 1000, Some(7), Some(257))
        );
        let options = OptionList {
            timestamp: Some((3, 4)),
            sack: vec![(5, 6), (7, 8)],
            ..OptionList::default()
        };
        assert_eq!(found.options, Options::These(options));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let found = segment("< . 4294967000:704(1000) ack 1").expect("a segment");
        assert_eq!((found.seq, found.payload), (4_294_967_000, 1000));
    }

    #[test]
    fn what_is_not_supported_is_named() {
        for (text, column, part) in [
            ("< R. 1:1(0) ack 1", 5, "no reset"),
            ("< P5. 1:1(0) ack 1", 5, "A for 4"),
            ("< S 0:10(10)", 5, "fast open"),
            ("< . 1:1(0) ack 1 <FO 1234>", 21, "fast open"),
            ("< . 1:11(0) ack 1", 7, "1:11 is 10 bytes"),
            ("< . 1:1(0) win 1", 14, "expected `ack`"),
            ("< . 1:1(0) ack 1 win 70000", 24, "win 70000 does not fit"),
            ("< icmp unreachable", 5, "icmp is not supported"),
            ("< 5555 > 80 . 1:1(0) ack 1", 5, "a port is not supported"),
            ("< (flowlabel 0x1) . 1:1(0) ack 1", 6, "flowlabel"),
            ("< . 1:1(0) ack 1 <sack 1:2 3:4 5:6 7:8 9:10>", 26, "5 SACK blocks"),
            ("< . 1:1(0) ack 1 <...>", 5, "<...> is for"),
        ] {
            let problem = segment(text).expect_err(text);
            assert_eq!(problem.at.column, column, "{text}: {}", problem.message);
            assert!(problem.message.contains(part), "{text}: {}", problem.message);
        }
    }
}
