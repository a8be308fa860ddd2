//! A directory to receive into that other users may write to as well.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::unistd::geteuid;

use super::destination::Destination;
use super::partial::Id;
use super::tests::{Ground, content, entry, put};
use super::*;

/// `nobody`, as whom the attacks are made.
const OTHER: u32 = 65534;

/// Runs a script in a directory as another user, whether it succeeded; none if this user may not.
fn as_other(directory: &Path, script: &str) -> Option<bool> {
    if !geteuid().is_root() {
        println!("skipped: only root can act as another user");
        return None;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).current_dir(directory).uid(OTHER).gid(OTHER);
    Some(shell.output().unwrap().status.success())
}

fn shared(mode: u32) -> Ground {
    let ground = Ground::new();
    std::fs::create_dir(ground.path()).unwrap();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    allow(ground.path().parent().unwrap(), 0o755);
    allow(&ground.path(), mode);
    ground
}

fn partial_name(data: &[u8]) -> String {
    let id = Id::of(&Name::new("a").unwrap(), Some(data.len() as u64));
    format!("{PARTIAL_DIRECTORY}/{}", id.data())
}

#[test]
fn a_partial_directory_that_others_may_write_to_is_refused() {
    let ground = shared(0o1777);
    let partial = ground.path().join(PARTIAL_DIRECTORY);
    std::fs::create_dir(&partial).unwrap();
    std::fs::set_permissions(&partial, PermissionsExt::from_mode(0o770)).unwrap();
    let said = Store::open(&ground.path(), Options::default()).unwrap_err().to_string();
    assert!(said.contains("other users may write") && said.contains("remove it"), "{said}");
}

#[test]
fn a_partial_directory_of_another_user_is_refused() {
    let (ground, data) = (shared(0o1777), content(100, 1));
    let store = ground.store();
    let incoming = store.delivery().begin(entry("a", data.len())).unwrap();
    let made = format!("rm -rf {PARTIAL_DIRECTORY}; mkdir -m 755 {PARTIAL_DIRECTORY}");
    std::fs::remove_dir(ground.path().join(PARTIAL_DIRECTORY)).unwrap();
    let Some(made) = as_other(&ground.path(), &made) else { return };
    assert!(made);
    let said = put(&incoming, &data, 0).unwrap_err().to_string();
    assert!(said.contains("belongs to user 65534") && said.contains("remove it"), "{said}");
    assert!(Store::open(&ground.path(), Options::default()).is_err());
}

#[test]
fn an_incomplete_file_of_another_user_is_refused() {
    let (ground, data) = (shared(0o1777), content(100, 1));
    let store = ground.store();
    let path = ground.path().join(partial_name(&data));
    std::fs::write(&path, &data).unwrap();
    let incoming = store.delivery().begin(entry("a", data.len())).unwrap();
    if !geteuid().is_root() {
        println!("skipped: only root can give a file to another user");
        return;
    }
    chown(&path, Some(OTHER), None).unwrap();
    let said = put(&incoming, &data, 0).unwrap_err().to_string();
    assert!(said.contains("belongs to user 65534"), "{said}");
    assert!(incoming.held(|_, _| Ok(())).is_err());
}

/// Whether what another user does between the last block and the name has worked; and what came of
/// the transfer.
fn attacked(ground: &Ground, script: &str) -> Option<(bool, Result<(), Error>)> {
    let data = content(2 * (1 << 20), 1);
    let delivery = ground.store().delivery();
    let incoming = delivery.begin(entry("a", data.len())).unwrap();
    (0..2).for_each(|index| put(&incoming, &data, index).unwrap());
    let evil = format!("partial={PARTIAL_DIRECTORY}; file={}; {script}", partial_name(&data));
    let worked = as_other(&ground.path(), &evil)?;
    Some((worked, incoming.finish().and_then(|_| delivery.settle())))
}

#[test]
fn nobody_puts_another_file_in_the_place_of_one_that_is_complete() {
    let ground = shared(0o1777);
    for script in ["echo evil > evil && mv evil $file", "mv $partial away", "ln -s /etc $partial"] {
        let Some((worked, received)) = attacked(&ground, script) else { return };
        assert!(!worked, "{script}");
        received.unwrap();
        assert_eq!(std::fs::read(ground.path().join("a")).unwrap(), content(2 << 20, 1));
        std::fs::remove_file(ground.path().join("a")).unwrap();
    }
    // Without the sticky bit the whole directory can be replaced.
    let ground = shared(0o777);
    let script = "mv $partial away && mkdir $partial && head -c 2097152 /dev/zero > $file";
    let Some((worked, received)) = attacked(&ground, script) else { return };
    assert!(worked);
    let said = received.unwrap_err().to_string();
    assert!(said.contains("belongs to user 65534"), "{said}");
    assert!(!ground.path().join("a").exists());
}

#[test]
fn a_name_that_is_another_files_is_told() {
    let ground = shared(0o700);
    let place = Destination::open(&ground.path()).unwrap();
    let partial = place.partial_directory().unwrap();
    let at = |name: &str| ground.path().join(PARTIAL_DIRECTORY).join(name);
    for name in ["mine", "other"] {
        std::fs::write(at(name), name).unwrap();
    }
    let mine = std::fs::File::open(at("mine")).unwrap().into();
    let name = Name::new("a").unwrap();
    let said = place.rename(&partial, "other", &mine, &name, false).unwrap_err().to_string();
    assert!(said.contains("put something else there"), "{said}");
}
