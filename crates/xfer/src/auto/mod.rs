//! How many connections: from the model's threshold on, as long as more of them gain.
