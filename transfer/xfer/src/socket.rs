//! Sockets with the options a user asks for: addresses, congestion control, pacing, buffers.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsFd;
use std::time::Duration;

use fairway_units::Rate;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Type};

use crate::rt::Socket;
use crate::{Control, Error, Held};

/// Connections that may wait to be accepted; the kernel bounds it by `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// What is wished of a TCP socket; nothing by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wishes {
    /// Congestion control by its name in the kernel (`TCP_CONGESTION`).
    pub cc: Option<String>,
    /// Most that it sends, in bit/s (`SO_MAX_PACING_RATE`).
    pub pacing_bps: Option<u64>,
    /// `SO_SNDBUF`: turns the kernel's own tuning of it off.
    pub send_buffer_bytes: Option<usize>,
    /// `SO_RCVBUF`: turns the kernel's own tuning of it off; it bounds the receive window.
    pub receive_buffer_bytes: Option<usize>,
    /// `TCP_MAXSEG`.
    pub mss_bytes: Option<u32>,
    /// Address to connect from.
    pub from: Option<IpAddr>,
}

/// A connection that a cancelled transfer shuts down.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub socket: Socket,
    /// Keeps it known to the transfer's [`Control`].
    pub held: Held,
}

/// The addresses of `HOST[:PORT]`, `[IPv6]:PORT` or `IPv6`.
///
/// # Errors
/// [`Error::Input`] if there is none.
pub fn resolve(host: &str, default_port: u16) -> Result<Vec<SocketAddr>, Error> {
    let unknown = |why: String| Error::Input(format!("{host}: {why}; give HOST or HOST:PORT"));
    let found: io::Result<Vec<SocketAddr>> = match host.parse::<IpAddr>() {
        Ok(address) => Ok(vec![(address, default_port).into()]),
        Err(_) if host.parse::<SocketAddr>().is_ok() || host.contains(':') => {
            host.to_socket_addrs().map(Iterator::collect)
        }
        Err(_) => (host, default_port).to_socket_addrs().map(Iterator::collect),
    };
    match found {
        Ok(addresses) if addresses.is_empty() => Err(unknown("it has no address".into())),
        Ok(addresses) => Ok(addresses),
        Err(error) => Err(unknown(format!("no address found ({error})"))),
    }
}

/// Connects to the first of `addresses` that answers within `timeout`.
///
/// # Errors
/// [`Error::Input`] if a wish cannot be fulfilled, [`Error::Failed`] if none answers,
/// [`Error::Cancelled`].
pub fn connect(
    addresses: &[SocketAddr],
    wishes: &Wishes,
    timeout: Duration,
    control: &Control,
) -> Result<Connection, Error> {
    let mut failure = Error::Input("no address to connect to".into());
    for address in addresses {
        if wishes.from.is_some_and(|from| from.is_ipv4() != address.is_ipv4()) {
            continue;
        }
        let what = || format!("connecting to {address}");
        let socket = tcp(*address).map_err(|error| Error::failed(what(), error))?;
        let held = control.hold(&socket).map_err(|error| Error::failed(what(), error))?;
        wish(&socket, wishes)?;
        if let Some(from) = wishes.from {
            let bound = socket.bind(&SocketAddr::new(from, 0).into());
            bound.map_err(|error| Error::Input(format!("binding to {from}: {error}")))?;
        }
        match socket.connect_timeout(&(*address).into(), timeout) {
            Ok(()) => return Ok(Connection { socket, held }),
            Err(_) if control.is_cancelled() => return Err(Error::Cancelled),
            Err(error) => failure = Error::failed(what(), no_connection(&error)),
        }
    }
    Err(failure)
}

/// Listens at `ADDRESS[:PORT]`, or at `:PORT` of all addresses; at the default port of all if nothing is
/// given.
///
/// # Errors
/// [`Error::Input`] if that is taken or not one of this host.
pub fn listen_at(bind: Option<&str>, default_port: u16, wishes: &Wishes) -> Result<Socket, Error> {
    let Some(bind) = bind else {
        // Where there is no IPv6, those of IPv4.
        return listen(([0_u16; 8], default_port).into(), wishes)
            .or_else(|_| listen(([0_u8; 4], default_port).into(), wishes));
    };
    let bind = match bind.strip_prefix(':') {
        Some(port) if !port.contains(':') => format!("[::]:{port}"),
        _ => bind.to_owned(),
    };
    listen(resolve(&bind, default_port)?[0], wishes)
}

/// Listens at an address.
///
/// # Errors
/// [`Error::Input`] if it is taken or not one of this host.
pub fn listen(address: SocketAddr, wishes: &Wishes) -> Result<Socket, Error> {
    let failed =
        |error: io::Error| Error::Input(format!("listening at {address}: {}", no_place(&error)));
    let socket = tcp(address).map_err(failed)?;
    socket.set_reuse_address(true).map_err(failed)?;
    // What a connection inherits: the window scale is fixed before it is accepted.
    wish(&socket, wishes)?;
    socket.bind(&address.into()).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)?;
    Ok(socket)
}

