//! Memory overhead of packets in Linux on a 64-bit machine, which depends on the kernel's build.

/// `struct sk_buff`, rounded up to cache lines (Linux 6.1 `include/linux/skbuff.h`).
pub(crate) const BUFFER_HEAD: u64 = 256;
/// `struct skb_shared_info`, placed after the data, rounded up to cache lines.
pub(crate) const BUFFER_TAIL: u64 = 320;
/// Room for headers (`include/net/tcp.h`, `MAX_TCP_HEADER`) in kernels of distributions: 128 bytes
/// and `MAX_HEADER` (`include/linux/netdevice.h`), 128 for wireless links and 48 for tunnels,
/// rounded up to cache lines. A kernel with neither has 192.
pub(crate) const MAX_TCP_HEADER: u64 = 320;

/// Memory of a buffer: the head, and a power of two that holds headers, `bytes` and the shared info
/// (`net/core/skbuff.c`, `__alloc_skb`).
pub(crate) fn of_buffer(bytes: u64, header_room: u64) -> u64 {
    let bytes = bytes.saturating_add(header_room).saturating_add(BUFFER_TAIL);
    bytes.checked_next_power_of_two().unwrap_or(u64::MAX).saturating_add(BUFFER_HEAD)
}
