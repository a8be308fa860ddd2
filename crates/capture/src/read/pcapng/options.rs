//! Options of a block: a code, a length, and a value padded to four bytes.

use super::super::bytes::Order;
use crate::packet::Fate;

const END_OF_OPTIONS: u16 = 0;
pub const COMMENT: u16 = 1;

/// A comment that begins with this is an annotation of Fairway's own.
const ANNOTATION: &[u8] = b"fairway: ";
/// What may follow, and what it means. More words may stand behind.
const FATES: [(&[u8], Fate); 3] =
    [(b"dropped", Fate::Dropped), (b"lost", Fate::Lost), (b"corrupted", Fate::Corrupted)];

/// The options of a block, code and value, up to the end or to one that does not fit.
pub fn each(order: Order, mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let head = rest.first_chunk::<4>()?;
        let (code, length) = (order.u16(head, 0), usize::from(order.u16(head, 2)));
        if code == END_OF_OPTIONS {
            return None;
        }
        let value = rest.get(4..4 + length)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

/// A packet's fate by its options.
#[cold]
pub fn fate(order: Order, options: &[u8]) -> Fate {
    each(order, options)
        .filter(|(code, _)| *code == COMMENT)
        .filter_map(|(_, value)| value.strip_prefix(ANNOTATION))
        .find_map(|words| {
            FATES.iter().find(|(name, _)| words.starts_with(name)).map(|(_, fate)| *fate)
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_found_among_comments() {
        let mut options = b"\x01\0\x05\0hello\0\0\0".to_vec();
        options.extend(b"\x02\0\x04\0\0\0\0\0");
        options.extend(b"\x01\0\x19\0fairway: dropped at queue\0\0\0\0\0\0\0");
        assert_eq!(fate(Order::Little, &options), Fate::Dropped);
        assert_eq!(each(Order::Little, &options).count(), 3);
    }

    #[test]
    fn an_option_that_does_not_fit_ends_them() {
        assert_eq!(each(Order::Big, b"\0\x01\0\xffabc").count(), 0);
        assert_eq!(each(Order::Big, b"\0\x01\0\x01a").count(), 1);
        assert_eq!(fate(Order::Big, b"\0\x01\0\x0dfairway: lost"), Fate::Lost);
        assert_eq!(fate(Order::Big, b"\0\x01\0\x0dfareway: lost"), Fate::Unknown);
    }
}
