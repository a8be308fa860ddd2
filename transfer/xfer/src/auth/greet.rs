//! The client's side of the greeting.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientConfig, ClientConnection, Resumption};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, SignatureScheme};

use super::hello::{Answer, GREETING_BYTES, Hello, NONCE_BYTES, PREAMBLE, Purpose, Welcome};
use super::identity::fingerprint;
use super::token::{FINGERPRINT_BYTES, Token};
use super::{ALPN, Security, provider};
use crate::Error;
use crate::rt::Instant;
use crate::socket::Connection;
use crate::wire::{
    Channel, HEADER_BYTES, Inbox, Keys, Link, Opener, Parts, Received, Sealer, Tls, decode,
    tls_failure,
};

/// What is read at once; all of the server's part of the handshake.
const READ_BYTES: usize = 4 << 10;

/// Proves to the receiver at the other end of `connection` that this side knows the token, lets it
/// prove that it is the token's, and tells it the purpose of the connection.
pub fn greet(
    connection: Connection,
    token: &Token,
    security: Security,
    purpose: &Purpose,
    timeout: Duration,
) -> Result<Channel, Error> {
    let greeting = Greeting {
        link: Link::new(connection)?,
        deadline: Instant::now() + timeout,
        plaintext: Inbox::default(),
        ciphertext: Inbox::default(),
        tls: None,
    };
    match security {
        Security::PlainLoad if purpose.is_generated_traffic() => greeting.plain(token, purpose),
        Security::Encrypted | Security::PlainLoad => greeting.encrypted(token, purpose),
        Security::Plain => greeting.plain(token, purpose),
    }
}

struct Greeting {
    link: Link,
    deadline: Instant,
    plaintext: Inbox,
    ciphertext: Inbox,
    tls: Option<Tls>,
}

impl Greeting {
    fn encrypted(mut self, token: &Token, purpose: &Purpose) -> Result<Channel, Error> {
        let mut tls = self.client(token)?;
        self.hand_over(&mut tls)?;
        // A receiver without TLS answers so; no record of TLS begins with this letter.
        self.fill_ciphertext(1)?;
        if self.ciphertext.data().first() == Some(&PREAMBLE[0]) {
            let answer = self.plain_answer()?;
            return Err(self.refusal(answer));
        }
        loop {
            let taken = tls.take(&mut self.ciphertext);
            // What TLS has to say about a failure is sent all the same.
            let handed_over = self.hand_over(&mut tls);
            taken.map_err(|error| self.tls_refusal(&error))?;
            handed_over?;
            if !tls.is_handshaking() {
                break;
            }
            self.fill_ciphertext(1)?;
        }
        let binding = tls.binding().map_err(|error| self.tls_refusal(&error))?;
        self.tls = Some(tls);
        self.prove(Keys::derive(&*token.secret, &*binding), purpose)
    }

    fn plain(mut self, token: &Token, purpose: &Purpose) -> Result<Channel, Error> {
        let mut binding = [0; 2 * NONCE_BYTES];
        let random = getrandom::fill(&mut binding[..NONCE_BYTES]);
        random.map_err(|error| Error::failed("drawing a random number", error))?;
        let mut first = PREAMBLE.to_vec();
        first.extend_from_slice(&binding[..NONCE_BYTES]);
        self.link.send(&first, false)?;
        match self.plain_answer()? {
            Answer::Nonce => {}
            other => return Err(self.refusal(other)),
        }
        self.fill_plaintext(NONCE_BYTES)?;
        self.plaintext.take(&mut binding[NONCE_BYTES..]);
        self.prove(Keys::derive(&*token.secret, &binding), purpose)
    }

    /// The messages that prove to each side that the other one knows the secret.
    fn prove(mut self, keys: Keys, purpose: &Purpose) -> Result<Channel, Error> {
        let mut sealer = Sealer::new(keys.client);
        let mut opener = Opener::new(keys.server);
        let mut hello = Vec::new();
        let sealed = sealer.seal(&Hello { purpose: *purpose }, &mut hello);
        sealed.map_err(|error| self.link.broken("sending", error))?;
        self.send(&hello)?;

        self.fill_plaintext(1)?;
        let mut letter = [0];
        self.plaintext.take(&mut letter);
        match Answer::of(letter[0]) {
            Some(Answer::Welcome) => {}
            Some(other) => return Err(self.refusal(other)),
            None => return Err(self.not_a_receiver()),
        }
        self.fill_plaintext(HEADER_BYTES)?;
        let mut header = [0; HEADER_BYTES];
        self.plaintext.take(&mut header);
        let rest = opener.rest(&header, GREETING_BYTES).map_err(|_| self.not_a_receiver())?;
        self.fill_plaintext(rest)?;
        let payload = opener.verify(&self.plaintext.data()[..rest]);
        let Welcome::Come = payload.and_then(decode).map_err(|_| self.not_a_receiver())?;
        self.plaintext.consume(rest);

        let Greeting { link, tls, plaintext, ciphertext, .. } = self;
        Channel::new(Parts { link, tls, sealer, opener, plaintext, ciphertext })
    }

