//! What a packet costs Linux besides its bytes, on a 64-bit machine. The sizes depend on how a kernel
//! was built; these are of one with tunnels, as distributions have it.

/// `struct sk_buff`, rounded up to cache lines (Linux 6.1 `include/linux/skbuff.h`).
pub(crate) const BUFFER_HEAD: u64 = 256;
/// `struct skb_shared_info`, which stands behind the bytes, rounded up in the same way.
pub(crate) const BUFFER_TAIL: u64 = 320;
/// Room for headers that is reckoned with (`include/net/tcp.h`, `MAX_TCP_HEADER`): 128 bytes and
/// `MAX_HEADER` (`include/linux/netdevice.h`), 128 for wireless links and 48 for tunnels, rounded up to
/// cache lines. It is 192 in a kernel that has neither.
pub(crate) const MAX_TCP_HEADER: u64 = 320;
