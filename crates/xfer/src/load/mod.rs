//! Traffic without content: a generator and a collector.
