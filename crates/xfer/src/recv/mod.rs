//! Receiving files: sessions, their connections, their end.
