//! Who may send: tokens, the proof of knowing one, and TLS pinned by it.
