//! Subflows of an MPTCP connection (Linux 5.16 and later, `include/uapi/linux/mptcp.h`).

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::BorrowedFd;

/// `IPPROTO_MPTCP`.
pub const MPTCP: i32 = 262;
/// `SOL_MPTCP`, and its options.
const LEVEL: i32 = 284;
const TCP_INFOS: i32 = 2;
const ADDRESSES: i32 = 3;
/// `struct mptcp_subflow_data`: its size, the number of subflows, the kernel's and the caller's size
/// of an entry.
const HEAD_BYTES: usize = 16;
/// `struct mptcp_subflow_addrs`: two `struct sockaddr_storage`, which have an IPv4 address at 4.
const ADDRESS_BYTES: usize = 256;
const REMOTE_AT: usize = ADDRESS_BYTES / 2;
const IPV4_AT: usize = 4;
/// Most subflows (`MPTCP_SUBFLOWS_MAX` is 8) with the first.
const MOST: usize = 9;

/// Fills `buffer` with `struct tcp_info` of the subflow with that address at either end, as far as
/// it goes; how many bytes there are, or none if there is no such subflow.
pub fn subflow_info(
    socket: BorrowedFd,
    address: Ipv4Addr,
    buffer: &mut [u8],
) -> io::Result<Option<usize>> {
    let (addresses, stride) = ask(socket, ADDRESSES, ADDRESS_BYTES)?;
    if stride != ADDRESS_BYTES {
        return Ok(None);
    }
    let is_wanted = |entry: &[u8]| {
        [IPV4_AT, REMOTE_AT + IPV4_AT].iter().any(|at| entry[*at..*at + 4] == address.octets())
    };
    let Some(index) = addresses.chunks_exact(ADDRESS_BYTES).position(is_wanted) else {
        return Ok(None);
    };
    let (infos, stride) = ask(socket, TCP_INFOS, buffer.len())?;
    let Some(info) = infos.chunks_exact(stride.max(1)).nth(index) else { return Ok(None) };
    let length = info.len().min(buffer.len());
    buffer[..length].copy_from_slice(&info[..length]);
    Ok(Some(length))
}

/// Entries for all subflows of at most `bytes` each, and how many each has: as many as the kernel's.
fn ask(socket: BorrowedFd, option: i32, bytes: usize) -> io::Result<(Vec<u8>, usize)> {
    let mut answer = vec![0; HEAD_BYTES + MOST * bytes];
    answer[..4].copy_from_slice(&(HEAD_BYTES as u32).to_ne_bytes());
    answer[12..HEAD_BYTES].copy_from_slice(&(bytes as u32).to_ne_bytes());
    crate::get(socket, LEVEL, option, &mut answer)?;
    let subflows = (crate::u32_at(&answer, 4) as usize).min(MOST);
    let stride = (crate::u32_at(&answer, 12) as usize).min(bytes);
    answer.truncate(HEAD_BYTES + subflows * stride);
    answer.drain(..HEAD_BYTES);
    Ok((answer, stride))
}
