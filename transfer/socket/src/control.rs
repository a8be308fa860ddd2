//! Control messages as the kernel writes them behind a received datagram (cmsg(3)), read as bytes.

use std::mem::{offset_of, size_of};
use std::time::Duration;

use crate::u32_at;

/// A header, and between it and the next both are aligned to this (`CMSG_ALIGN` of cmsg(3)).
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();
const ALIGNMENT: usize = size_of::<usize>();
/// Room for two of them: a `struct timespec` of 16 bytes, and a `struct tpacket_auxdata` of 20.
pub(crate) const CONTROL_BYTES: usize = 2 * HEADER_BYTES + 16 + 24;

const _: () =
    assert!(size_of::<libc::timespec>() == 16 && size_of::<libc::tpacket_auxdata>() == 20);
const _: () = assert!(size_of::<usize>() == 8 && HEADER_BYTES == 16);

/// The data of the first control message of a level and a type.
pub(crate) fn message(mut control: &[u8], level: i32, kind: i32) -> Option<&[u8]> {
    while control.len() >= HEADER_BYTES {
        // With its header, without what aligns the next.
        let length = usize::try_from(u64_at(control, offset_of!(libc::cmsghdr, cmsg_len))).ok()?;
        let data = control.get(HEADER_BYTES..length)?;
        let found = [offset_of!(libc::cmsghdr, cmsg_level), offset_of!(libc::cmsghdr, cmsg_type)]
            .map(|at| u32_at(control, at).cast_signed());
        if found == [level, kind] {
            return Some(data);
        }
        control = control.get(length.checked_next_multiple_of(ALIGNMENT)?..)?;
    }
    None
}

/// The time of arrival among control messages, since 1970.
pub(crate) fn arrival(control: &[u8]) -> Option<Duration> {
    let time = message(control, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)?;
    time.get(..size_of::<libc::timespec>())?;
    let [seconds, nanos] =
        [offset_of!(libc::timespec, tv_sec), offset_of!(libc::timespec, tv_nsec)]
            .map(|at| u64_at(time, at).cast_signed());
    Some(Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?))
}

/// The number at an offset; zero beyond the end.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes
        .get(at..at + 8)
        .map_or(0, |found| u64::from_ne_bytes(found.try_into().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A control message as the kernel writes it, aligned for the next.
    fn written(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_BYTES + data.len()) as u64).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes
    }

    fn time(seconds: i64, nanos: i64) -> Vec<u8> {
        [seconds.to_ne_bytes(), nanos.to_ne_bytes()].concat()
    }

    #[test]
    fn a_message_is_found_behind_others() {
        let first = written(1, 2, &[1, 2, 3]);
        let second = written(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time(5, 7));
        let both = [first, second].concat();
        assert_eq!(message(&both, 1, 2), Some(&[1, 2, 3][..]));
        assert_eq!(message(&both, 1, 3), None);
        assert_eq!(arrival(&both), Some(Duration::new(5, 7)));
    }

    #[test]
    fn a_message_longer_than_its_buffer_is_none() {
        let whole = written(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time(5, 7));
        for length in 0..whole.len() {
            assert_eq!(arrival(&whole[..length]), None, "{length} bytes");
        }
        for length in [0, 1, 15, 33, u64::MAX - 6, u64::MAX] {
            let mut bytes = whole.clone();
            bytes[..8].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(arrival(&bytes), None, "it says {length} bytes");
        }
    }

    #[test]
    fn a_time_before_1970_or_of_too_many_nanoseconds_is_none() {
        for (seconds, nanos) in [(-1, 0), (0, -1), (0, 1 << 32)] {
            let bytes = written(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &time(seconds, nanos));
            assert_eq!(arrival(&bytes), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes in vec(prop_oneof![Just(0), any::<u8>()], 0..CONTROL_BYTES)) {
            if let Some(data) = message(&bytes, 0, 0) {
                prop_assert!(data.len() + HEADER_BYTES <= bytes.len());
            }
            let _ = arrival(&bytes);
        }
    }
}
