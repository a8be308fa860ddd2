//! The sockets of flows.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;

use socket2::{Domain, Protocol, SockAddr, Type};

use super::plan::{Group, Sockets, Transport};
use crate::Error;
use crate::rt::Socket;
use crate::socket::{Wishes, wish};

/// Buffer of a socket that receives datagrams: some thousand of them, for the time in which its
/// thread does something else. The kernel gives what `net.core.rmem_max` allows.
const DATAGRAM_BUFFER_BYTES: usize = 4 << 20;

/// What a group wishes of a socket at the end that sends, or at the one that receives.
pub fn wishes(sockets: &Sockets, is_source: bool, from: Option<IpAddr>) -> Wishes {
    let buffer = |bytes: Option<u32>| bytes.map(|bytes| bytes as usize);
    let common = Wishes { mss_bytes: sockets.mss_bytes, from, ..Wishes::default() };
    match is_source {
        true => Wishes {
            cc: sockets.cc.clone(),
            pacing_bps: sockets.pacing_bps,
            send_buffer_bytes: buffer(sockets.send_buffer_bytes),
            ..common
        },
        false => Wishes { receive_buffer_bytes: buffer(sockets.receive_buffer_bytes), ..common },
    }
}

/// Makes a socket ready to carry a flow of the group.
pub fn prepare(socket: &Socket, group: &Group, is_source: bool) -> Result<(), Error> {
    let failed = |error: io::Error| Error::failed("preparing a socket", error);
    socket.set_nonblocking(true).map_err(failed)?;
    match group.transport {
        Transport::Tcp => {
            // No TCP_USER_TIMEOUT: with it the kernel ends connections at once whose segments a
            // full queue of this host refuses. A path that is gone ends the control channel.
            socket.set_tcp_nodelay(is_source && group.sockets.no_delay).map_err(failed)
        }
        Transport::Udp => {
            if !is_source && group.sockets.receive_buffer_bytes.is_none() {
                socket.set_recv_buffer_size(DATAGRAM_BUFFER_BYTES).map_err(failed)?;
            }
            fairway_socket::stamp_arrivals(socket.as_fd()).map_err(failed)
        }
    }
}

/// A socket of datagrams at `at` that others of this user may share, for those of one peer if there
/// is one.
pub fn datagrams(at: SocketAddr, peer: Option<SocketAddr>) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    if at.port() != 0 {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&SockAddr::from(at))?;
    if let Some(peer) = peer {
        socket.connect(&SockAddr::from(peer))?;
    }
    Ok(socket)
}

pub fn towards(
    peer: SocketAddr,
    group: &Group,
    is_source: bool,
    from: Option<IpAddr>,
) -> Result<Arc<Socket>, Error> {
    let any: IpAddr = match peer {
        SocketAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    let at = SocketAddr::new(from.unwrap_or(any), 0);
    let socket = datagrams(at, Some(peer)).map_err(|error| {
        Error::Input(format!("a socket of datagrams from {at} to {peer}: {error}"))
    })?;
    wish(&socket, &wishes(&group.sockets, is_source, None))?;
    Ok(Arc::new(socket))
}
