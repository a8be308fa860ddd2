//! A frame: a header that proves its length, a message and its tag.

use serde::Serialize;
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use crate::secret::Secret;

/// Most bytes of a message: lists are sent in pages, so that nobody has to hold more than this for
/// a peer that has only claimed a length.
pub const MAX_MESSAGE_BYTES: usize = 256 << 10;
/// Length of a message, little-endian.
const LENGTH_BYTES: usize = 4;
/// Proof of the length, so that no changed one is waited for. Guessed, it costs a wait and nothing
/// more: 64 bits are enough.
const PROOF_BYTES: usize = 8;
/// Length and proof.
pub(crate) const HEADER_BYTES: usize = LENGTH_BYTES + PROOF_BYTES;
/// A forger guesses 128 bits.
const TAG_BYTES: usize = 16;
/// Separates the proof of a length from the tag of a message with the same sequence number.
const OF_A_LENGTH: u64 = 1 << 63;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error(
        "a message of {0} bytes was announced, longer than any of its kind: the other side may be \
         another version of this program"
    )]
    TooLong(u32),
    #[error("a message was changed on the way, or the other side does not know the token")]
    Forged,
    #[error("a message cannot be read: the other side may be another version of this program")]
    Malformed,
}

pub(crate) type Key = Secret<{ blake3::KEY_LEN }>;

/// What protects the two directions of one connection.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) client: Key,
    pub(crate) server: Key,
}

impl Keys {
    /// Keys that only those have who know `secret`, and that no other connection has: `binding` is
    /// what makes this one unique.
    pub(crate) fn derive(secret: &[u8], binding: &[u8]) -> Self {
        let key = |context| {
            let mut hasher = Zeroizing::new(blake3::Hasher::new_derive_key(context));
            hasher.update(secret).update(binding);
            let mut key = Key::default();
            Zeroizing::new(hasher.finalize_xof()).fill(&mut key[..]);
            key
        };
        Keys {
            client: key("fairway transfer 1 frames from client to server"),
            server: key("fairway transfer 1 frames from server to client"),
        }
    }
}

/// Makes the frames of one direction.
#[derive(Debug)]
pub(crate) struct Sealer {
    key: Key,
    sequence: u64,
}

/// Checks the frames of one direction.
#[derive(Debug)]
pub(crate) struct Opener {
    key: Key,
    sequence: u64,
}

