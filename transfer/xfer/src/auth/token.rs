//! The token that admits a sender.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;
use zeroize::Zeroizing;

use crate::Error;
use crate::secret::Secret;

/// The first byte of a token.
const VERSION: u8 = 1;
/// A certificate with the fingerprint of another is as hard to find as a key of so many bits.
pub(crate) const FINGERPRINT_BYTES: usize = 16;
/// Nobody guesses 128 bits.
pub(crate) const SECRET_BYTES: usize = 16;
/// A wrong letter is missed once in 65536 times, and then refused by the receiver.
const CHECKSUM_BYTES: usize = 2;
const BYTES: usize = 1 + FINGERPRINT_BYTES + SECRET_BYTES + CHECKSUM_BYTES;

/// Names one receiver, by the fingerprint of its certificate, and opens it, by a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    pub(crate) fingerprint: [u8; FINGERPRINT_BYTES],
    pub(crate) secret: Secret<SECRET_BYTES>,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Zeroizing::new(Vec::with_capacity(BYTES));
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.fingerprint);
        bytes.extend_from_slice(&*self.secret);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum);
        let mut written = Zeroizing::new(BASE32_NOPAD.encode(&bytes));
        written.make_ascii_lowercase();
        f.write_str(&written)
    }
}

/// Says nothing: a token must not get into a log by chance.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl FromStr for Token {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let wrong = |why: &str| {
            Error::Input(format!("the token {why}; copy the line that `fairway recv` has printed"))
        };
        let length = (8 * BYTES).div_ceil(5);
        if text.is_ascii() && text.len() != length {
            return Err(wrong(&format!("has {} characters and not {length}", text.len())));
        }
        let upper = Zeroizing::new(text.to_ascii_uppercase());
        let bytes = BASE32_NOPAD.decode(upper.as_bytes()).map(Zeroizing::new).map_err(|_| {
            wrong("has a character that no token has: they are made of a to z and 2 to 7")
        })?;
        let (body, sum) = bytes.split_last_chunk().ok_or_else(|| wrong("is empty"))?;
        if *sum != checksum(body) {
            return Err(wrong("is mistyped: its checksum is wrong"));
        }
        let Some((&VERSION, body)) = body.split_first() else {
            return Err(Error::Input(
                "the token is of another version of Fairway: use the same at both ends".into(),
            ));
        };
        let mut token = Token { fingerprint: [0; FINGERPRINT_BYTES], secret: Secret::default() };
        token.fingerprint.copy_from_slice(&body[..FINGERPRINT_BYTES]);
        token.secret.copy_from_slice(&body[FINGERPRINT_BYTES..]);
        Ok(token)
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = *blake3::hash(bytes).as_bytes();
    [digest[0], digest[1]]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> Token {
        let mut secret = Secret::default();
        secret.fill(200);
        Token { fingerprint: [7; FINGERPRINT_BYTES], secret }
    }

    #[test]
    fn a_token_is_a_word_that_is_read_again() {
        let written = token().to_string();
        assert_eq!(written.len(), 56);
        assert!(written.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'2'..=b'7')));
        assert_eq!(written.parse::<Token>().unwrap(), token());
        assert_eq!(format!(" {}\n", written.to_uppercase()).parse::<Token>().unwrap(), token());
        assert_eq!(format!("{:?}", token()), "Token");
    }

    #[test]
    fn what_is_no_token_is_told_why() {
        let told = |text: &str| text.parse::<Token>().unwrap_err().to_string();
        let written = token().to_string();
        assert!(told("").contains("has 0 characters and not 56"));
        assert!(told(&written[1..]).contains("55"));
        assert!(told(&format!("1{}", &written[1..])).contains("a to z"));
        assert!(told(&"ä".repeat(28)).contains("a to z"));
        let mut bytes = vec![2; BYTES - CHECKSUM_BYTES];
        bytes.extend_from_slice(&checksum(&bytes));
        assert!(told(&BASE32_NOPAD.encode(&bytes)).contains("another version"));
    }

    #[test]
    fn one_wrong_letter_is_noticed_in_this_token() {
        let written = token().to_string();
        for at in 0..written.len() {
            let other = if &written[at..=at] == "a" { "b" } else { "a" };
            let mistyped = format!("{}{other}{}", &written[..at], &written[at + 1..]);
            let told = mistyped.parse::<Token>().unwrap_err().to_string();
            assert!(told.contains("mistyped"), "{told}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = text.parse::<Token>();
        }
    }
}
