//! One file an algorithm. To add one, write its file and add its word to the list below.

macro_rules! algorithms {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// The list of all algorithms.
        pub(crate) const ALL: &[crate::Algorithm] = &[$($name::ALGORITHM),*];
    };
}

algorithms![reno, scalable, highspeed, htcp, bic, cubic];
