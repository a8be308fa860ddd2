//! One message in a stream: length, payload, tag.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Most bytes of a message: lists are sent in pages, so that nobody has to hold more than this for
/// a peer that has only claimed a length.
pub const MAX_MESSAGE_BYTES: usize = 256 << 10;
/// Length of a message, little-endian.
pub(crate) const LENGTH_BYTES: usize = 4;
/// A forger guesses 128 bits.
pub(crate) const TAG_BYTES: usize = 16;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error(
        "a message of {0} bytes was announced and {MAX_MESSAGE_BYTES} are the most: the data were \
         changed on the way, or the other side is not this program"
    )]
    TooLong(u32),
    #[error("a message was changed on the way, or the other side does not know the token")]
    Forged,
    #[error("a message cannot be read: the other side may be another version of this program")]
    Malformed,
}

/// What protects the two directions of one connection.
pub(crate) struct Keys {
    pub(crate) client: [u8; blake3::KEY_LEN],
    pub(crate) server: [u8; blake3::KEY_LEN],
}

impl Keys {
    /// Keys that only those have who know `secret`, and that no other connection has: `binding` is
    /// what makes this one unique.
    pub(crate) fn derive(secret: &[u8], binding: &[u8]) -> Self {
        let mut material = Vec::with_capacity(secret.len() + binding.len());
        material.extend_from_slice(secret);
        material.extend_from_slice(binding);
        let key = |context| blake3::derive_key(context, &material);
        Keys {
            client: key("fairway transfer 1 frames from client to server"),
            server: key("fairway transfer 1 frames from server to client"),
        }
    }
}

/// Makes the frames of one direction.
pub(crate) struct Sealer {
    key: [u8; blake3::KEY_LEN],
    sequence: u64,
}

/// Checks the frames of one direction.
pub(crate) struct Opener {
    key: [u8; blake3::KEY_LEN],
    sequence: u64,
}

impl Sealer {
    pub(crate) fn new(key: [u8; blake3::KEY_LEN]) -> Self {
        Sealer { key, sequence: 0 }
    }

    /// Appends the frame of a message to `out`, or nothing if it is too long.
    pub(crate) fn seal(
        &mut self,
        message: &impl Serialize,
        out: &mut Vec<u8>,
    ) -> Result<(), FrameError> {
        self.frame(out, |out| postcard::to_io(message, out).is_ok())
    }

    /// Appends a frame without a message: a sign of life.
    pub(crate) fn seal_nothing(&mut self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        self.frame(out, |_| true)
    }

    fn frame(
        &mut self,
        out: &mut Vec<u8>,
        payload: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<(), FrameError> {
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_BYTES]);
        let encoded = payload(out);
        let length = out.len() - start - LENGTH_BYTES;
        if !encoded || length > MAX_MESSAGE_BYTES {
            out.truncate(start);
            return Err(FrameError::TooLong(u32::try_from(length).unwrap_or(u32::MAX)));
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        out[start..start + LENGTH_BYTES].copy_from_slice(&length);
        let tag = tag(&self.key, self.sequence, &out[start + LENGTH_BYTES..]);
        out.extend_from_slice(&tag);
        self.sequence += 1;
        Ok(())
    }
}

impl Opener {
    pub(crate) fn new(key: [u8; blake3::KEY_LEN]) -> Self {
        Opener { key, sequence: 0 }
    }

    /// Bytes that follow a length: the payload, of at most `bound` bytes, and its tag.
    pub(crate) fn rest(length: [u8; LENGTH_BYTES], bound: usize) -> Result<usize, FrameError> {
        let length = u32::from_le_bytes(length);
        match usize::try_from(length) {
            Ok(bytes) if bytes <= bound => Ok(bytes + TAG_BYTES),
            _ => Err(FrameError::TooLong(length)),
        }
    }

    /// The payload of the next frame, from what follows its length.
    pub(crate) fn verify<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], FrameError> {
        let (payload, found) = rest.split_last_chunk::<TAG_BYTES>().ok_or(FrameError::Malformed)?;
        let expected = tag(&self.key, self.sequence, payload);
        // Looks at every byte, so that the time tells nothing of where they differ.
        let differing = expected.iter().zip(found).fold(0, |sum, (a, b)| sum | (a ^ b));
        if differing != 0 {
            return Err(FrameError::Forged);
        }
        self.sequence += 1;
        Ok(payload)
    }
}

/// The message of a payload, which has nothing behind it.
pub(crate) fn decode<M: DeserializeOwned>(payload: &[u8]) -> Result<M, FrameError> {
    match postcard::take_from_bytes(payload) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Malformed),
    }
}

fn tag(key: &[u8; blake3::KEY_LEN], sequence: u64, payload: &[u8]) -> [u8; TAG_BYTES] {
    let mut hasher = blake3::Hasher::new_keyed(key);
    // The length need not be hashed: it says where the payload ends, and the tag is behind it.
    hasher.update(&sequence.to_le_bytes()).update(payload);
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&hasher.finalize().as_bytes()[..TAG_BYTES]);
    tag
}
