//! Who may send: tokens, the proof of knowing one, and TLS pinned by it.

mod admission;
mod greet;
mod hello;
mod identity;
#[cfg(test)]
pub(crate) mod tests;
mod token;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

pub use admission::admit;
pub use greet::greet;
pub use hello::Purpose;
pub use identity::Identity;
pub use token::Token;

/// The protocol by its name in TLS (RFC 7301), with its version.
const ALPN: &[u8] = b"fairway-transfer/1";

/// How connections are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS 1.3.
    Encrypted,
    /// Both ends prove that they know the secret and protect their messages; everybody on the way
    /// can read everything.
    Plain,
}

/// The cryptography of TLS, the quickest cipher of this machine first.
fn provider() -> Arc<CryptoProvider> {
    use ring::cipher_suite::{
        TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256,
    };
    #[cfg(target_arch = "x86_64")]
    let has_aes = std::is_x86_feature_detected!("aes");
    #[cfg(target_arch = "aarch64")]
    let has_aes = std::arch::is_aarch64_feature_detected!("aes");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let has_aes = false;
    let mut cipher_suites =
        vec![TLS13_AES_128_GCM_SHA256, TLS13_AES_256_GCM_SHA384, TLS13_CHACHA20_POLY1305_SHA256];
    if !has_aes {
        cipher_suites.rotate_right(1);
    }
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}
