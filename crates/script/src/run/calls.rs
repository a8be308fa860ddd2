//! What the application does.

use std::collections::BTreeMap;

use fairway_tcp::State;
use fairway_units::{Duration, Time};

use super::{Machine, Stop};
use crate::position::{Problem, excerpt};
use crate::script::{Action, Argument, Call, Event, Script, When};

/// Calls that are known.
const KNOWN: [&str; 21] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "write",
    "send",
    "sendto",
    "sendmsg",
    "read",
    "recv",
    "recvfrom",
    "recvmsg",
    "close",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "ioctl",
    "fcntl",
    "accept4",
    "writev",
];

/// Flags of a sending or receiving call that make no difference here.
const HARMLESS_FLAGS: [&str; 4] = ["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_WAITALL", "NULL"];

/// A socket of the script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Socket {
    New,
    Listening,
    Connection,
}

/// What the application has.
#[derive(Default)]
pub(super) struct Application {
    sockets: BTreeMap<i64, Socket>,
    /// Bytes that it has read.
    read: u64,
    /// It wants to read no more.
    reads_no_more: bool,
}

/// A call that has not returned.
pub(super) struct Waiting {
    /// When it has to return.
    until: Time,
    /// When it is late.
    pub deadline: Time,
    call: Call,
    event: Event,
}

/// Refuses calls that are not supported, before anything happens.
pub(super) fn refuse_unknown(script: &Script) -> Result<(), Problem> {
    for event in &script.events {
        let Action::Call(call) = &event.action else { continue };
        if !KNOWN.contains(&call.name.as_str()) {
            let message = format!(
                "the call {} is not supported; supported are {}",
                excerpt(&call.name),
                KNOWN.join(", ")
            );
            return Err(Problem::new(call.at, message));
        }
        refuse_flags(call)?;
    }
    Ok(())
}

fn refuse_flags(call: &Call) -> Result<(), Problem> {
    let sends = call.name.starts_with("send") || call.name.starts_with("recv");
    for argument in call.arguments.iter().filter(|_| sends) {
        let Argument::Names(names) = argument else { continue };
        if let Some(name) = names.iter().find(|name| !HARMLESS_FLAGS.contains(&name.as_str())) {
            let message = format!("{} is not supported; leave it out", excerpt(name));
            return Err(Problem::new(call.at, message));
        }
    }
    Ok(())
}

