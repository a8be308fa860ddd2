//! Adjusts the number of streams while a transfer runs.

use std::sync::Arc;
use std::time::Duration;

use super::session::Session;
use crate::auto::{Change, Settings, Watcher};

/// How often it looks: often enough for a decision within a few seconds, seldom enough that a look
/// sees several round trips of most paths.
const LOOK: Duration = Duration::from_millis(250);

/// Chooses as long as the control connection lives; `most` is what the receiver allows.
pub fn run(session: &Arc<Session>, first: u32, most: u32) {
    let cc = session.settings.options.wishes.cc.clone().or_else(own_congestion_control);
    let settings = Settings { cc: cc.unwrap_or_default(), first, most };
    let mut watcher = Watcher::new(&settings, &session.meter);
    while !session.wait_for_end_within(LOOK) {
        let answer = watcher.look(session.staying());
        if let Some(why) = answer.why {
            session.control.note(format!("streams: {why}"));
        }
        match answer.change {
            Change::Stay | Change::Settled => {}
            Change::Remove(count) => session.leave(count),
            Change::Add(count) => {
                for _ in 0..count {
                    if let Err(error) = session.add_stream() {
                        session.control.warn(error.to_string());
                        let now = session.staying();
                        let answer = watcher.chooser().bound(now);
                        session
                            .control
                            .note(format!("streams: {}", answer.why.unwrap_or_default()));
                        break;
                    }
                }
            }
        }
    }
}

/// What the kernel gives sockets that ask for nothing.
fn own_congestion_control() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    Some(name.trim().to_owned())
}
