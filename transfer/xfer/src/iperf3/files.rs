//! File descriptors, of which every stream needs some.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::Error;

/// File descriptors that are left to everything else in the process.
const SPARE: u64 = 64;
/// File descriptors of a stream: its own, and one each for those that hold and watch it.
const OF_STREAM: u64 = 3;
/// What a process may open where it cannot find out: the usual soft limit.
const UNKNOWN: u64 = 1024;
/// Streams beyond which threads and memory give out first.
const MOST_STREAMS: u64 = 1 << 16;

/// Streams for which there are file descriptors, after the process has taken as many as it may
/// without being asked to (`ulimit -Hn`).
pub(super) fn most_streams() -> u32 {
    let files = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) => match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
            Ok(()) => hard,
            Err(_) => soft,
        },
        Err(_) => UNKNOWN,
    };
    let streams = files.saturating_sub(SPARE) / OF_STREAM;
    u32::try_from(streams.clamp(1, MOST_STREAMS)).unwrap_or(u32::MAX)
}

/// Whether there is room for that many streams.
pub(super) fn check(streams: usize) -> Result<(), Error> {
    let most = most_streams();
    if streams <= most as usize {
        return Ok(());
    }
    Err(Error::Input(format!(
        "{streams} streams: this process may open files for {most}; raise the limit with \
         `ulimit -n`, or ask for fewer"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_and_not_for_all() {
        assert!(check(1).is_ok());
        let Err(Error::Input(said)) = check(1 << 20) else { panic!("there was room") };
        assert!(said.contains("ulimit"), "{said}");
    }
}
