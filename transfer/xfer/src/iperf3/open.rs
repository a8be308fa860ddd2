//! Opening the data connections of a test.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use socket2::{Domain, Protocol, Type};

use super::channel::{Cookie, is_soft, wait_for};
use super::datagram::{HELLO, answer, is_welcome};
use super::{Parameters, Transport};
use crate::rt::Socket;
use crate::socket::{self, Wishes, wish};
use crate::{Control, Error};

/// After which a client announces itself again: longer than most round trips, so that a server of
/// iperf3, which takes the second datagram for data, seldom gets one.
const HELLO_AGAIN: Duration = Duration::from_secs(3);
/// How often someone who waits looks whether it was asked to stop.
const TICK: Duration = Duration::from_millis(100);
/// Room in the socket buffers of datagrams beyond one of them (`UDP_BUFFER_EXTRA` of iperf3).
const BUFFER_EXTRA_BYTES: usize = 1024;

pub(super) fn connect_tcp(
    server: SocketAddr,
    parameters: &Parameters,
    wishes: &Wishes,
    cookie: &Cookie,
    patience: Duration,
    control: &Control,
) -> Result<Socket, Error> {
    let connection = socket::connect(&[server], wishes, patience, control)?;
    let socket = connection.socket;
    let failed = |error| Error::failed(format!("opening a stream to {server}"), error);
    adjust(&socket, parameters).map_err(failed)?;
    socket.set_write_timeout(Some(patience)).map_err(failed)?;
    io::Write::write_all(&mut &socket, cookie).map_err(failed)?;
    Ok(socket)
}

