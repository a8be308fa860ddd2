//! The messages exchanged before authentication.

use serde::{Deserialize, Serialize};

/// How a plain connection begins, in both directions: no TLS record begins with an `f`.
pub(crate) const PREAMBLE: [u8; 8] = *b"fairway2";
/// How long a nonce is: as BLAKE3's keys, so that none ever comes twice.
pub(crate) const NONCE_BYTES: usize = 32;
/// The record of a TLS handshake (RFC 8446, section 5.1).
pub(crate) const TLS_HANDSHAKE: u8 = 22;
/// Most bytes of the two messages of the greeting.
pub(crate) const GREETING_BYTES: usize = 64;

/// Behind the preamble: what the server has to say to a client that has not proved itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Answer {
    Nonce = b'n',
    Welcome = b'w',
    WrongToken = b't',
    /// It speaks TLS only.
    Encrypted = b'e',
    /// It does not speak TLS.
    Plain = b'p',
    OtherVersion = b'v',
}

impl Answer {
    pub(crate) fn letter(self) -> u8 {
        self as u8
    }

    pub(crate) fn of(letter: u8) -> Option<Answer> {
        use Answer::{Encrypted, Nonce, OtherVersion, Plain, Welcome, WrongToken};
        let all = [Nonce, Welcome, WrongToken, Encrypted, Plain, OtherVersion];
        all.into_iter().find(|answer| answer.letter() == letter)
    }

    /// As it is sent where there is no TLS.
    pub(crate) fn plainly(self) -> Vec<u8> {
        let mut bytes = PREAMBLE.to_vec();
        bytes.push(self.letter());
        bytes
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// The one connection on which a session of files is managed.
    Control,
    Data {
        session: u64,
        stream: u32,
    },
    /// The one connection on which a session of generated traffic is managed.
    Load,
    LoadData {
        session: u64,
        stream: u32,
    },
}

impl Purpose {
    pub(crate) fn is_generated_traffic(self) -> bool {
        matches!(self, Purpose::LoadData { .. })
    }
}

/// The first message of a client: its tag proves that it knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) purpose: Purpose,
}

/// The first message of a server, which proves the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Welcome {
    Come,
}
