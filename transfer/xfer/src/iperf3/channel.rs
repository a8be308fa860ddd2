//! The control connection.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde_json::Value;
use socket2::TcpKeepalive;

use super::{State, code};
use crate::rt::Socket;
use crate::{Control, Error};

/// Bytes of a cookie: 36 characters and a zero (`COOKIE_SIZE` of iperf3).
pub(super) const COOKIE_BYTES: usize = 37;
/// Characters of a cookie, as iperf3 makes it (`make_cookie`).
const COOKIE_CHARACTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// What all connections of one test begin with.
pub(super) type Cookie = [u8; COOKIE_BYTES];

/// How often someone who waits looks whether it was asked to stop.
const TICK: Duration = Duration::from_millis(100);
/// Interval of TCP keepalives, which detect a peer that is gone while only datagrams flow.
const KEEPALIVE: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// JSON is read in pieces of this size, so that a length alone allocates nothing.
const PIECE_BYTES: usize = 64 << 10;

pub(super) fn new_cookie() -> Result<Cookie, Error> {
    let mut cookie = [0; COOKIE_BYTES];
    getrandom::fill(&mut cookie)
        .map_err(|error| Error::failed("making the cookie of the test", error))?;
    for byte in &mut cookie {
        *byte = COOKIE_CHARACTERS[usize::from(*byte) % COOKIE_CHARACTERS.len()];
    }
    cookie[COOKIE_BYTES - 1] = 0;
    Ok(cookie)
}

pub(super) fn cookie_text(cookie: &Cookie) -> String {
    let text = cookie.iter().take_while(|byte| byte.is_ascii_graphic());
    text.map(|byte| char::from(*byte)).collect()
}

/// What is heard while a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Received {
    State(State),
    Nothing,
}

/// A control connection; it is not held by the [`Control`], so that there is a way to say goodbye.
#[derive(Debug)]
pub(super) struct Channel {
    socket: Socket,
    control: Control,
    /// The other side, for messages: "the iperf3 server 192.0.2.1:5201".
    pub(super) peer: String,
    /// Time that the other side has for everything that it does at once.
    patience: Duration,
}

impl Channel {
    pub(super) fn new(
        socket: Socket,
        control: &Control,
        peer: String,
        patience: Duration,
    ) -> Result<Channel, Error> {
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
        let ready = socket
            .set_nonblocking(true)
            .and_then(|()| socket.set_tcp_nodelay(true))
            .and_then(|()| socket.set_tcp_keepalive(&keepalive.with_retries(KEEPALIVE_RETRIES)));
        ready.map_err(|error| Error::failed(format!("talking to {peer}"), error))?;
        Ok(Channel { socket, control: control.clone(), peer, patience })
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    pub(super) fn send(&self, state: State) -> Result<(), Error> {
        self.write(&[state.byte()])
    }

    pub(super) fn write(&self, mut bytes: &[u8]) -> Result<(), Error> {
        let until = Instant::now() + self.patience;
        while !bytes.is_empty() {
            match (&self.socket).write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_soft(&error) => {
                    if !self.wait(PollFlags::POLLOUT, until)? {
                        return Err(self.fails("it takes no data"));
                    }
                }
                Err(error) => return Err(self.fails(error)),
            }
        }
        Ok(())
    }

    /// Sends JSON behind its length.
    pub(super) fn send_json(&self, value: &Value) -> Result<(), Error> {
        let text = value.to_string();
        let length = u32::try_from(text.len()).map_err(|_| self.fails("too much to send"))?;
        self.write(&[&length.to_be_bytes()[..], text.as_bytes()].concat())
    }

    /// Sends what went wrong; that it may not arrive does not matter any more.
    pub(super) fn send_error(&self, code: i32) {
        let errno = 0_i32;
        let mut bytes = vec![State::ServerError.byte()];
        bytes.extend(code.to_be_bytes());
        bytes.extend(errno.to_be_bytes());
        let _ = self.write(&bytes);
    }

    pub(super) fn hear(&self, until: Instant) -> Result<Received, Error> {
        let mut byte = [0];
        if !self.fill(&mut byte, until)? {
            return Ok(Received::Nothing);
        }
        match State::of(byte[0]) {
            Some(state) => Ok(Received::State(state)),
            None => {
                let number = byte[0].cast_signed();
                Err(self.fails(format!("it said {number}, which is not a state of iperf3")))
            }
        }
    }

