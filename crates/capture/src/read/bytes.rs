//! Numbers in either byte order.

/// The byte order of a file or a section of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

impl Order {
    /// The 16-bit number at `at`, where bytes are known to be.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let two = &bytes[at..at + 2];
        let value = u16::from_le_bytes([two[0], two[1]]);
        if self == Order::Big { value.swap_bytes() } else { value }
    }

    /// The 32-bit number at `at`, where bytes are known to be.
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let four = &bytes[at..at + 4];
        let value = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        if self == Order::Big { value.swap_bytes() } else { value }
    }

    /// The 64-bit number at `at`, where bytes are known to be.
    pub fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        match self {
            Order::Little => second << 32 | first,
            Order::Big => first << 32 | second,
        }
    }
}