impl Machine<'_> {
    /// The application calls; `base` is when the event before it happened.
    pub(super) fn call(&mut self, event: &Event, call: &Call, base: Time) -> Result<(), Stop> {
        self.note(event.text.clone(), Some(event.at.line));
        self.begin(event, call)?;
        let until = match call.returns {
            None => return self.complete(event, call),
            Some(When::At(at, _)) => at,
            Some(When::After(span, _)) => base + span,
            Some(When::Any) => self.now,
        };
        let deadline = until.max(self.now) + self.tolerance(until.since(base));
        self.waiting.push(Waiting { until, deadline, call: call.clone(), event: event.clone() });
        self.return_from_calls()
    }

    /// Calls that wait return as soon as they can, which has to be in time.
    pub(super) fn return_from_calls(&mut self) -> Result<(), Stop> {
        for waiting in std::mem::take(&mut self.waiting) {
            let Waiting { until, deadline, call, event } = &waiting;
            if self.now < *deadline && !self.can_return(call)? {
                self.waiting.push(waiting);
                continue;
            }
            self.complete(event, call)?;
            // Writing takes what the send buffer would make wait.
            let writes = call.name.starts_with("write") || call.name.starts_with("send");
            if self.now + self.tolerance(Duration::ZERO) < *until && !writes {
                let mut failure =
                    self.plain_failure(event, "the call returned too early".to_owned());
                failure.expected = Some(format!("at {:.6} s", until.as_secs_f64()));
                failure.found = Some(format!("at {:.6} s", self.now.as_secs_f64()));
                return Err(Stop::Failed(Box::new(failure)));
            }
        }
        Ok(())
    }

    /// Whether there is what a call waits for.
    fn can_return(&self, call: &Call) -> Result<bool, Problem> {
        Ok(match call.name.as_str() {
            "accept" | "accept4" => self.endpoint.state() == State::Established,
            "connect" => matches!(self.endpoint.state(), State::Established | State::Failed),
            "read" | "recv" | "recvfrom" | "recvmsg" => self.returns(call)? != Some(-1),
            _ => true,
        })
    }

    /// What a call does.
    fn begin(&mut self, event: &Event, call: &Call) -> Result<(), Stop> {
        match call.name.as_str() {
            "socket" => self.open_socket(call)?,
            "listen" => {
                self.refuse_second(call, self.connection.is_active())?;
                self.application.sockets.insert(self.descriptor(call)?, Socket::Listening);
            }
            "connect" => {
                self.refuse_second(call, self.endpoint.state() != State::Closed)?;
                self.application.sockets.insert(self.descriptor(call)?, Socket::Connection);
                self.endpoint.connect();
            }
            "write" | "writev" | "send" | "sendto" | "sendmsg" if call.result > 0 => {
                self.connected(call)?;
                if self.closed.is_some() {
                    let message = "the application has closed this socket and cannot write";
                    return Err(self.failure(event, message.to_owned()));
                }
                self.endpoint.write(call.result.unsigned_abs());
            }
            "close" | "shutdown" if call.result == 0 => self.close(call)?,
            _ => {}
        }
        self.transmit(event)
    }

    /// A call returns.
    fn complete(&mut self, event: &Event, call: &Call) -> Result<(), Stop> {
        match call.name.as_str() {
            "accept" | "accept4" => {
                if self.endpoint.state() != State::Established {
                    let message = "no connection is established that could be accepted";
                    return Err(self.failure(event, message.to_owned()));
                }
                self.application.sockets.insert(call.result, Socket::Connection);
            }
            "ioctl" => self.ioctl(event, call)?,
            "getsockopt" => self.getsockopt(call)?,
            _ => {}
        }
        match self.returns(call)? {
            Some(returned) if returned != call.result => {
                let mut failure =
                    self.plain_failure(event, "the call returns something else".to_owned());
                failure.expected = Some(call.result.to_string());
                failure.found = Some(format!("{} = {returned}", call.name));
                Err(Stop::Failed(Box::new(failure)))
            }
            Some(read) if call.name != "connect" => {
                let bytes = read.max(0).unsigned_abs();
                self.application.read += bytes;
                self.endpoint.read(bytes, self.now);
                self.transmit(event)
            }
            _ => Ok(()),
        }
    }

    /// What a call returns now, if that says something about the endpoint.
    fn returns(&self, call: &Call) -> Result<Option<i64>, Problem> {
        Ok(Some(match call.name.as_str() {
            "connect" => match (self.endpoint.state(), call.errno.as_deref()) {
                (State::Established, _) => 0,
                // Without a time of return, that it waits is not written.
                (State::SynSent, None) if call.returns.is_none() => 0,
                _ => -1,
            },
            "read" | "recv" | "recvfrom" | "recvmsg" => self.read(call)?,
            _ => return Ok(None),
        }))
    }

    fn open_socket(&mut self, call: &Call) -> Result<(), Problem> {
        for argument in &call.arguments {
            let Argument::Names(names) = argument else { continue };
            for name in names {
                let other = (name.starts_with("IPPROTO_") && name != "IPPROTO_TCP")
                    || matches!(name.as_str(), "SOCK_DGRAM" | "SOCK_RAW" | "SOCK_SEQPACKET");
                if other {
                    let message = format!("{} is not supported: only TCP is", excerpt(name));
                    return Err(Problem::new(call.at, message));
                }
            }
        }
        self.application.sockets.insert(call.result, Socket::New);
        Ok(())
    }

    fn refuse_second(&self, call: &Call, is_second: bool) -> Result<(), Problem> {
        if is_second {
            let message = "a second connection is not supported; write a script for each";
            return Err(Problem::new(call.at, message));
        }
        Ok(())
    }

    fn descriptor(&self, call: &Call) -> Result<i64, Problem> {
        match call.arguments.first() {
            Some(Argument::Number(number)) => Ok(*number),
            _ => {
                let message = format!("{}: expected a socket's number first", excerpt(&call.name));
                Err(Problem::new(call.at, message))
            }
        }
    }

    /// The call is one on the connection's socket.
    fn connected(&self, call: &Call) -> Result<(), Problem> {
        let socket = self.descriptor(call)?;
        if self.application.sockets.get(&socket) == Some(&Socket::Connection) {
            return Ok(());
        }
        let message =
            format!("{socket} is no connection's socket; use what accept() or connect() made one");
        Err(Problem::new(call.at, message))
    }

    fn close(&mut self, call: &Call) -> Result<(), Problem> {
        let socket = self.descriptor(call)?;
        if self.application.sockets.get(&socket) != Some(&Socket::Connection) {
            return Ok(());
        }
        if call.name == "shutdown" {
            let how = match call.arguments.get(1) {
                Some(Argument::Names(names)) => names.first().map_or("", String::as_str),
                _ => "",
            };
            self.application.reads_no_more |= matches!(how, "SHUT_RD" | "SHUT_RDWR");
            if how == "SHUT_RD" {
                return Ok(());
            }
        }
        if self.closed.is_none() {
            self.closed = Some(self.endpoint.receiver().is_finished());
            self.endpoint.close();
        }
        Ok(())
    }

    /// Bytes that the application has not read.
    fn readable(&self) -> u64 {
        if self.settings.reads_by_calls {
            return self.endpoint.receiver().unread();
        }
        self.endpoint.receiver().delivered_bytes().saturating_sub(self.application.read)
    }

    fn read(&self, call: &Call) -> Result<i64, Problem> {
        self.connected(call)?;
        let wanted = match (call.name.as_str(), call.arguments.get(2)) {
            (_, Some(Argument::Number(bytes))) => bytes.unsigned_abs(),
            // The size is in a structure that nothing looks into.
            ("recvmsg", _) => call.result.unsigned_abs(),
            _ => {
                let message = format!("expected {}(socket, ..., BYTES)", call.name);
                return Err(Problem::new(call.at, message));
            }
        };
        let available = self.readable();
        let no_more = self.endpoint.receiver().is_finished() || self.application.reads_no_more;
        if available == 0 && !no_more {
            return Ok(-1);
        }
        Ok(i64::try_from(wanted.min(available)).unwrap_or(i64::MAX))
    }

    fn ioctl(&self, event: &Event, call: &Call) -> Result<(), Stop> {
        let name = match call.arguments.get(1) {
            Some(Argument::Names(names)) => names.first().map_or("", String::as_str),
            _ => "",
        };
        let sender = self.endpoint.sender();
        let actual = match name {
            "SIOCINQ" | "FIONREAD" => self.readable(),
            "SIOCOUTQ" => sender.stream_end().saturating_sub(sender.una()),
            "SIOCOUTQNSD" => sender.stream_end().saturating_sub(sender.snd_nxt()),
            _ => {
                let message = format!(
                    "ioctl {}: supported are SIOCINQ, SIOCOUTQ and SIOCOUTQNSD",
                    excerpt(name)
                );
                return Err(Problem::new(call.at, message).into());
            }
        };
        let expected = match call.arguments.get(2) {
            Some(Argument::List(list)) => list.first(),
            other => other,
        };
        match expected {
            Some(Argument::Number(bytes)) if i128::from(*bytes) != i128::from(actual) => {
                let mut failure =
                    self.plain_failure(event, "the call tells another number of bytes".to_owned());
                failure.found = Some(format!("{name} [{actual}]"));
                Err(Stop::Failed(Box::new(failure)))
            }
            _ => Ok(()),
        }
    }

    fn getsockopt(&self, call: &Call) -> Result<(), Problem> {
        match call.arguments.get(2) {
            Some(Argument::Names(names))
                if names.first().is_some_and(|name| name == "SO_ERROR") =>
            {
                Ok(())
            }
            _ => {
                let message = "getsockopt() is supported for SO_ERROR alone; assert with %{ … }%";
                Err(Problem::new(call.at, message))
            }
        }
    }
}
