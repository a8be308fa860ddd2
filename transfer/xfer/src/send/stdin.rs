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
    let mut input = std::fs::File::from(input);
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
        let mut block = vec![0; block_bytes];
        let count = match fill(&mut input, &mut block) {
            Ok(count) => count,
            Err(error) => {
                return session.end(End::Fatal(Error::failed("reading standard input", error)));
            }
        };
        block.truncate(count);
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

fn fill(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < buffer.len() {
        match input.read(&mut buffer[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}
