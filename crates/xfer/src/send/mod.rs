//! Sending files: the source, its blocks, the connections that carry them.
