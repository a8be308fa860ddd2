//! The server's side of the greeting, as a state machine fed with bytes.

use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};

use super::hello::{
    Answer, GREETING_BYTES, Hello, NONCE_BYTES, PREAMBLE, Purpose, TLS_HANDSHAKE, Welcome,
};
use super::token::SECRET_BYTES;
use super::{Identity, Security};
use crate::Error;
use crate::rt::Instant;
use crate::secret::Secret;
use crate::socket::Connection;
use crate::wire::{
    Channel, FrameError, HEADER_BYTES, Inbox, Keys, Link, Opener, Parts, Received, Sealer, Tls,
    decode,
};

/// Most bytes that a client may send before it has proved itself; a whole greeting has 500.
pub(crate) const MOST_BYTES: usize = 8 << 10;
/// The header of a TLS record (RFC 8446, section 5.1): type, version, length.
const RECORD_HEADER_BYTES: usize = 5;

/// Lets the client at the other end of `connection` prove that it knows the identity's token, and
/// proves the same to it.
pub fn admit(
    connection: Connection,
    identity: &Identity,
    security: Security,
    timeout: Duration,
) -> Result<(Channel, Purpose), Error> {
    let link = Link::new(connection)?;
    let deadline = Instant::now() + timeout;
    let mut admission = Admission::new(identity, security);
    let mut bytes = [0; MOST_BYTES];
    loop {
        link.wait_until(deadline)?;
        let count = link.receive(&mut bytes)?;
        let mut answer = Vec::new();
        let step = match count {
            0 => Step::Refused("it closed the connection before greeting"),
            count => admission.take(&bytes[..count], &mut answer),
        };
        let sent = link.send(&answer, false);
        match step {
            Step::More => sent?,
            Step::Admitted(admitted) => {
                sent?;
                return admitted.over(link);
            }
            Step::Refused(why) => {
                return Err(Error::Refused(format!("refused {}: {why}", link.peer())));
            }
        }
    }
}

/// What is known of a client that has not proved itself.
pub(crate) struct Admission {
    tls: Arc<ServerConfig>,
    secret: Secret<SECRET_BYTES>,
    security: Security,
    stage: Stage,
    sent_bytes: usize,
    plaintext: Inbox,
    ciphertext: Inbox,
}

/// What it has to do next.
enum Stage {
    Start,
    /// End the handshake of TLS.
    Handshake(Box<Tls>),
    Hello(Option<Box<Tls>>, Box<Keys>),
    /// Nothing: it is over.
    Over,
}

/// What came of some bytes.
pub(crate) enum Step {
    More,
    Admitted(Box<Admitted>),
    Refused(&'static str),
}

/// A client that has proved itself.
pub(crate) struct Admitted {
    purpose: Purpose,
    tls: Option<Tls>,
    sealer: Sealer,
    opener: Opener,
    plaintext: Inbox,
    ciphertext: Inbox,
}

impl Admitted {
    #[cfg(any(test, fuzzing))]
    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub(crate) fn over(self, link: Link) -> Result<(Channel, Purpose), Error> {
        let Admitted { purpose, tls, sealer, opener, plaintext, ciphertext } = self;
        let parts = Parts { link, tls, sealer, opener, plaintext, ciphertext };
        Ok((Channel::new(parts)?, purpose))
    }
}

impl Admission {
    pub(crate) fn new(identity: &Identity, security: Security) -> Self {
        Admission {
            tls: identity.tls(),
            secret: identity.token().secret.clone(),
            security,
            stage: Stage::Start,
            sent_bytes: 0,
            plaintext: Inbox::default(),
            ciphertext: Inbox::default(),
        }
    }

