//! Invariants of frames and messages, for any input.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::{Hole, Layout, Name};
use crate::wire::frame::{
    FrameError, HEADER_BYTES, Key, MAX_MESSAGE_BYTES, Opener, Sealer, decode,
};
use crate::wire::messages::{DataHead, ToReceiver, ToSender};
use crate::words::PEER_CHARACTERS;

/// Reads bytes as frames of a stranger, and as messages of a peer that knows the token.
pub fn frame(bytes: &[u8]) {
    assert!(open(bytes).is_err(), "a stranger's frame was opened");
    message::<ToSender>(bytes);
    if let Some(DataHead::Block { bytes, holes, .. }) = message(bytes) {
        layout(u64::from(bytes), holes);
    }
    if let Some(ToReceiver::Offer { entries, .. }) = message(bytes) {
        entries.into_iter().for_each(|entry| name(&entry.name));
    }
}

/// The message that bytes are under a right tag, if they are one.
pub(crate) fn message<M: Serialize + DeserializeOwned + Debug>(bytes: &[u8]) -> Option<M> {
    let frame = seal(|sealer, out| {
        sealer.frame(out, |out| {
            out.extend_from_slice(bytes);
            true
        })
    });
    assert_eq!(open(&frame), Ok(bytes));
    let message = decode::<M>(bytes).ok()?;
    let again = seal(|sealer, out| sealer.seal(&message, out));
    // What it says is escaped and cut; a character of UTF-8 takes up to four bytes.
    let most = frame.len() + 4 * (PEER_CHARACTERS + 1);
    assert!(again.len() <= most, "a message grows: {message:?}");
    let read: M = open(&again).and_then(decode).expect("a message that was sent is read");
    // As text, in which NaN is NaN.
    assert_eq!(format!("{read:?}"), format!("{message:?}"));

    let mut changed = again;
    // Any byte, the length included.
    let at = bytes.len() % changed.len();
    changed[at] ^= 1;
    assert_eq!(open(&changed), Err(FrameError::Forged));
    Some(message)
}

/// Holes that are believed are within their block, in order, and the rest of it is data.
fn layout(bytes: u64, holes: Vec<Hole>) {
    let Some(layout) = Layout::new(bytes, holes) else { return };
    let mut end = 0;
    for span in layout.spans() {
        assert!(span.at == end && span.bytes > 0, "{layout:?}");
        end += span.bytes;
    }
    assert_eq!(end, bytes, "{layout:?}");
    assert!(layout.data_bytes() <= bytes, "{layout:?}");
}

fn name(told: &[u8]) {
    let Ok(name) = Name::new(told) else { return };
    assert_eq!(name.as_bytes(), told);
    assert!(!told.contains(&0));
    for component in name.components() {
        assert!(![&b""[..], b".", b".."].contains(&component), "{name}");
    }
    assert!(!name.to_string().contains(char::is_control), "{name:?}");
}

fn seal(fill: impl FnOnce(&mut Sealer, &mut Vec<u8>) -> Result<(), FrameError>) -> Vec<u8> {
    let mut frame = Vec::new();
    fill(&mut Sealer::new(Key::default()), &mut frame).expect("it is not too long");
    frame
}

fn open(stream: &[u8]) -> Result<&[u8], FrameError> {
    let (header, behind) =
        stream.split_first_chunk::<HEADER_BYTES>().ok_or(FrameError::Malformed)?;
    let mut opener = Opener::new(Key::default());
    let rest = opener.rest(header, MAX_MESSAGE_BYTES)?;
    opener.verify(behind.get(..rest).ok_or(FrameError::Malformed)?)
}
