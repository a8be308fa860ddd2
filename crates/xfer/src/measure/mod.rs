//! Watching the sockets of a transfer, and its record.