    fn client(&self, token: &Token) -> Result<Tls, Error> {
        let provider = provider();
        let pinned = Pinned { fingerprint: token.fingerprint, provider: provider.clone() };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| self.tls_refusal(&error))?;
        let mut config = config
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pinned))
            .with_no_client_auth();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.resumption = Resumption::disabled();
        // The name is no name of a host, and the receiver is told none.
        config.enable_sni = false;
        ServerName::try_from("fairway")
            .map_err(|error| rustls::Error::General(error.to_string()))
            .and_then(|name| ClientConnection::new(Arc::new(config), name))
            .map(Tls::client)
            .map_err(|error| self.tls_refusal(&error))
    }

    fn hand_over(&self, tls: &mut Tls) -> Result<(), Error> {
        let mut bytes = Vec::new();
        tls.give(&mut bytes).map_err(|error| self.link.failed("sending", &error))?;
        self.link.send(&bytes, false)
    }

    fn send(&mut self, plaintext: &[u8]) -> Result<(), Error> {
        let Some(mut tls) = self.tls.take() else { return self.link.send(plaintext, false) };
        let mut bytes = Vec::new();
        let encrypted = tls.encrypt(plaintext, &mut bytes);
        encrypted.map_err(|error| self.link.failed("sending", &error))?;
        self.tls = Some(tls);
        self.link.send(&bytes, false)
    }

    fn fill_plaintext(&mut self, count: usize) -> Result<(), Error> {
        while self.plaintext.len() < count {
            let Some(mut tls) = self.tls.take() else {
                let received = self.receive(true)?;
                self.plaintext.filled(received);
                continue;
            };
            let received = tls.receive(&mut self.ciphertext, self.plaintext.reserve(READ_BYTES));
            self.tls = Some(tls);
            match received.map_err(|error| self.tls_refusal(&error))? {
                Received::Plaintext(count) => self.plaintext.filled(count),
                Received::Closed => return Err(self.closed()),
                Received::Nothing => self.fill_ciphertext(1)?,
            }
        }
        Ok(())
    }

    fn fill_ciphertext(&mut self, count: usize) -> Result<(), Error> {
        while self.ciphertext.len() < count {
            let received = self.receive(false)?;
            self.ciphertext.filled(received);
        }
        Ok(())
    }

    fn receive(&mut self, plain: bool) -> Result<usize, Error> {
        self.link.wait_until(self.deadline)?;
        let inbox = if plain { &mut self.plaintext } else { &mut self.ciphertext };
        match self.link.receive(inbox.reserve(READ_BYTES))? {
            0 => Err(self.closed()),
            count => Ok(count),
        }
    }

    /// What a server says where there is no TLS: the preamble and a letter.
    fn plain_answer(&mut self) -> Result<Answer, Error> {
        // A client of TLS has read the first byte of it already.
        std::mem::swap(&mut self.plaintext, &mut self.ciphertext);
        while self.plaintext.len() <= PREAMBLE.len() {
            // The last byte is the version.
            let known = self.plaintext.len().min(PREAMBLE.len() - 1);
            if self.plaintext.data()[..known] != PREAMBLE[..known] {
                return Err(self.not_a_receiver());
            }
            let more = self.plaintext.len() + 1;
            self.fill_plaintext(more)?;
        }
        let mut answer = [0; PREAMBLE.len() + 1];
        self.plaintext.take(&mut answer);
        if answer[..PREAMBLE.len()] != PREAMBLE {
            return Ok(Answer::OtherVersion);
        }
        Answer::of(answer[PREAMBLE.len()]).ok_or_else(|| self.not_a_receiver())
    }

    fn refusal(&self, answer: Answer) -> Error {
        let peer = self.link.peer();
        Error::Refused(match answer {
            Answer::WrongToken => format!(
                "the receiver at {peer} refuses the token: it belongs to another receiver, or to an \
                 earlier start of this one; copy the line that it has printed"
            ),
            Answer::Encrypted => format!(
                "the receiver at {peer} encrypts: leave out --plain, or start the receiver with it"
            ),
            Answer::Plain => format!(
                "the receiver at {peer} runs with --plain: give --plain, too, if everybody on the \
                 way may read the data, or start the receiver without it"
            ),
            Answer::OtherVersion => format!(
                "the receiver at {peer} speaks another version of this protocol: use the same \
                 version of Fairway at both ends"
            ),
            Answer::Nonce | Answer::Welcome => return self.not_a_receiver(),
        })
    }

    fn tls_refusal(&self, error: &rustls::Error) -> Error {
        let peer = self.link.peer();
        match error {
            rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure) => {
                Error::Refused(format!(
                    "the receiver at {peer} is not the token's: the token belongs to another \
                     receiver, or to an earlier start of this one, or somebody is between; copy the \
                     line that it has printed"
                ))
            }
            rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol)
            | rustls::Error::NoApplicationProtocol => self.refusal(Answer::OtherVersion),
            error => self.failed(tls_failure(error)),
        }
    }

    fn not_a_receiver(&self) -> Error {
        self.failed(
            "what answers there does not know the token, or is no Fairway receiver; look at the \
             port",
        )
    }

    fn closed(&self) -> Error {
        self.failed(
            "it has closed the connection without an answer: it may have too many, or may not be a \
             Fairway receiver; look at the port and try again",
        )
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        self.link.broken("greeting the receiver", why)
    }
}

/// Trusts one certificate: the one whose fingerprint is in the token.
#[derive(Debug)]
struct Pinned {
    fingerprint: [u8; FINGERPRINT_BYTES],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if fingerprint(end_entity) == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("only TLS 1.3 is spoken".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
