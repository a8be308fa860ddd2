//! Counters of queue disciplines, asked of the kernel by rtnetlink (rtnetlink(7), `RTM_GETQDISC`).

use std::io::{self, Read};

use socket2::{Domain, Protocol, Socket, Type};

const RTM_GETQDISC: u16 = 38;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
/// `TC_H_ROOT`.
const ROOT: u32 = 0xffff_ffff;
/// Attributes of `linux/rtnetlink.h` and `linux/gen_stats.h`.
const TCA_STATS2: u16 = 7;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
/// `struct nlmsghdr` and `struct tcmsg`.
const HEADER: usize = 16;
const MESSAGE: usize = 20;

/// What the root queue discipline of a device has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes passed on, as its size table counts them.
    pub bytes: u64,
    pub packets: u64,
    pub backlog_packets: u32,
    pub backlog_bytes: u32,
    pub drops: u32,
}

/// Asks for the counters of one namespace.
pub struct Asker {
    socket: Socket,
    answer: Vec<u8>,
}

impl Asker {
    pub fn open() -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(libc::NETLINK_ROUTE)))?;
        Ok(Asker { socket, answer: vec![0; 64 << 10] })
    }

    /// Calls `each` with every device of the namespace and the counters of its root.
    pub fn ask(&mut self, mut each: impl FnMut(i32, &Counters)) -> io::Result<()> {
        let mut request = Vec::with_capacity(HEADER + MESSAGE);
        request.extend(((HEADER + MESSAGE) as u32).to_ne_bytes());
        request.extend(RTM_GETQDISC.to_ne_bytes());
        request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
        request.extend([0; 8 + MESSAGE]);
        self.socket.send(&request)?;
        loop {
            let length = (&self.socket).read(&mut self.answer)?;
            if !read_answer(&self.answer[..length], &mut each)? {
                return Ok(());
            }
        }
    }
}

/// Reads one datagram of messages; whether more follow.
fn read_answer(mut bytes: &[u8], each: &mut impl FnMut(i32, &Counters)) -> io::Result<bool> {
    while let Some(header) = bytes.get(..HEADER) {
        let length = u32_at(header, 0) as usize;
        let kind = u16_at(header, 4);
        let Some(message) = bytes.get(HEADER..length) else { break };
        match kind {
            NLMSG_DONE => return Ok(false),
            NLMSG_ERROR => return Err(io::Error::other("the kernel refused to list its queues")),
            _ => {
                if message.len() >= MESSAGE && u32_at(message, 12) == ROOT {
                    each(u32_at(message, 4) as i32, &read_counters(&message[MESSAGE..]));
                }
            }
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(true)
}

fn read_counters(attributes: &[u8]) -> Counters {
    let mut counters = Counters::default();
    for_each_attribute(attributes, |kind, value| {
        if kind == TCA_STATS2 {
            read_statistics(value, &mut counters);
        }
    });
    counters
}

fn read_statistics(attributes: &[u8], counters: &mut Counters) {
    for_each_attribute(attributes, |kind, value| match kind {
        // struct gnet_stats_basic: bytes u64, packets u32.
        TCA_STATS_BASIC if value.len() >= 12 => {
            counters.bytes = u64::from(u32_at(value, 0)) | u64::from(u32_at(value, 4)) << 32;
            counters.packets = u64::from(u32_at(value, 8));
        }
        // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits, each u32.
        TCA_STATS_QUEUE if value.len() >= 12 => {
            counters.backlog_packets = u32_at(value, 0);
            counters.backlog_bytes = u32_at(value, 4);
            counters.drops = u32_at(value, 8);
        }
        _ => {}
    });
}

/// Attributes: length and kind, 16 bits each, then the value, padded to four bytes.
fn for_each_attribute(mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
    const NESTED: u16 = 0x8000;
    while bytes.len() >= 4 {
        let length = usize::from(u16_at(bytes, 0));
        let Some(value) = bytes.get(4..length) else { return };
        each(u16_at(bytes, 2) & !NESTED, value);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend([0; 10]);
        bytes.extend(body);
        bytes
    }

    /// A netem of device 7 at the root with 3 packets sent, 2 in it and 1 dropped.
    fn answer() -> Vec<u8> {
        let mut body = vec![0; MESSAGE];
        body[4..8].copy_from_slice(&7u32.to_ne_bytes());
        body[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        body.extend(attribute(1, b"netem\0"));
        let basic = [4542u32, 0, 3, 0].map(u32::to_ne_bytes).concat();
        let queue = [2u32, 3028, 1, 0, 0].map(u32::to_ne_bytes).concat();
        let statistics =
            [attribute(TCA_STATS_BASIC, &basic), attribute(TCA_STATS_QUEUE, &queue)].concat();
        body.extend(attribute(TCA_STATS2, &statistics));
        message(36, &body)
    }

    #[test]
    fn reads_the_counters_of_a_device() {
        let expected =
            Counters { bytes: 4542, packets: 3, backlog_packets: 2, backlog_bytes: 3028, drops: 1 };
        let mut found = Vec::new();
        let mut each = |device: i32, counters: &Counters| found.push((device, *counters));
        assert!(read_answer(&answer(), &mut each).unwrap());
        assert!(!read_answer(&message(NLMSG_DONE, &[0; 4]), &mut each).unwrap());
        assert!(read_answer(&message(NLMSG_ERROR, &[0; 20]), &mut each).is_err());
        assert_eq!(found, [(7, expected)]);
    }

    #[test]
    fn a_cut_answer_is_no_panic() {
        let answer = answer();
        for length in 0..answer.len() {
            let _ = read_answer(&answer[..length], &mut |_, _| {});
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_their_end(bytes in vec(any::<u8>(), 0..512)) {
            let mut found = 0;
            let _ = read_answer(&bytes, &mut |_, _| found += 1);
            prop_assert!(found <= bytes.len() / (HEADER + MESSAGE));
            read_counters(&bytes);
            read_statistics(&bytes, &mut Counters::default());
        }

        #[test]
        fn a_changed_answer_is_no_panic(at in 0..answer().len(), to in any::<[u8; 4]>()) {
            let mut bytes = answer();
            let end = bytes.len().min(at + to.len());
            bytes[at..end].copy_from_slice(&to[..end - at]);
            let _ = read_answer(&bytes, &mut |_, _| {});
        }
    }
}
