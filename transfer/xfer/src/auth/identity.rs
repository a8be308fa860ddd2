//! A receiver's identity: certificate, key and secret.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use data_encoding::BASE64;
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize, Zeroizing};

use super::token::{FINGERPRINT_BYTES, SECRET_BYTES, Token};
use super::{ALPN, provider};
use crate::secret::Secret;
use crate::{Error, trust};

/// A kept identity is about 1 KB long; nothing longer is read.
const MOST_KEPT_BYTES: u64 = 16 << 10;

/// A receiver's certificate, the key to it and the secret of those whom it lets in.
pub struct Identity {
    token: Token,
    tls: Arc<ServerConfig>,
}

/// An identity as a file holds it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredIdentity {
    token: String,
    /// DER, in base64.
    certificate: String,
    /// PKCS #8, in base64.
    key: String,
}

impl Identity {
    /// A new one, which ends with the process.
    pub fn new() -> Result<Self, Error> {
        StoredIdentity::generate()?.read()
    }

    /// The identity in a file, made and written there if there is no such file: so the token stays
    /// the same when the receiver is started again.
    pub fn keep(path: &Path) -> Result<Self, Error> {
        let unusable =
            |why: String| Error::Input(format!("the token's file {}: {why}", path.display()));
        if let Some(found) = read(path).map_err(unusable)? {
            return found.read().map_err(|_| {
                unusable("it is damaged; delete it, and a new token will be made".into())
            });
        }
        let made = StoredIdentity::generate()?;
        match write(path, &made) {
            // Another receiver was faster: it is the same one now.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Identity::keep(path),
            Err(error) => Err(unusable(format!("it cannot be written: {error}"))),
            Ok(()) => made.read(),
        }
    }

    pub fn token(&self) -> &Token {
        &self.token
    }

    pub(super) fn tls(&self) -> Arc<ServerConfig> {
        self.tls.clone()
    }
}

impl Drop for StoredIdentity {
    fn drop(&mut self) {
        self.token.zeroize();
        self.key.zeroize();
    }
}

impl StoredIdentity {
    fn generate() -> Result<Self, Error> {
        let failed = |error: &dyn std::fmt::Display| Error::failed("making a token", error);
        let mut secret = Secret::<SECRET_BYTES>::default();
        getrandom::fill(&mut secret[..]).map_err(|error| failed(&error))?;
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(|error| failed(&error))?;
        let certificate = CertificateParams::new(["fairway".to_string()])
            .and_then(|params| params.self_signed(&key))
            .map_err(|error| failed(&error))?;
        let token = Token { fingerprint: fingerprint(certificate.der()), secret };
        Ok(StoredIdentity {
            token: token.to_string(),
            certificate: BASE64.encode(certificate.der()),
            key: BASE64.encode(key.serialized_der()),
        })
    }

    fn read(&self) -> Result<Identity, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::failed("reading a certificate", error);
        let bytes = |text: &str| BASE64.decode(text.as_bytes()).map_err(|error| wrong(&error));
        let token: Token = self.token.parse()?;
        let certificate = CertificateDer::from(bytes(&self.certificate)?);
        if fingerprint(&certificate) != token.fingerprint {
            return Err(wrong(&"it is not the token's"));
        }
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(bytes(&self.key)?));
        let mut tls = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(vec![certificate], key))
            .map_err(|error| wrong(&error))?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        // Every connection proves everything anew: nothing is resumed, nothing is sent early.
        tls.send_tls13_tickets = 0;
        Ok(Identity { token, tls: Arc::new(tls) })
    }
}

pub(super) fn fingerprint(certificate: &CertificateDer) -> [u8; FINGERPRINT_BYTES] {
    let mut fingerprint = [0; FINGERPRINT_BYTES];
    fingerprint.copy_from_slice(&blake3::hash(certificate).as_bytes()[..FINGERPRINT_BYTES]);
    fingerprint
}

fn read(path: &Path) -> Result<Option<StoredIdentity>, String> {
    // A pipe must not block before it is seen to be one.
    let file = match File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| format!("it cannot be read: {error}"))?,
    };
    let about = file.metadata().map_err(|error| format!("it cannot be read: {error}"))?;
    if let Some(flaw) = trust::is_foreign(about.uid()) {
        return Err(format!("{flaw}, who knows its secret; delete it, or name another file"));
    }
    if !about.is_file() {
        return Err("it is not a regular file; name another".into());
    }
    // Group and others, in the bits of chmod(2).
    if about.mode() & 0o077 != 0 {
        let shown = path.display();
        return Err(format!("others may read or change it; run `chmod 600 {shown}`, or delete it"));
    }
    // Room for all of it at once: text that grows leaves copies behind.
    let mut text = Zeroizing::new(String::with_capacity(MOST_KEPT_BYTES as usize));
    let read = file.take(MOST_KEPT_BYTES).read_to_string(&mut text);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    let stored = serde_json::from_str(&text);
    stored.map(Some).map_err(|_| "it holds no token; name another file, or delete it".into())
}

/// Writes a file that is there as a whole or not at all.
fn write(path: &Path, stored: &StoredIdentity) -> io::Result<()> {
    let text = Zeroizing::new(serde_json::to_string_pretty(stored)?);
    let mut new = path.as_os_str().to_owned();
    new.push(format!(".new-{}", std::process::id()));
    let new = PathBuf::from(new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    let written = writeln!(file, "{}", *text).and_then(|()| file.sync_all());
    // Unlike a rename, a link never takes the place of what another process has written meanwhile.
    let linked = written.and_then(|()| fs::hard_link(&new, path));
    fs::remove_file(&new)?;
    linked
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_identity_has_a_token_of_its_own() {
        let [one, other] = [Identity::new().unwrap(), Identity::new().unwrap()];
        assert_ne!(one.token().fingerprint, other.token().fingerprint);
        assert_ne!(one.token().secret, other.token().secret);
    }

    #[test]
    fn a_kept_identity_is_the_same_the_next_time_and_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let first = Identity::keep(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Identity::keep(&path).unwrap().token(), first.token());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let said = Identity::keep(&path).err().unwrap().to_string();
        assert!(said.contains("chmod 600"), "{said}");
    }

    #[test]
    fn an_identity_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        Identity::keep(&path).unwrap();
        if !nix::unistd::geteuid().is_root() {
            println!("skipped: only root can give a file to another user");
            return;
        }
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
        let said = Identity::keep(&path).err().unwrap().to_string();
        assert!(said.contains("belongs to user 65534") && said.contains("delete it"), "{said}");
    }

    #[test]
    fn a_file_that_is_no_identity_is_refused_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let refused = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            Identity::keep(&path).err().unwrap().to_string()
        };
        assert!(refused("").contains("holds no token"));
        assert!(refused(&"[".repeat(100_000)).contains("holds no token"));
        let mut stored = StoredIdentity::generate().unwrap();
        stored.certificate = StoredIdentity::generate().unwrap().certificate.clone();
        assert!(refused(&serde_json::to_string(&stored).unwrap()).contains("damaged"));
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        let said = Identity::keep(&pipe).err().unwrap().to_string();
        assert!(said.contains("not a regular file"), "{said}");
        let said = Identity::keep(Path::new("/nowhere/at/all")).err().unwrap().to_string();
        assert!(said.contains("cannot be written"), "{said}");
    }
}
