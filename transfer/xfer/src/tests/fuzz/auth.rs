//! Invariants of the greeting, for any input of a client.

use std::sync::OnceLock;

use crate::auth::admission::{Admission, MOST_BYTES, Step};
use crate::auth::hello::{Answer, GREETING_BYTES, Hello, NONCE_BYTES, PREAMBLE, Welcome};
use crate::auth::{Identity, Security};
use crate::wire::{HEADER_BYTES, Keys, Opener, Sealer, decode};

const NONCE: [u8; NONCE_BYTES] = [7; NONCE_BYTES];

/// Lets a client greet: the first byte says how the receiver runs, the second how long the pieces
/// are that the rest comes in, the third what the client knows.
pub fn admission(bytes: &[u8]) {
    static IDENTITY: OnceLock<Identity> = OnceLock::new();
    let identity = IDENTITY.get_or_init(|| Identity::new().expect("random numbers"));
    let Some(([security, piece, knows], bytes)) = bytes.split_first_chunk() else { return };
    let security =
        [Security::Encrypted, Security::PlainLoad, Security::Plain][usize::from(*security) % 3];
    let client = Client {
        admission: Admission::new(identity, security),
        piece: 1 + usize::from(*piece),
        answer: Vec::new(),
    };
    match knows % 3 {
        0 => client.stranger(bytes),
        wrong_token => client.greet(identity, security, wrong_token == 2, bytes),
    }
}

struct Client {
    admission: Admission,
    piece: usize,
    answer: Vec<u8>,
}

impl Client {
    /// Sends all in pieces; what came of the last.
    fn send(&mut self, bytes: &[u8]) -> Step {
        let mut step = Step::More;
        for piece in bytes.chunks(self.piece) {
            let over = matches!(step, Step::Refused(_));
            step = self.admission.take(piece, &mut self.answer);
            assert!(!over || matches!(step, Step::Refused(_)), "what is over goes on");
        }
        assert!(self.answer.len() < MOST_BYTES);
        step
    }

    fn stranger(mut self, bytes: &[u8]) {
        assert!(!matches!(self.send(bytes), Step::Admitted(_)), "a stranger was let in");
    }

    /// Without TLS, a client that has the token gets in if what it says is a greeting.
    fn greet(mut self, identity: &Identity, security: Security, wrong_token: bool, said: &[u8]) {
        let step = self.send(&[&PREAMBLE[..], &NONCE].concat());
        if security == Security::Encrypted {
            assert!(matches!(step, Step::Refused(_)));
            return assert_eq!(self.answer, Answer::Encrypted.plainly());
        }
        let nonce = self.answer.strip_prefix(&Answer::Nonce.plainly()[..]).expect("a nonce");
        let mut secret = identity.token().secret.clone();
        secret[0] ^= u8::from(wrong_token);
        let keys = Keys::derive(&*secret, &[&NONCE, nonce].concat());
        self.answer.clear();

        let mut frame = Vec::new();
        let sealed = Sealer::new(keys.client).frame(&mut frame, |out| {
            out.extend_from_slice(said);
            true
        });
        sealed.expect("it is not too long");
        let step = self.send(&frame);
        let hello = decode::<Hello>(said);
        let expected = match hello {
            _ if wrong_token => Some(Answer::WrongToken),
            _ if said.len() > GREETING_BYTES => None,
            Err(_) => Some(Answer::OtherVersion),
            Ok(hello)
                if security == Security::PlainLoad && !hello.purpose.is_generated_traffic() =>
            {
                Some(Answer::Encrypted)
            }
            Ok(_) => Some(Answer::Welcome),
        };
        assert_eq!(self.answer.first().copied(), expected.map(Answer::letter));
        match step {
            Step::Admitted(admitted) => {
                assert_eq!(
                    (expected, Ok(admitted.purpose())),
                    (Some(Answer::Welcome), hello.map(|it| it.purpose))
                );
                let welcome = &self.answer[1 + HEADER_BYTES..];
                let welcome = Opener::new(keys.server).verify(welcome).and_then(decode);
                assert_eq!(welcome, Ok(Welcome::Come));
            }
            Step::Refused(_) => assert_ne!(expected, Some(Answer::Welcome)),
            Step::More => panic!("a whole greeting has no answer"),
        }
    }
}
