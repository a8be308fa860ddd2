//! Laws of queues and links.

mod delay_targets;
mod port_is_link;
mod qdiscs;
