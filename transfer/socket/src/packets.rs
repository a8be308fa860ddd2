//! Packets of every device, as packet(7) has them.

use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use crate::checked;
use crate::datagrams::control;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Index of the device.
    pub device: u32,
    /// Whether this host has sent it.
    pub is_outgoing: bool,
}

/// Has a packet socket of protocol 0, which sees none, see the packets of all devices and tell
/// their lengths, however much of them a filter leaves.
pub fn see_all_devices(socket: BorrowedFd) -> io::Result<()> {
    crate::set_option(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
    // SAFETY: a `struct sockaddr_ll` is numbers.
    let mut all: libc::sockaddr_ll = unsafe { zeroed() };
    all.sll_family = libc::AF_PACKET as libc::sa_family_t;
    all.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the address has.
    checked(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&all).cast(), length) })
        .map(|_| ())
}

/// Packets that a packet socket had no room for since this was asked last.
pub fn missed_packets(socket: BorrowedFd) -> io::Result<u64> {
    let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into `counts`, which has as many.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut counts).cast(),
            &raw mut length,
        )
    };
    checked(result).map(|_| u64::from(counts.tp_drops))
}

/// Name of a device; none if it is gone.
pub fn device_name(device: u32) -> Option<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the C library writes at most IF_NAMESIZE bytes, the last of them zero.
    let found = unsafe { libc::if_indextoname(device, name.as_mut_ptr().cast()) };
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    (!found.is_null()).then(|| name.to_string_lossy().into_owned())
}

/// Where a packet was seen that the kernel has just given, and how long it was there.
pub(crate) fn name_of(header: &libc::msghdr, length: &mut usize) -> Passed {
    let known: Option<libc::tpacket_auxdata> =
        control(header, libc::SOL_PACKET, libc::PACKET_AUXDATA);
    if let Some(known) = known {
        *length = known.tp_len as usize;
    }
    // SAFETY: the name points to a `struct sockaddr_ll` of the batch, which is still there.
    let name = unsafe { &*header.msg_name.cast::<libc::sockaddr_ll>() };
    Passed {
        device: u32::try_from(name.sll_ifindex).unwrap_or(0),
        is_outgoing: name.sll_pkttype == libc::PACKET_OUTGOING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names() {
        // LOOPBACK_IFINDEX of the kernel's include/net/flow.h.
        assert_eq!(device_name(1).as_deref(), Some("lo"));
        assert_eq!(device_name(u32::MAX), None);
    }
}