impl Sealer {
    pub(crate) fn new(key: Key) -> Self {
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

    pub(crate) fn frame(
        &mut self,
        out: &mut Vec<u8>,
        payload: impl FnOnce(&mut Vec<u8>) -> bool,
    ) -> Result<(), FrameError> {
        let start = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        let encoded = payload(out);
        let length = out.len() - start - HEADER_BYTES;
        if !encoded || length > MAX_MESSAGE_BYTES {
            out.truncate(start);
            return Err(FrameError::TooLong(u32::try_from(length).unwrap_or(u32::MAX)));
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
        let proof = tag::<PROOF_BYTES>(&self.key, self.sequence | OF_A_LENGTH, &length);
        out[start..start + LENGTH_BYTES].copy_from_slice(&length);
        out[start + LENGTH_BYTES..start + HEADER_BYTES].copy_from_slice(&proof);
        let tag = tag::<TAG_BYTES>(&self.key, self.sequence, &out[start + HEADER_BYTES..]);
        out.extend_from_slice(&tag);
        self.sequence += 1;
        Ok(())
    }
}

impl Opener {
    pub(crate) fn new(key: Key) -> Self {
        Opener { key, sequence: 0 }
    }

    /// Bytes that follow the header of the next frame: the payload, of at most `bound` bytes, and its
    /// tag. The length counts for nothing before its proof does.
    pub(crate) fn rest(
        &self,
        header: &[u8; HEADER_BYTES],
        bound: usize,
    ) -> Result<usize, FrameError> {
        let (length, proof) = header.split_first_chunk().ok_or(FrameError::Malformed)?;
        if !is_same(&tag::<PROOF_BYTES>(&self.key, self.sequence | OF_A_LENGTH, length), proof) {
            return Err(FrameError::Forged);
        }
        let length = u32::from_le_bytes(*length);
        match usize::try_from(length) {
            Ok(bytes) if bytes <= bound => Ok(bytes + TAG_BYTES),
            _ => Err(FrameError::TooLong(length)),
        }
    }

    /// The payload of the next frame, from what follows its header.
    pub(crate) fn verify<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], FrameError> {
        let (payload, found) = rest.split_last_chunk::<TAG_BYTES>().ok_or(FrameError::Malformed)?;
        if !is_same(&tag::<TAG_BYTES>(&self.key, self.sequence, payload), found) {
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

fn tag<const BYTES: usize>(key: &Key, sequence: u64, payload: &[u8]) -> [u8; BYTES] {
    let mut hasher = Zeroizing::new(blake3::Hasher::new_keyed(key));
    hasher.update(&sequence.to_le_bytes()).update(payload);
    let mut tag = [0; BYTES];
    tag.copy_from_slice(&hasher.finalize().as_bytes()[..BYTES]);
    tag
}

/// Looks at every byte, so that the time tells nothing of where they differ.
fn is_same(expected: &[u8], found: &[u8]) -> bool {
    expected.len() == found.len()
        && expected.iter().zip(found).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    type Message = (u64, Vec<u8>, Option<String>);

    /// Something of every kind that messages are made of.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Any {
        Nothing,
        Names(Vec<Vec<u8>>),
        Digests { first: u64, values: Vec<[u8; 32]> },
        Text(Option<String>, f64, bool, i64),
    }

    const KEY: [u8; 32] = [3; 32];

    fn key() -> Key {
        let mut key = Key::default();
        key.copy_from_slice(&KEY);
        key
    }

    fn sealed(message: &impl Serialize) -> Vec<u8> {
        let mut frame = Vec::new();
        Sealer::new(key()).seal(message, &mut frame).unwrap();
        frame
    }

    /// As a channel does it, with all of a stream at hand.
    fn open<M: DeserializeOwned>(opener: &mut Opener, stream: &[u8]) -> Result<M, FrameError> {
        let (header, behind) = stream.split_first_chunk().ok_or(FrameError::Malformed)?;
        let rest = opener.rest(header, MAX_MESSAGE_BYTES)?;
        decode(opener.verify(behind.get(..rest).ok_or(FrameError::Malformed)?)?)
    }

    #[test]
    fn a_frame_is_length_proof_message_and_tag() {
        let frame = sealed(&(1_u8, "ab"));
        assert_eq!(frame[..4], [4, 0, 0, 0]);
        let mut hasher = blake3::Hasher::new_keyed(&KEY);
        hasher.update(&[0, 0, 0, 0, 0, 0, 0, 0x80, 4, 0, 0, 0]);
        assert_eq!(frame[4..12], hasher.finalize().as_bytes()[..8]);
        // One byte, the length of a text, two letters.
        assert_eq!(frame[12..16], [1, 2, b'a', b'b']);
        let mut hasher = blake3::Hasher::new_keyed(&KEY);
        hasher.update(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, b'a', b'b']);
        assert_eq!(frame[16..], hasher.finalize().as_bytes()[..16]);
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_noticed() {
        let message: Message = (7, vec![1, 2, 3], Some("name".into()));
        let frame = sealed(&message);
        assert_eq!(open::<Message>(&mut Opener::new(key()), &frame).unwrap(), message);
        for bit in 0..8 * frame.len() {
            let mut flipped = frame.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // A longer frame would wait for more: signs of life come at most four times a patience.
            let opened = open::<Message>(&mut Opener::new(key()), &flipped);
            assert_eq!(opened, Err(FrameError::Forged), "bit {bit}");
        }
        for length in 0..frame.len() {
            assert!(open::<Message>(&mut Opener::new(key()), &frame[..length]).is_err());
        }
    }

    #[test]
    fn frames_are_noticed_that_come_twice_or_too_early_or_from_elsewhere() {
        let mut sealer = Sealer::new(key());
        let [mut first, mut second] = [Vec::new(), Vec::new()];
        sealer.seal(&1_u8, &mut first).unwrap();
        sealer.seal(&1_u8, &mut second).unwrap();
        let mut opener = Opener::new(key());
        assert_eq!(open::<u8>(&mut opener, &second), Err(FrameError::Forged));
        assert_eq!(open::<u8>(&mut opener, &first), Ok(1));
        assert_eq!(open::<u8>(&mut opener, &first), Err(FrameError::Forged));
        assert_eq!(open::<u8>(&mut opener, &second), Ok(1));

        let keys = Keys::derive(b"secret", b"connection");
        let other = Keys::derive(b"secret", b"another");
        let mut frame = Vec::new();
        Sealer::new(keys.client).seal(&1_u8, &mut frame).unwrap();
        for key in [keys.server, other.client, other.server] {
            assert_eq!(open::<u8>(&mut Opener::new(key), &frame), Err(FrameError::Forged));
        }
    }

    #[test]
    fn keys_are_of_secret_and_binding_in_this_order() {
        let keys = Keys::derive(b"secret", b"binding");
        let context = "fairway transfer 1 frames from client to server";
        assert_eq!(*keys.client, blake3::derive_key(context, b"secretbinding"));
    }

    #[test]
    fn debug_output_has_no_byte_of_a_key() {
        let keys = Keys { client: key(), server: key() };
        let shown = format!("{:?} {keys:?} {:?}", Sealer::new(key()), Opener::new(key()));
        assert_eq!(shown.matches("Secret(32 bytes)").count(), 4, "{shown}");
        assert!(!shown.contains("3, 3"), "{shown}");
    }

    #[test]
    fn the_longest_message_and_one_that_is_longer() {
        let mut frame = Vec::new();
        // Two bytes and one that tell the length of these.
        let mut sealer = Sealer::new(key());
        sealer.seal(&vec![9_u8; MAX_MESSAGE_BYTES - 3], &mut frame).unwrap();
        let length = frame.len();
        assert_eq!(length, MAX_MESSAGE_BYTES + HEADER_BYTES + TAG_BYTES);
        let too_long = sealer.seal(&vec![9_u8; MAX_MESSAGE_BYTES - 2], &mut frame);
        assert_eq!(too_long, Err(FrameError::TooLong(256 * 1024 + 1)));
        assert_eq!(frame.len(), length, "nothing of it is left");
        assert!(open::<Vec<u8>>(&mut Opener::new(key()), &frame).is_ok());
    }

    proptest! {
        #[test]
        fn lengths_beyond_the_bound_are_refused(length: u32, bound in 0..300_000_usize) {
            let mut header = [0; HEADER_BYTES];
            header[..LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
            prop_assert_eq!(Opener::new(key()).rest(&header, bound), Err(FrameError::Forged));
            let proof = tag::<PROOF_BYTES>(&key(), OF_A_LENGTH, &length.to_le_bytes());
            header[LENGTH_BYTES..].copy_from_slice(&proof);
            let rest = Opener::new(key()).rest(&header, bound);
            prop_assert_eq!(rest.is_ok(), length as usize <= bound);
        }

        #[test]
        fn noise_is_refused_without_a_panic(stream in vec(any::<u8>(), 0..400)) {
            prop_assert!(open::<Any>(&mut Opener::new(key()), &stream).is_err());
            let mut short = stream.clone();
            short.splice(0..0, u32::try_from(stream.len() / 2).unwrap().to_le_bytes());
            prop_assert!(open::<Any>(&mut Opener::new(key()), &short).is_err());
        }

        /// What someone could send who knows the token.
        #[test]
        fn noise_under_a_right_tag_is_decoded_or_refused(payload in vec(any::<u8>(), 0..400)) {
            let frame = {
                let mut frame = Vec::new();
                Sealer::new(key()).frame(&mut frame, |out| {
                    out.extend_from_slice(&payload);
                    true
                }).unwrap();
                frame
            };
            if let Ok(decoded) = open::<Any>(&mut Opener::new(key()), &frame) {
                let again = open::<Any>(&mut Opener::new(key()), &sealed(&decoded)).unwrap();
                prop_assert_eq!(format!("{decoded:?}"), format!("{again:?}"));
            }
        }
    }
}
