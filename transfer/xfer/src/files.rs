//! Open files, of which every connection needs some.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::Error;

/// Open files that a process needs besides those of flows.
const OTHERS: u64 = 64;
/// Those of a flow: its socket, the meter's handle of it, and a third while it is being opened.
const PER_FLOW: u64 = 3;
/// The usual soft limit, where the system does not tell.
const USUAL: u64 = 1024;

/// Raises this process's limit of open files up to `most`, as far as its hard limit allows; returns
/// the limit that it has then.
pub fn raise_limit(most: u64) -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return USUAL };
    let wanted = hard.min(most);
    let is_raised = soft < wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_ok();
    if is_raised { wanted } else { soft }
}

/// Flows for which this process may open files.
pub fn most_flows() -> u32 {
    let flows = raise_limit(u64::MAX).saturating_sub(OTHERS) / PER_FLOW;
    u32::try_from(flows).unwrap_or(u32::MAX).max(1)
}

/// Refuses more flows than [`most_flows`].
pub fn check_flows(flows: u64) -> Result<(), Error> {
    let most = most_flows();
    if flows <= u64::from(most) {
        return Ok(());
    }
    Err(Error::Input(format!(
        "{flows} connections: this process may open files for {most}; raise the limit (ulimit -n, \
         LimitNOFILE of systemd), or ask for fewer"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_files_for_some_flows_and_not_for_all() {
        assert!(check_flows(1).is_ok());
        let Err(Error::Input(said)) = check_flows(1 << 40) else { panic!("there were files") };
        assert!(said.contains("ulimit"), "{said}");
    }
}