    /// Waits for one of these states; everything else is an error.
    pub(super) fn expect(&self, expected: &[State]) -> Result<State, Error> {
        match self.hear(Instant::now() + self.patience)? {
            Received::State(state) if expected.contains(&state) => Ok(state),
            Received::State(state) => Err(self.unexpected(state, expected)),
            Received::Nothing => Err(self.silent(&names(expected))),
        }
    }

    pub(super) fn unexpected(&self, state: State, expected: &[State]) -> Error {
        let peer = &self.peer;
        match state {
            State::AccessDenied => {
                Error::Refused(format!("{peer} runs another test; try again when that is over"))
            }
            State::ServerError => self.server_error(),
            State::ServerTerminate => self.fails("it was stopped"),
            State::ClientTerminate => self.fails("the client was stopped"),
            _ if expected.is_empty() => {
                self.fails(format!("it said {} in the middle of the test", state.name()))
            }
            _ => self.fails(format!("it said {}, not {}", state.name(), names(expected))),
        }
    }

    pub(super) fn silent(&self, expected: &str) -> Error {
        let seconds = self.patience.as_secs_f64();
        self.fails(format!("it did not say {expected} in {seconds} s"))
    }

    /// Reads JSON behind its length, if that is at most so much.
    pub(super) fn receive_json(&self, most_bytes: usize) -> Result<Value, Error> {
        let until = Instant::now() + self.patience;
        let mut length = [0; 4];
        self.fill_all(&mut length, until)?;
        let length = u32::from_be_bytes(length) as usize;
        if length == 0 || length > most_bytes {
            return Err(self.fails(format!(
                "it announces JSON of {length} bytes; at most {most_bytes} are read"
            )));
        }
        let mut text = Vec::new();
        while text.len() < length {
            let old = text.len();
            text.resize(length.min(old + PIECE_BYTES), 0);
            self.fill_all(&mut text[old..], until)?;
        }
        serde_json::from_slice(&text)
            .map_err(|error| self.fails(format!("what it sent is not JSON: {error}")))
    }

    /// Reads all of `bytes`.
    pub(super) fn fill_all(&self, bytes: &mut [u8], until: Instant) -> Result<(), Error> {
        if self.fill(bytes, until)? { Ok(()) } else { Err(self.silent("the rest")) }
    }

    pub(super) fn fails(&self, why: impl std::fmt::Display) -> Error {
        Error::failed(format!("a test with {}", self.peer), why)
    }

    /// The two numbers behind `SERVER_ERROR`, in words.
    fn server_error(&self) -> Error {
        let mut numbers = [0; 8];
        if self.fill_all(&mut numbers, Instant::now() + TICK * 20).is_err() {
            return self.fails("the server reports an error, and not which");
        }
        let [code, errno] = [0, 4].map(|at| {
            i32::from_be_bytes([numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]])
        });
        let system = match errno {
            0 => String::new(),
            _ => format!("; the system there said: {}", io::Error::from_raw_os_error(errno)),
        };
        let words = code::words(code);
        Error::Refused(format!("{} refuses: {words}{system}", self.peer))
    }

    /// Reads all of `bytes`, unless the time is up before the first one has come: then it is false.
    fn fill(&self, bytes: &mut [u8], until: Instant) -> Result<bool, Error> {
        let mut filled = 0;
        while filled < bytes.len() {
            match (&self.socket).read(&mut bytes[filled..]) {
                Ok(0) => return Err(self.fails("it closed the connection")),
                Ok(read) => filled += read,
                Err(error) if is_soft(&error) => {
                    if !self.wait(PollFlags::POLLIN, until)? {
                        return if filled == 0 { Ok(false) } else { Err(self.silent("the rest")) };
                    }
                }
                Err(error) => return Err(self.fails(error)),
            }
        }
        Ok(true)
    }

    /// Waits until the socket is ready; false if the time is up.
    fn wait(&self, ready: PollFlags, until: Instant) -> Result<bool, Error> {
        loop {
            if self.control.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if wait_for(&self.socket, ready, left.min(TICK)).map_err(|e| self.fails(e))? {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
        }
    }
}

