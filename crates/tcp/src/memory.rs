//! Memory overhead of packets in Linux on a 64-bit machine; it depends on the kernel's build.

/// `struct sk_buff`, rounded up to cache lines (Linux 6.1 `include/linux/skbuff.h`).
pub(crate) const BUFFER_HEAD: u64 = 256;
/// `struct skb_shared_info`, which stands behind the bytes, rounded up in the same way.
pub(crate) const BUFFER_TAIL: u64 = 320;
/// Assumed room for headers (`include/net/tcp.h`, `MAX_TCP_HEADER`): 128 bytes and
/// `MAX_HEADER` (`include/linux/netdevice.h`), 128 for wireless links and 48 for tunnels, rounded up to
/// cache lines, as distributions have it. It is 192 in a kernel that has neither.
pub(crate) const MAX_TCP_HEADER: u64 = 320;

/// Memory of a buffer whose `bytes` lie beside room for its headers, a power of two with what stands
/// behind them (`net/core/skbuff.c`, `__alloc_skb`).
pub(crate) fn of_buffer(bytes: u64, header_room: u64) -> u64 {
    let bytes = bytes.saturating_add(header_room).saturating_add(BUFFER_TAIL);
    bytes.checked_next_power_of_two().unwrap_or(u64::MAX).saturating_add(BUFFER_HEAD)
}
