//! Authentication: tokens, proof of knowing one, and TLS pinned by it.
//!
//! # What is proved, and how
//!
//! A receiver's [`Identity`] is a self-signed certificate with its key and a secret of 128 random
//! bits; its [`Token`] is the certificate's fingerprint (BLAKE3, cut to 128 bits: another
//! certificate with the same one cannot be found) and the secret. Whoever has the token may send,
//! and nobody else: it goes from the receiver's user to the sender's by a way that they trust.
//!
//! Encrypted, which is what happens unless it is turned off:
//!
//! 1. TLS 1.3 and nothing older, from the first byte; nothing is resumed or sent early. The client
//!    takes the certificate for the receiver's if its fingerprint is the token's, and the handshake's
//!    signature proves that the other end has the key to it. No name and no authority is asked.
//! 2. Both ends derive two keys, one a direction, from the secret and from what only the two ends of
//!    this TLS connection know (its exporter, RFC 8446 section 7.5). The client's [`Purpose`] comes
//!    in a frame under the first, the server's welcome in one under the second (see
//!    [`wire`](crate::wire)). The tag of such a frame can only be made by who knows the secret, and
//!    holds for this connection alone, so it is the proof; the secret itself is never sent.
//!
//! Nobody on the way learns or changes anything but lengths and times, and what was recorded stays
//! secret when token and key become known later.
//!
//! Plain, for benchmarks on a network that is trusted: client and server each send 256 random bits,
//! which take the place of the exporter, and then the same two frames. So each still proves that it
//! knows the secret, for this connection only; nothing of it can be replayed, sent back or carried
//! to another one; and messages cannot be changed, nor payload, whose hash is in a message. But
//! everybody on the way reads everything, may cut the connection, and may invent the words by which a
//! receiver refuses a client, which are not protected. That is why a client that is told to give
//! `--plain` stops and leaves it to its user.
//!
//! Guessing: 2^128 secrets, one guess per connection. A client that fails is told that its token is
//! wrong, or which mode the receiver runs in; it could find out both by trying.
//!
//! # What a stranger can use up
//!
//! A place in a pool of the [`Acceptor`], until its deadline or eviction; about 8 KB of memory, and
//! what TLS needs once a whole first message is there; the time of one TLS handshake. No thread, and
//! no file beyond those places.
//!
//! # Secrets in memory
//!
//! The secret and the keys that are derived from it are zeroed when their owner is dropped, and debug
//! output does not show them. The keys within TLS and the certificate's are rustls's and ring's.
//!
//! # The bytes
//!
//! ```text
//! plain      client  "fairway2" nonce[32]
//!            server  "fairway2" 'n' nonce[32]          or "fairway2" and why not
//!                    binding = client's nonce, server's nonce
//! encrypted          TLS 1.3, ALPN "fairway-transfer/2"; all that follows is within it
//!                    binding = exporter("EXPERIMENTAL fairway transfer 1", no context, 32 bytes)
//! both               keys = BLAKE3 derive_key("fairway transfer 1 frames from ...", secret binding)
//!            client  frame(Hello { purpose })
//!            server  'w' frame(Welcome)                or 't': the token is wrong
//! ```
//!
//! A receiver of the other kind answers `"fairway2" 'e'` ("I encrypt") or `'p'` ("I do not"); `'v'`
//! is another version. No record of TLS begins with an `f`, so that either is recognised by its
//! first byte.

mod accept;
#[cfg(test)]
mod accept_tests;
pub(crate) mod admission;
#[cfg(test)]
mod fuzz_tests;
mod greet;
pub(crate) mod hello;
mod identity;
mod pending;
#[cfg(test)]
pub(crate) mod tests;
mod token;

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

pub use accept::Acceptor;
pub use admission::admit;
pub use greet::greet;
pub use hello::Purpose;
pub use identity::Identity;
pub use token::Token;

/// The protocol by its name in TLS (RFC 7301), with its version.
const ALPN: &[u8] = b"fairway-transfer/2";

/// How connections are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    /// TLS 1.3.
    Encrypted,
    /// TLS 1.3, but for connections that carry generated traffic: what those carry says nothing, and
    /// who opens one proves itself as without TLS.
    PlainLoad,
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
