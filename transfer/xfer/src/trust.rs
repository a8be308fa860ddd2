//! Whether a file or directory belongs to this user alone.

use nix::unistd::geteuid;

/// Write permission of group and others (chmod(2)).
const OTHERS_WRITE: u32 = 0o022;

/// Why somebody else could have made or changed something; none if only this user could.
pub fn flaw(owner: u32, mode: u32) -> Option<String> {
    is_foreign(owner)
        .or_else(|| (mode & OTHERS_WRITE != 0).then(|| "other users may write to it".into()))
}

/// Why somebody else could have made something; none if this user has made it.
pub fn is_foreign(owner: u32) -> Option<String> {
    let own = geteuid().as_raw();
    (owner != own).then(|| format!("it belongs to user {owner}, and this is user {own}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_this_user_alone_may_change_is_without_a_flaw() {
        let own = geteuid().as_raw();
        for mode in [0o700, 0o600, 0o755, 0o644] {
            assert_eq!(flaw(own, mode), None, "{mode:o}");
        }
        for mode in [0o720, 0o702, 0o1777, 0o666] {
            assert!(flaw(own, mode).unwrap().contains("may write"), "{mode:o}");
        }
        assert!(flaw(own + 1, 0o600).unwrap().contains(&format!("user {}", own + 1)));
    }
}
