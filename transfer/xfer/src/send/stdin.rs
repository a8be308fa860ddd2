//! Reads standard input, a window of blocks at a time.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::session::Session;
use super::state::End;
use super::state::State;
use crate::Error;
use crate::store::Blocks;

/// Blocks that are kept until they have arrived: 48 MiB, what is under way at 2 Gbit/s and 200 ms.
const WINDOW_BLOCKS: usize = 48;

/// Reads a stream to its end, as blocks of file `file`; waits while the window is full.
pub fn read(session: &Session, file: u32, input: OwnedFd) {
    let input = std::fs::File::from(input);
    let block_bytes = usize::try_from(Blocks::of_stream().block_bytes()).unwrap_or(usize::MAX);
    let mut total = 0;
    for index in 0.. {
        if !Blocks::of_stream().has(u64::from(index)) {
            let why = "it is longer than one stream may be; send it in parts";
            return session.end(End::Fatal(Error::failed("reading standard input", why)));
        }
        if !wait_for_space(session) {
            return;
        }
        let mut block = Vec::with_capacity(block_bytes);
        if let Err(error) = (&input).take(block_bytes as u64).read_to_end(&mut block) {
            return session.end(End::Fatal(Error::failed("reading standard input", error)));
        }
        let count = block.len();
        total += count as u64;
        if count > 0 {
            session.fed(file, index, Arc::from(block));
        }
        if count < block_bytes {
            return session.drained(file, total);
        }
    }
}

/// False if it is not wanted any longer.
fn wait_for_space(session: &Session) -> bool {
    session.wait_for_space(|state: &mut State| match &state.ended {
        Some(End::Fatal(_) | End::Confirmed) => Some(false),
        // The control connection may come again.
        _ if state.is_given_up => Some(false),
        _ => (state.window.len() < WINDOW_BLOCKS).then_some(true),
    })
}
