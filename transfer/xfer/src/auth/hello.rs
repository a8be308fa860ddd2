//! The messages exchanged before authentication.

use serde::{Deserialize, Serialize};

/// How a plain connection begins, in both directions: no TLS record begins with an `f`.
pub(crate) const PREAMBLE: [u8; 8] = *b"fairway1";
/// How long a nonce is: as BLAKE3's keys, so that none ever comes twice.
pub(crate) const NONCE_BYTES: usize = 32;
/// The record of a TLS handshake (RFC 8446, section 5.1).
pub(crate) const TLS_HANDSHAKE: u8 = 22;
/// Most bytes of the two messages of the greeting.
pub(crate) const GREETING_BYTES: usize = 64;

/// Behind the preamble: what the server has to say to a client that has not proved itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Nonce,
    Welcome,
    WrongToken,
    /// It speaks TLS only.
    Encrypted,
    /// It does not speak TLS.
    Plain,
    OtherVersion,
}

impl Answer {
    const LETTERS: [(Answer, u8); 6] = [
        (Answer::Nonce, b'n'),
        (Answer::Welcome, b'w'),
        (Answer::WrongToken, b't'),
        (Answer::Encrypted, b'e'),
        (Answer::Plain, b'p'),
        (Answer::OtherVersion, b'v'),
    ];

    pub(crate) fn letter(self) -> u8 {
        let found = Answer::LETTERS.iter().find(|(answer, _)| *answer == self);
        found.map_or(0, |(_, letter)| *letter)
    }

    pub(crate) fn of(letter: u8) -> Option<Answer> {
        let found = Answer::LETTERS.iter().find(|(_, known)| *known == letter);
        found.map(|(answer, _)| *answer)
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