/// Asks the kernel for what is wished.
///
/// # Errors
/// [`Error::Input`] if it refuses.
pub fn wish(socket: &Socket, wishes: &Wishes) -> Result<(), Error> {
    if let Some(name) = &wishes.cc {
        socket
            .set_tcp_congestion(name.as_bytes())
            .map_err(|error| no_such_control(name, &error))?;
    }
    if let Some(rate_bps) = wishes.pacing_bps {
        fairway_socket::limit_pacing(socket.as_fd(), rate_bps.div_ceil(8))
            .map_err(|error| refused("pacing", Rate::from_bps(rate_bps), &error))?;
    }
    if let Some(bytes) = wishes.send_buffer_bytes {
        socket.set_send_buffer_size(bytes).map_err(|e| refused("a send buffer", bytes, &e))?;
    }
    if let Some(bytes) = wishes.receive_buffer_bytes {
        socket.set_recv_buffer_size(bytes).map_err(|e| refused("a receive buffer", bytes, &e))?;
    }
    if let Some(bytes) = wishes.mss_bytes {
        socket.set_tcp_mss(bytes).map_err(|e| refused("a segment size", bytes, &e))?;
    }
    Ok(())
}

/// The congestion control of a sender that has not said which it uses.
pub const UNKNOWN_CC: &str = "unknown";

/// Name of a socket's congestion control; none if it does not tell.
pub fn congestion_control(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    // The kernel fills its buffer up with zeros.
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Whether an error of sending or receiving a datagram says something about the way and not about the
/// socket: a queue of this host is full, or an earlier datagram was answered by ICMP (icmp(7)).
pub fn is_of_the_way(error: &io::Error) -> bool {
    let of_the_way = [
        libc::ENOBUFS,
        libc::ECONNREFUSED,
        libc::EHOSTUNREACH,
        libc::ENETUNREACH,
        libc::EHOSTDOWN,
        libc::ENETDOWN,
    ];
    error.raw_os_error().is_some_and(|code| of_the_way.contains(&code))
}

fn tcp(address: SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
}

/// Why nothing was connected to, and what to do.
fn no_connection(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "nothing listens at this port; start the other end \
             first, and give the port that it says: HOST:PORT"
            .into(),
        io::ErrorKind::TimedOut => "no answer; is the address right, is the host up, and does a \
             firewall between let this port through?"
            .into(),
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            format!("no route to it ({error}); check the address and the network")
        }
        _ => error.to_string(),
    }
}

/// Why an address cannot be listened at, and what to do.
fn no_place(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there; end it, or give another port: --bind ADDR:PORT".into()
        }
        io::ErrorKind::AddrNotAvailable => {
            "it is not an address of this host; `ip addr` shows which are".into()
        }
        io::ErrorKind::PermissionDenied => {
            "this user may not; give a port from 1024 on: --bind ADDR:PORT".into()
        }
        _ => error.to_string(),
    }
}

fn refused(what: &str, value: impl std::fmt::Display, error: &io::Error) -> Error {
    Error::Input(format!("the kernel refuses {what} of {value}: {error}"))
}

fn no_such_control(name: &str, error: &io::Error) -> Error {
    let available = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = std::fs::read_to_string(available).unwrap_or_default();
    let known = known.split_whitespace().collect::<Vec<_>>().join(", ");
    Error::Input(match error.raw_os_error() {
        // setsockopt(TCP_CONGESTION) of tcp(7): not among the allowed ones.
        Some(libc::EPERM) => format!(
            "congestion control {name}: this user may not choose it; root adds it to \
             net.ipv4.tcp_allowed_congestion_control"
        ),
        _ => format!(
            "congestion control {name}: this kernel has {known}; root may load another with \
             `modprobe tcp_{name}`"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports() {
        let only = |host: &str| resolve(host, 5100).unwrap()[0].to_string();
        assert_eq!(only("127.0.0.1"), "127.0.0.1:5100");
        assert_eq!(only("127.0.0.1:80"), "127.0.0.1:80");
        assert_eq!(only("::1"), "[::1]:5100");
        assert_eq!(only("[::1]:80"), "[::1]:80");
        assert!(only("localhost").ends_with(":5100") && only("localhost:9").ends_with(":9"));
        assert!(matches!(resolve("localhost:", 1), Err(Error::Input(_))));
    }

    #[test]
    fn wishes_are_fulfilled_or_refused_in_words() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), &Wishes::default()).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let open =
            |wishes: &Wishes| connect(&[address], wishes, Duration::from_secs(5), &Control::new());
        let wishes = Wishes { cc: Some("reno".into()), ..Wishes::default() };
        let connection = open(&wishes).unwrap();
        assert_eq!(congestion_control(&connection.socket).as_deref(), Some("reno"));
        let wishes = Wishes { cc: Some("no-such".into()), ..Wishes::default() };
        let Err(Error::Input(said)) = open(&wishes) else { panic!("it was fulfilled") };
        assert!(said.contains("this kernel has") && said.contains("reno"), "{said}");
        assert!(!said.contains("  "), "{said}");
    }

    #[test]
    fn what_is_in_the_way_is_said_with_what_to_do() {
        let taken = listen("127.0.0.1:0".parse().unwrap(), &Wishes::default()).unwrap();
        let address = taken.local_addr().unwrap().as_socket().unwrap();
        let Err(Error::Input(said)) = listen(address, &Wishes::default()) else { panic!("twice") };
        assert!(said.contains(&format!("{address}: another program listens there")), "{said}");
        // An address for documentation (RFC 5737), of no host.
        let strange = listen("192.0.2.77:0".parse().unwrap(), &Wishes::default());
        assert!(strange.is_err_and(|error| error.to_string().contains("of this host")));
        drop(taken);
        let second = Duration::from_secs(5);
        let Err(error) = connect(&[address], &Wishes::default(), second, &Control::new()) else {
            panic!("nobody listens")
        };
        assert!(error.to_string().contains("nothing listens at this port"), "{error}");
    }
}
