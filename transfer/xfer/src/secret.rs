//! Keys and secrets: zeroed in memory when they are dropped, and absent from debug output.

use std::fmt;
use std::ops::{Deref, DerefMut};

use zeroize::Zeroizing;

/// Secret bytes. They live on the heap, so that moving their owner leaves no copy on the stack.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret<const BYTES: usize>(Box<Zeroizing<[u8; BYTES]>>);

impl<const BYTES: usize> Default for Secret<BYTES> {
    fn default() -> Self {
        Secret(Box::new(Zeroizing::new([0; BYTES])))
    }
}

impl<const BYTES: usize> Deref for Secret<BYTES> {
    type Target = [u8; BYTES];

    fn deref(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl<const BYTES: usize> DerefMut for Secret<BYTES> {
    fn deref_mut(&mut self) -> &mut [u8; BYTES] {
        &mut self.0
    }
}

impl<const BYTES: usize> fmt::Debug for Secret<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({BYTES} bytes)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_has_no_byte_of_a_secret() {
        let mut secret = Secret::<4>::default();
        secret.copy_from_slice(&[201, 202, 203, 204]);
        assert_eq!(*secret.clone(), [201, 202, 203, 204]);
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(4 bytes) Secret(4 bytes)");
    }

    #[test]
    fn secrets_are_zeroed_when_they_are_dropped() {
        fn zeroes<T: zeroize::ZeroizeOnDrop>(_: &T) {}
        let secret = Secret::<4>::default();
        zeroes(&*secret.0);
    }
}
