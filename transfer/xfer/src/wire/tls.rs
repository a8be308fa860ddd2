//! TLS over buffers in memory, without a socket.

use std::io::{self, ErrorKind, Read, Write};

use rustls::{ClientConnection, Connection, ServerConnection};
use zeroize::Zeroizing;

use super::inbox::Inbox;

/// Encrypted bytes that may gather before they go to the socket in one call: eight records.
const GATHERED_BYTES: usize = 128 << 10;
/// What only the two ends of one TLS connection know (RFC 8446, section 7.5; the label's prefix is
/// that of RFC 5705 for those without registration).
const BINDING_LABEL: &[u8] = b"EXPERIMENTAL fairway transfer 1";

pub(crate) struct Tls(Connection);

pub(crate) enum Received {
    Plaintext(usize),
    Nothing,
    Closed,
}

impl Tls {
    pub(crate) fn client(connection: ClientConnection) -> Self {
        Tls::new(connection.into())
    }

    pub(crate) fn server(connection: ServerConnection) -> Self {
        Tls::new(connection.into())
    }

    fn new(mut connection: Connection) -> Self {
        connection.set_buffer_limit(Some(GATHERED_BYTES));
        Tls(connection)
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.0.is_handshaking()
    }

    /// Secret bytes that are the same at both ends, and at those of no other connection.
    pub(crate) fn binding(&self) -> Result<Zeroizing<[u8; 32]>, rustls::Error> {
        self.0.export_keying_material(Zeroizing::new([0; 32]), BINDING_LABEL, None)
    }

    /// Plaintext of what has come, as far as it goes into `into`.
    pub(crate) fn receive(
        &mut self,
        ciphertext: &mut Inbox,
        into: &mut [u8],
    ) -> Result<Received, rustls::Error> {
        loop {
            match self.0.reader().read(into) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => return Ok(Received::Plaintext(count)),
                Err(_) if ciphertext.len() == 0 => return Ok(Received::Nothing),
                Err(_) => self.take(ciphertext)?,
            }
        }
    }

    /// Takes what has come, up to the first record of plaintext.
    pub(crate) fn take(&mut self, ciphertext: &mut Inbox) -> Result<(), rustls::Error> {
        while ciphertext.len() > 0 {
            let taken = self.0.read_tls(&mut ciphertext.data());
            let taken = taken.map_err(|error| rustls::Error::General(error.to_string()))?;
            if taken == 0 {
                // After close_notify nothing is taken any longer.
                ciphertext.consume(ciphertext.len());
                break;
            }
            ciphertext.consume(taken);
            if self.0.process_new_packets()?.plaintext_bytes_to_read() > 0 {
                break;
            }
        }
        Ok(())
    }

    /// Encrypts, and gives away what has gathered as often as no more may.
    pub(crate) fn encrypt(&mut self, mut plaintext: &[u8], to: &mut impl Write) -> io::Result<()> {
        loop {
            let count = self.0.writer().write(plaintext)?;
            plaintext = &plaintext[count..];
            self.give(to)?;
            if plaintext.is_empty() {
                return Ok(());
            }
        }
    }

    pub(crate) fn give(&mut self, to: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            if self.0.write_tls(to)? == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
        }
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.0.send_close_notify();
    }

    /// Changes the keys as [`rustls`] does by itself before one has encrypted too much.
    #[cfg(test)]
    pub(crate) fn refresh(&mut self) {
        self.0.refresh_traffic_keys().unwrap();
    }
}

/// What TLS says of bytes that cannot be right.
pub(crate) fn tls_failure(error: &rustls::Error) -> String {
    match error {
        rustls::Error::DecryptError | rustls::Error::InvalidMessage(_) => {
            "the data were changed on the way".into()
        }
        error => format!("TLS: {error}"),
    }
}
