//! Makes the network: namespaces, devices, queue disciplines.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use socket2::{Domain, Socket, Type};

use crate::Error;
use crate::sys;
use fairway_guest::plan::Plan;

/// Where the run directory of the host is seen.
pub const RUN_DIRECTORY: &str = "/run/fairway";

/// Mounts what programs expect, and the run directory that the kernel's command line names.
pub fn mount_file_systems() -> Result<(), Error> {
    let attach = |kind: &str, at: &str, data: Option<&str>| {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), data)
            .map_err(|error| Error::new(format!("mounting {kind} at {at}"), error))
    };
    attach("proc", "/proc", None)?;
    attach("sysfs", "/sys", None)?;
    attach("tmpfs", "/run", None)?;
    for directory in ["/run/netns", RUN_DIRECTORY] {
        fs::create_dir(directory)
            .map_err(|error| Error::new(format!("making {directory}"), error))?;
    }
    let arguments = fs::read_to_string("/proc/cmdline")
        .map_err(|error| Error::new("reading /proc/cmdline", error))?;
    let directory = run_directory(&arguments)
        .ok_or_else(|| Error::new("reading the kernel's arguments", "there is no fairway.dir"))?;
    attach("hostfs", RUN_DIRECTORY, Some(directory))
}

/// The run directory on the host, as the kernel's arguments have it.
fn run_directory(arguments: &str) -> Option<&str> {
    arguments.split_ascii_whitespace().find_map(|argument| argument.strip_prefix("fairway.dir="))
}

/// The namespaces of a plan, in its order, and the one that the guest began in.
pub struct Namespaces {
    names: Vec<String>,
    handles: Vec<File>,
    first: File,
}

impl Namespaces {
    /// Makes them, each under its name for `ip netns`.
    fn make(plan: &Plan) -> Result<Self, Error> {
        let first = own_namespace().map_err(|error| Error::new("opening a namespace", error))?;
        let mut handles = Vec::with_capacity(plan.namespaces.len());
        for namespace in &plan.namespaces {
            let handle = make_namespace(&namespace.name).map_err(|error| {
                Error::new(format!("making namespace {}", namespace.name), error)
            })?;
            handles.push(handle);
        }
        let names = plan.namespaces.iter().map(|namespace| namespace.name.clone()).collect();
        let namespaces = Namespaces { names, handles, first };
        namespaces.leave()?;
        Ok(namespaces)
    }

    /// Puts the calling thread into a namespace: its sockets and children belong there.
    pub fn enter(&self, index: usize) -> Result<(), Error> {
        let handle = self.handles.get(index).ok_or_else(|| {
            Error::new("reading the plan", format!("there is no namespace {index}"))
        })?;
        setns(handle, CloneFlags::CLONE_NEWNET)
            .map_err(|error| Error::new(format!("entering namespace {}", self.names[index]), error))
    }

    pub fn leave(&self) -> Result<(), Error> {
        setns(&self.first, CloneFlags::CLONE_NEWNET)
            .map_err(|error| Error::new("entering the first namespace", error))
    }

    pub fn name(&self, index: usize) -> &str {
        self.names.get(index).map_or("?", String::as_str)
    }
}

fn own_namespace() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

fn make_namespace(name: &str) -> io::Result<File> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    let place = PathBuf::from("/run/netns").join(name);
    File::create_new(&place)?;
    let bind = MsFlags::MS_BIND;
    mount(Some("/proc/thread-self/ns/net"), &place, None::<&str>, bind, None::<&str>)?;
    own_namespace()
}

/// Has the kernel load modules, in the order given; those that it has already are left alone.
fn load_modules(files: &[String]) -> Result<(), Error> {
    for path in files {
        let failed = |error: io::Error| Error::new(format!("loading the module {path}"), error);
        let file = File::open(path).map_err(failed)?;
        match finit_module(&file, c"", ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

pub fn make_network(plan: &Plan) -> Result<Namespaces, Error> {
    load_modules(&plan.modules)?;
    let namespaces = Namespaces::make(plan)?;
    write_sysctls(&plan.sysctls)?;
    batch("ip", &plan.links, "links")?;
    for (index, namespace) in plan.namespaces.iter().enumerate() {
        namespaces.enter(index)?;
        write_sysctls(&namespace.sysctls)?;
        batch("ip", &namespace.ip, &namespace.name)?;
        batch("tc", &namespace.tc, &namespace.name)?;
    }
    for (index, device) in &plan.devices {
        namespaces.enter(*index)?;
        let what = || format!("turning off the offloads of {}.{device}", namespaces.name(*index));
        let socket = any_socket()?;
        sys::offloads_off(socket.as_fd(), device).map_err(|error| Error::new(what(), error))?;
        if plan.capture.is_some() {
            sys::checksums_in_software(socket.as_fd(), device)
                .map_err(|error| Error::new(what(), error))?;
        }
    }
    namespaces.leave()?;
    Ok(namespaces)
}

/// A socket to ask about devices with, in the namespace of the calling thread.
pub fn any_socket() -> Result<Socket, Error> {
    Socket::new(Domain::IPV4, Type::DGRAM, None)
        .map_err(|error| Error::new("making a socket", error))
}

fn write_sysctls(sysctls: &[(String, String)]) -> Result<(), Error> {
    for (path, value) in sysctls {
        let file = Path::new("/proc/sys").join(path);
        fs::write(&file, value).map_err(|error| {
            Error::new(format!("writing \"{value}\" to {}", file.display()), error)
        })?;
    }
    Ok(())
}

/// Runs a program of iproute2 on many lines at once.
fn batch(program: &str, lines: &[String], place: &str) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let what = || format!("{program} -batch for {place}");
    let child = Command::new(program)
        .args(["-batch", "-"])
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| Error::new(what(), error))?;
    if let Some(mut input) = child.stdin.take() {
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        // A program that has stopped reading says why below.
        let _ = input.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| Error::new(what(), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(what(), format!("{}; the lines were: {}", said.trim(), lines.join(" | "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_directory_is_found_among_the_arguments() {
        let arguments = "mem=512M root=/dev/root fairway.dir=/tmp/fairway-run-a quiet\n";
        assert_eq!(run_directory(arguments), Some("/tmp/fairway-run-a"));
        assert_eq!(run_directory("mem=512M quiet\n"), None);
    }

    #[test]
    fn what_a_program_refuses_is_told_with_its_lines() {
        assert!(batch("false", &[], "nobody").is_ok(), "nothing to do");
        let lines = ["qdisc add".to_owned(), "qdisc".to_owned()];
        let error = batch("false", &lines, "r1").unwrap_err().to_string();
        assert_eq!(error, "false -batch for r1: ; the lines were: qdisc add | qdisc");
        let error = batch("fairway-no-such-program", &lines, "r1").unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_module_or_a_sysctl_that_is_not_there_is_named() {
        let error = load_modules(&["/nowhere/veth.ko".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("loading the module /nowhere/veth.ko: No such file"), "{error}");
        let sysctl = ("net/nowhere".to_owned(), "1".to_owned());
        let error = write_sysctls(&[sysctl]).unwrap_err().to_string();
        assert!(error.starts_with("writing \"1\" to /proc/sys/net/nowhere: "), "{error}");
    }
}
