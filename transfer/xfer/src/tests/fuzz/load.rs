//! Invariants of the messages about generated traffic, for any input.

use super::wire::message;
use crate::load::messages::Message;

/// Connections that a collector allows.
const MOST_FLOWS: u32 = 1000;

/// Reads bytes as a message of a peer that knows the token.
pub fn said(bytes: &[u8]) {
    let Some(Message::Propose { plan, .. }) = message(bytes) else { return };
    if plan.check(MOST_FLOWS).is_err() {
        return;
    }
    let flows = plan.flows();
    assert!((1..=MOST_FLOWS as usize).contains(&flows.len()));
    for (at, group) in plan.groups.iter().enumerate().filter(|(_, group)| group.count > 0) {
        let of_group = flows.iter().filter(|flow| flow.group == at);
        assert_eq!(of_group.map(|flow| flow.bytes).sum::<Option<u64>>(), group.bytes);
    }
}
