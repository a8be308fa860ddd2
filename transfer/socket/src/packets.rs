//! Packets of every device, as packet(7) has them.

use std::ffi::CStr;
use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use crate::{checked, get, u32_at};

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
    let all = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as libc::sa_family_t,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        ..NO_NAME
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the kernel reads as many bytes as the address has.
    checked(unsafe { libc::bind(socket.as_raw_fd(), ptr::from_ref(&all).cast(), length) })
        .map(|_| ())
}

/// An address of no device.
pub(crate) const NO_NAME: libc::sockaddr_ll = libc::sockaddr_ll {
    sll_family: 0,
    sll_protocol: 0,
    sll_ifindex: 0,
    sll_hatype: 0,
    sll_pkttype: 0,
    sll_halen: 0,
    sll_addr: [0; 8],
};

/// Packets that a packet socket had no room for since this was asked last.
pub fn missed_packets(socket: BorrowedFd) -> io::Result<u64> {
    let mut counts = [0; size_of::<libc::tpacket_stats>()];
    get(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut counts)?;
    Ok(u64::from(u32_at(&counts, offset_of!(libc::tpacket_stats, tp_drops))))
}

/// Name of a device; none if it is gone.
pub fn device_name(device: u32) -> Option<String> {
    let mut name = [0u8; libc::IF_NAMESIZE];
    // SAFETY: the C library writes at most IF_NAMESIZE bytes, for which there is room.
    let found = unsafe { libc::if_indextoname(device, name.as_mut_ptr().cast()) };
    let name = CStr::from_bytes_until_nul(&name).ok()?;
    (!found.is_null()).then(|| name.to_string_lossy().into_owned())
}

/// Where a packet was seen whose address the kernel has just given.
pub(crate) fn passed(name: &libc::sockaddr_ll) -> Passed {
    Passed {
        device: u32::try_from(name.sll_ifindex).unwrap_or(0),
        is_outgoing: name.sll_pkttype == libc::PACKET_OUTGOING,
    }
}

/// The length of a packet before a filter has cut it, of a control message with `struct
/// tpacket_auxdata`.
pub(crate) fn whole_length(message: &[u8]) -> usize {
    u32_at(message, offset_of!(libc::tpacket_auxdata, tp_len)) as usize
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