    /// Takes what the client has sent, and appends what is to be sent to it.
    pub(crate) fn take(&mut self, bytes: &[u8], answer: &mut Vec<u8>) -> Step {
        self.sent_bytes += bytes.len();
        if self.sent_bytes > MOST_BYTES {
            return self.refuse("it sends data without authenticating");
        }
        self.ciphertext.reserve(bytes.len()).copy_from_slice(bytes);
        self.ciphertext.filled(bytes.len());
        loop {
            match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Start => match self.start(answer) {
                    Ok(Some(stage)) => self.stage = stage,
                    Ok(None) => {
                        self.stage = Stage::Start;
                        return Step::More;
                    }
                    Err(why) => return self.refuse(why),
                },
                Stage::Handshake(tls) => match self.handshake(tls, answer) {
                    Ok(stage) => {
                        let over = matches!(stage, Stage::Hello(..));
                        self.stage = stage;
                        if !over {
                            return Step::More;
                        }
                    }
                    Err(why) => return self.refuse(why),
                },
                Stage::Hello(tls, keys) => return self.hello(tls, keys, answer),
                Stage::Over => return self.refuse("it was refused before"),
            }
        }
    }

    fn start(&mut self, answer: &mut Vec<u8>) -> Result<Option<Stage>, &'static str> {
        let data = self.ciphertext.data();
        if data.first() == Some(&TLS_HANDSHAKE) {
            if self.security == Security::Plain {
                answer.extend_from_slice(&Answer::Plain.plainly());
                return Err("it encrypts, and this receiver runs with --plain");
            }
            return self.start_tls();
        }
        let version = PREAMBLE.len() - 1;
        let known = data.len().min(version);
        if data[..known] != PREAMBLE[..known] {
            return Err("it does not speak this protocol");
        }
        if data.len() <= version {
            return Ok(None);
        }
        if data[version] != PREAMBLE[version] {
            answer.extend_from_slice(&Answer::OtherVersion.plainly());
            return Err("it speaks another version of this protocol");
        }
        if self.security == Security::Encrypted {
            answer.extend_from_slice(&Answer::Encrypted.plainly());
            return Err("it runs with --plain, and this receiver encrypts");
        }
        if data.len() < PREAMBLE.len() + NONCE_BYTES {
            return Ok(None);
        }
        let mut binding = [0; 2 * NONCE_BYTES];
        getrandom::fill(&mut binding[NONCE_BYTES..]).map_err(|_| "no random numbers are left")?;
        binding[..NONCE_BYTES].copy_from_slice(&data[PREAMBLE.len()..][..NONCE_BYTES]);
        answer.extend_from_slice(&Answer::Nonce.plainly());
        answer.extend_from_slice(&binding[NONCE_BYTES..]);
        self.ciphertext.consume(PREAMBLE.len() + NONCE_BYTES);
        Ok(Some(Stage::Hello(None, Box::new(Keys::derive(&*self.secret, &binding)))))
    }

    /// TLS is begun when its first record is there: who drips costs no more than what has dripped.
    fn start_tls(&mut self) -> Result<Option<Stage>, &'static str> {
        let Some(header) = self.ciphertext.data().first_chunk::<RECORD_HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
        if RECORD_HEADER_BYTES + length > MOST_BYTES {
            return Err("it does not speak this protocol");
        }
        if self.ciphertext.len() < RECORD_HEADER_BYTES + length {
            return Ok(None);
        }
        let tls = ServerConnection::new(self.tls.clone()).map_err(|_| "TLS cannot be begun")?;
        Ok(Some(Stage::Handshake(Box::new(Tls::server(tls)))))
    }

    fn handshake(&mut self, mut tls: Box<Tls>, out: &mut Vec<u8>) -> Result<Stage, &'static str> {
        let taken = tls.take(&mut self.ciphertext);
        // What TLS has to say about a failure is sent all the same.
        tls.give(out).map_err(|_| "TLS has failed")?;
        taken.map_err(|error| match error {
            rustls::Error::AlertReceived(rustls::AlertDescription::AccessDenied) => {
                "it has the token of another receiver"
            }
            rustls::Error::NoApplicationProtocol => "it speaks another version of this protocol",
            _ => "it does not agree on TLS",
        })?;
        if tls.is_handshaking() {
            return Ok(Stage::Handshake(tls));
        }
        let binding = tls.binding().map_err(|_| "TLS has failed")?;
        Ok(Stage::Hello(Some(tls), Box::new(Keys::derive(&*self.secret, &*binding))))
    }

    fn hello(&mut self, mut tls: Option<Box<Tls>>, keys: Box<Keys>, answer: &mut Vec<u8>) -> Step {
        match self.decrypt(tls.as_deref_mut()) {
            Ok(()) => {}
            Err(why) => return self.refuse(why),
        }
        let Some((header, behind)) = self.plaintext.data().split_first_chunk() else {
            self.stage = Stage::Hello(tls, keys);
            return Step::More;
        };
        let mut opener = Opener::new(keys.client.clone());
        let (rest, hello) = match opener.rest(header, GREETING_BYTES) {
            Ok(rest) => {
                let Some(frame) = behind.get(..rest) else {
                    self.stage = Stage::Hello(tls, keys);
                    return Step::More;
                };
                (rest, opener.verify(frame).and_then(decode::<Hello>))
            }
            Err(FrameError::TooLong(_)) => return self.refuse("it does not speak this protocol"),
            Err(error) => (0, Err(error)),
        };
        let mut sealer = Sealer::new(keys.server);
        let mut plain = Vec::new();
        let has_to_encrypt = self.security == Security::PlainLoad && tls.is_none();
        let why = match &hello {
            Ok(hello) if has_to_encrypt && !hello.purpose.is_generated_traffic() => {
                plain.push(Answer::Encrypted.letter());
                Some("it runs with --plain, and this receiver encrypts")
            }
            Ok(_) => {
                plain.push(Answer::Welcome.letter());
                sealer.seal(&Welcome::Come, &mut plain).err().map(|_| "no answer can be made")
            }
            Err(FrameError::Forged) => {
                plain.push(Answer::WrongToken.letter());
                Some("it has a wrong token")
            }
            Err(_) => {
                plain.push(Answer::OtherVersion.letter());
                Some("it speaks another version of this protocol")
            }
        };
        match &mut tls {
            None => answer.extend_from_slice(&plain),
            Some(tls) => {
                if tls.encrypt(&plain, answer).is_err() {
                    return self.refuse("TLS has failed");
                }
            }
        }
        match (hello, why) {
            (Ok(Hello { purpose }), None) => {
                self.plaintext.consume(HEADER_BYTES + rest);
                Step::Admitted(Box::new(Admitted {
                    purpose,
                    tls: tls.map(|tls| *tls),
                    sealer,
                    opener,
                    plaintext: std::mem::take(&mut self.plaintext),
                    ciphertext: std::mem::take(&mut self.ciphertext),
                }))
            }
            (_, why) => self.refuse(why.unwrap_or("it does not speak this protocol")),
        }
    }

    /// Moves what has come to where messages are read from.
    fn decrypt(&mut self, tls: Option<&mut Tls>) -> Result<(), &'static str> {
        let Some(tls) = tls else {
            // Without TLS what comes is plain.
            let data = self.ciphertext.data();
            self.plaintext.reserve(data.len()).copy_from_slice(data);
            self.plaintext.filled(data.len());
            self.ciphertext.consume(self.ciphertext.len());
            return Ok(());
        };
        loop {
            match tls.receive(&mut self.ciphertext, self.plaintext.reserve(MOST_BYTES)) {
                Ok(Received::Plaintext(count)) => self.plaintext.filled(count),
                Ok(Received::Nothing) => return Ok(()),
                Ok(Received::Closed) => return Err("it has closed the connection"),
                Err(_) => return Err("it does not agree on TLS"),
            }
        }
    }

    fn refuse(&mut self, why: &'static str) -> Step {
        self.stage = Stage::Over;
        (self.plaintext, self.ciphertext) = Default::default();
        Step::Refused(why)
    }
}