/// Waits so long until a socket is ready; returns whether it is.
pub(super) fn wait_for(socket: &impl AsFd, ready: PollFlags, time: Duration) -> io::Result<bool> {
    // Rounded up: a wait of less than a millisecond must not become a busy loop.
    let milliseconds = u16::try_from(time.as_micros().div_ceil(1000)).unwrap_or(u16::MAX);
    let mut polled = [PollFd::new(socket.as_fd(), ready)];
    match poll(&mut polled, PollTimeout::from(milliseconds)) {
        Ok(count) => Ok(count > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn is_soft(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn names(states: &[State]) -> String {
    let names: Vec<&str> = states.iter().map(|state| state.name()).collect();
    names.join(" or ")
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair(patience: Duration) -> (Channel, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let near = Channel::new(near.into(), &Control::new(), "the server".into(), patience);
        (near.unwrap(), far)
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(50);

    #[test]
    fn cookies_are_text_and_differ() {
        let [one, other] = [new_cookie().unwrap(), new_cookie().unwrap()];
        assert!(one != other && one[36] == 0);
        assert_eq!(cookie_text(&one).len(), 36);
        assert_eq!(cookie_text(&[0xff; COOKIE_BYTES]), "");
    }

    #[test]
    fn states_and_json_go_both_ways() {
        let (near, mut far) = pair(LONG);
        far.write_all(&[9]).unwrap();
        assert_eq!(near.expect(&[State::ParamExchange]).unwrap(), State::ParamExchange);
        near.send(State::IperfDone).unwrap();
        near.send_json(&serde_json::json!({"tcp": true})).unwrap();
        let mut bytes = [0; 17];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"\x10\0\0\0\x0c{\"tcp\":true}");
        far.write_all(b"\0\0\0\x02{}").unwrap();
        assert_eq!(near.receive_json(2).unwrap(), serde_json::json!({}));
    }

    #[test]
    fn every_way_to_fail_is_said() {
        let failed = |bytes: &[u8], patience| {
            let (near, mut far) = pair(patience);
            far.write_all(bytes).unwrap();
            if patience == LONG {
                drop(far);
                return near.expect(&[State::TestStart]).unwrap_err().to_string();
            }
            let said = near.expect(&[State::TestStart]).unwrap_err().to_string();
            drop(far);
            said
        };
        assert!(failed(&[], LONG).contains("closed"));
        assert!(failed(&[], SHORT).contains("did not say TEST_START"));
        assert!(failed(&[77], LONG).contains("77, which is not a state"));
        assert!(failed(&[16], LONG).contains("said IPERF_DONE, not TEST_START"));
        assert!(failed(&[255], LONG).contains("another test"));
        assert!(failed(&[11], LONG).contains("stopped"));
        assert!(failed(&[254, 0, 0, 0, 6, 0, 0, 0, 0], LONG).contains("128"));
        assert!(failed(&[254, 0, 0], LONG).contains("not which"));
        let errno = failed(&[254, 0, 0, 0, 134, 0, 0, 0, 2], LONG);
        assert!(errno.contains("congestion control") && errno.contains("No such file"), "{errno}");
    }

    #[test]
    fn json_is_bounded_and_has_to_be_json() {
        let failed = |bytes: &[u8]| {
            let (near, mut far) = pair(LONG);
            far.write_all(bytes).unwrap();
            drop(far);
            near.receive_json(1 << 20).unwrap_err().to_string()
        };
        assert!(failed(&[0xff; 4]).contains("4294967295 bytes; at most 1048576"));
        assert!(failed(&[0; 4]).contains("0 bytes"));
        assert!(failed(&[0, 0, 1, 0, b'{']).contains("closed"));
        assert!(failed(b"\0\0\0\x02[}").contains("not JSON"));
        // Nested deeper than a reader should follow.
        let mut deep = vec![0, 0, 0x10, 0];
        deep.extend(vec![b'['; 0x1000]);
        assert!(failed(&deep).contains("not JSON"));
    }

    #[test]
    fn who_waits_ends_when_it_is_stopped() {
        let (near, _far) = pair(LONG);
        near.control.cancel();
        assert_eq!(near.expect(&[State::TestStart]), Err(Error::Cancelled));
    }
}
