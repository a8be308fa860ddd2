//! Peers that know the token and lie: at one end of a simulated network is the product, at the other a
//! liar driven by a seed, who says anything at any time.
//!
//! *Liveness*: nobody is held longer than its patience, from the last thing that could be new.
//! *Safety*: a sender believes no receiver that has not had all of it, and a receiver gives no name to
//! content that nobody has named.

mod receiver;
mod sender;

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use fairway_units::random::Stream;

use super::crash::ground;
use crate::Error;
use crate::auth::Security;
use crate::wire::messages::{Run, ToSender};

/// Liars of `cargo test`, in each direction; `make crashes` takes `FAIRWAY_LIARS` of them.
const LIARS: u64 = 250;
/// Files and blocks that liars name.
const FILES: u32 = 5;
const BLOCKS: u32 = 18;

/// Words of a liar that could be new to its peer, and the time of the last.
#[derive(Debug, Default)]
pub(super) struct Progress {
    said: BTreeSet<(u8, u32, u32)>,
    pub(super) latest: Duration,
}

impl Progress {
    pub(super) fn say(&mut self, now: Duration, kind: u8, file: u32, blocks: std::ops::Range<u32>) {
        for block in blocks.start..blocks.end.min(BLOCKS) {
            if file < FILES * 4 && self.said.insert((kind, file, block)) {
                self.latest = now;
            }
        }
    }

    /// Notes a message of a receiver.
    pub(super) fn of(&mut self, now: Duration, message: &ToSender) {
        match message {
            ToSender::Ready { file } => self.say(now, 0, *file, 0..1),
            ToSender::Stored { file } => self.say(now, 1, *file, 0..1),
            ToSender::Claims { file, sums } => {
                sums.iter().for_each(|(block, _)| self.say(now, 2, *file, *block..*block + 1));
            }
            ToSender::Arrived(runs) => runs.iter().for_each(|Run { file, first, count }| {
                self.say(now, 3, *file, *first..first.saturating_add(*count));
            }),
            _ => {}
        }
    }

    /// The peer is asked everything anew.
    pub(super) fn forget(&mut self) {
        self.said.clear();
    }
}

/// Writes no message: half of one, one that is longer than any, one that was changed, or noise.
///
/// Within TLS, rustls 0.23 asserts in debug builds that nothing wrong comes after its close_notify.
fn not_a_message(
    random: &mut Stream,
    to: &crate::rt::Socket,
    security: Security,
) -> Result<(), Error> {
    if cfg!(debug_assertions) && security == Security::Encrypted {
        return Ok(());
    }
    let length = [0, 1, 300, 256 << 10, u32::MAX][random.below(5) as usize];
    let mut bytes = u32::to_le_bytes(length).to_vec();
    bytes.extend((0..random.below(60)).map(|_| random.bits32() as u8));
    let written = (&*to).write(&bytes).map(drop);
    written.map_err(|error| Error::failed("lying", error))
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |given| given.parse().expect("a number"))
}

/// Runs liars one after the other; the first that was believed, or held its peer, is told.
fn each(which: &str, run: impl Fn(u64, &super::crash::Ground)) {
    let (first, count) = (number("FAIRWAY_FIRST_LIAR", 0), number("FAIRWAY_LIARS", LIARS));
    let directory = tempfile::tempdir().unwrap();
    let ground = ground(directory.path());
    for seed in first..first + count {
        let ran = catch_unwind(AssertUnwindSafe(|| run(seed, &ground)));
        assert!(
            ran.is_ok(),
            "seed {seed}; again: FAIRWAY_FIRST_LIAR={seed} FAIRWAY_LIARS=1 cargo test --release -p \
             fairway-xfer --lib {which}"
        );
    }
}