/// Opens a data "connection" to a server over UDP.
pub(super) fn connect_udp(
    server: SocketAddr,
    parameters: &Parameters,
    wishes: &Wishes,
    patience: Duration,
    control: &Control,
) -> Result<Socket, Error> {
    let failed = |error: io::Error| {
        Error::failed(format!("opening a stream of datagrams to {server}"), error)
    };
    let socket = udp(server, parameters, wishes)?;
    let local = match (wishes.from, server) {
        (Some(from), _) => SocketAddr::new(from, 0),
        (None, SocketAddr::V4(_)) => SocketAddr::from(([0; 4], 0)),
        (None, SocketAddr::V6(_)) => SocketAddr::from(([0_u16; 8], 0)),
    };
    socket.bind(&local.into()).map_err(failed)?;
    socket.connect(&server.into()).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let until = Instant::now() + patience;
    let mut again = Instant::now();
    loop {
        if control.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let now = Instant::now();
        if now >= until {
            let why = "the server did not answer; a firewall may hold back UDP";
            return Err(failed(io::Error::other(why)));
        }
        if now >= again {
            socket.send(&HELLO).map_err(failed)?;
            again = now + HELLO_AGAIN;
        }
        let time = TICK.min(until - now).min(again - now);
        if wait_for(&socket, PollFlags::POLLIN, time).map_err(failed)? {
            // Data that overtook the answer is longer and is left out.
            let mut datagram = [0; 8];
            match io::Read::read(&mut &socket, &mut datagram) {
                Ok(read) if is_welcome(&datagram[..read]) => break,
                Ok(_) => {}
                Err(error) if is_soft(&error) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
    socket.set_nonblocking(false).map_err(failed)?;
    Ok(socket)
}

/// Where a server waits for clients that announce themselves over UDP.
#[derive(Debug)]
pub(super) struct DatagramListener {
    address: SocketAddr,
    socket: UdpSocket,
}

impl DatagramListener {
    /// Opens it at the address at which the client has found the server.
    pub(super) fn open(
        address: SocketAddr,
        parameters: &Parameters,
    ) -> Result<DatagramListener, Error> {
        let failed = |error| Error::failed(format!("waiting for datagrams at {address}"), error);
        let socket = udp(address, parameters, &Wishes::default())?;
        // The next one waits at the same address while this one is connected.
        socket.set_reuse_address(true).map_err(failed)?;
        socket.bind(&address.into()).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        Ok(DatagramListener { address, socket: socket.into() })
    }

    /// Waits for a client from that host that announces itself, and lets it in; none if nobody did.
    pub(super) fn accept(
        &mut self,
        host: IpAddr,
        parameters: &Parameters,
    ) -> Result<Option<Socket>, Error> {
        let address = self.address;
        let failed = |error| Error::failed(format!("a stream of datagrams at {address}"), error);
        if !wait_for(&self.socket, PollFlags::POLLIN, TICK).map_err(failed)? {
            return Ok(None);
        }
        let Some((client, welcome)) = self.hear(host).map_err(failed)? else { return Ok(None) };
        self.socket.connect(client).map_err(failed)?;
        // Before the answer, after which the client announces the next stream.
        let next = DatagramListener::open(address, parameters)?;
        let DatagramListener { socket, .. } = std::mem::replace(self, next);
        socket.set_nonblocking(false).map_err(failed)?;
        socket.send(&welcome).map_err(failed)?;
        Ok(Some(socket.into()))
    }

    fn hear(&self, host: IpAddr) -> io::Result<Option<(SocketAddr, [u8; 4])>> {
        let mut datagram = [0; 8];
        match self.socket.recv_from(&mut datagram) {
            // Anyone can send a datagram: only the client of the test is let in.
            Ok((_, from)) if from.ip().to_canonical() != host.to_canonical() => Ok(None),
            Ok((read, from)) => Ok(answer(&datagram[..read]).map(|welcome| (from, welcome))),
            Err(error) if is_soft(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Makes an accepted data connection as the client wants it; what the kernel does not have is left
/// out, and said.
pub(super) fn adopt_tcp(socket: &Socket, parameters: &Parameters, control: &Control) {
    let mut attempts = vec![("the options", adjust(socket, parameters).map_err(text))];
    if let Some(name) = &parameters.congestion {
        let wishes = Wishes { cc: Some(name.clone()), ..Wishes::default() };
        attempts.push(("the congestion control", wish(socket, &wishes).map_err(text)));
    }
    let rest = Wishes {
        pacing_bps: parameters.pacing_bps,
        send_buffer_bytes: parameters.window_bytes.map(|bytes| bytes as usize),
        receive_buffer_bytes: parameters.window_bytes.map(|bytes| bytes as usize),
        ..Wishes::default()
    };
    attempts.push(("pacing and buffers", wish(socket, &rest).map_err(text)));
    for (what, result) in attempts {
        if let Err(why) = result {
            control.warn(format!("a client of iperf3 wants {what}: {why}"));
        }
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

fn udp(to: SocketAddr, parameters: &Parameters, wishes: &Wishes) -> Result<Socket, Error> {
    let failed = |error: io::Error| Error::failed("making a socket for datagrams", error);
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed)?;
    let wishes = Wishes {
        pacing_bps: wishes.pacing_bps.or(parameters.pacing_bps),
        send_buffer_bytes: parameters.window_bytes.map(|bytes| bytes as usize),
        receive_buffer_bytes: parameters.window_bytes.map(|bytes| bytes as usize),
        ..Wishes::default()
    };
    wish(&socket, &wishes)?;
    let least = parameters.block_bytes as usize + BUFFER_EXTRA_BYTES;
    if socket.send_buffer_size().map_err(failed)? < least {
        socket.set_send_buffer_size(least).map_err(failed)?;
    }
    if socket.recv_buffer_size().map_err(failed)? < least {
        socket.set_recv_buffer_size(least).map_err(failed)?;
    }
    adjust(&socket, parameters).map_err(failed)?;
    if parameters.dont_fragment && to.is_ipv4() {
        let always = libc::IP_PMTUDISC_DO;
        fairway_socket::set_option(socket.as_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, always)
            .map_err(failed)?;
    }
    Ok(socket)
}

fn adjust(socket: &Socket, parameters: &Parameters) -> io::Result<()> {
    if parameters.protocol == Transport::Tcp && parameters.no_delay {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(tos) = parameters.tos {
        if socket.local_addr()?.is_ipv6() {
            fairway_socket::set_option(
                socket.as_fd(),
                libc::IPPROTO_IPV6,
                libc::IPV6_TCLASS,
                i32::from(tos),
            )?;
        }
        // Of IPv4 too where that goes over a socket of IPv6.
        let of_ipv4 = socket.set_tos_v4(u32::from(tos));
        if socket.local_addr()?.is_ipv4() {
            of_ipv4?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_datagrams_are_opened_one_after_the_other() {
        let parameters = Parameters { block_bytes: 100, ..Parameters::default() };
        let control = Control::new();
        // A port that was free a moment ago.
        let free = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut listener = DatagramListener::open(free, &parameters).unwrap();
        let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
        stranger.send_to(&HELLO, free).unwrap();
        stranger.send_to(b"nonsense", free).unwrap();
        let server = std::thread::spawn({
            let parameters = parameters.clone();
            move || {
                let mut streams = Vec::new();
                while streams.len() < 2 {
                    let host = "127.0.0.1".parse().unwrap();
                    streams.extend(listener.accept(host, &parameters).unwrap());
                }
                streams
            }
        });
        let patience = Duration::from_secs(60);
        let open = || connect_udp(free, &parameters, &Wishes::default(), patience, &control);
        let clients = [open().unwrap(), open().unwrap()];
        let servers = server.join().unwrap();
        for (client, server) in clients.iter().zip(&servers) {
            let address = |address: io::Result<socket2::SockAddr>| address.unwrap().as_socket();
            assert_eq!(address(client.local_addr()), address(server.peer_addr()));
        }
    }

    #[test]
    fn a_server_that_does_not_answer_is_given_up() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let parameters = Parameters { block_bytes: 100, ..Parameters::default() };
        let patience = Duration::from_millis(50);
        let address = silent.local_addr().unwrap();
        let failed =
            connect_udp(address, &parameters, &Wishes::default(), patience, &Control::new());
        assert!(failed.unwrap_err().to_string().contains("firewall"));
    }
}
