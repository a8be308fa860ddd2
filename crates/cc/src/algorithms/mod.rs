//! One file an algorithm. To add one, write its file and add its word to the list below.

macro_rules! algorithms {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// The list of all algorithms.
        pub(crate) const ALL: &[crate::Algorithm] = &[$($name::ALGORITHM),*];

        /// Their files by name, in the same order: the documentation is the header of each.
        pub(crate) const FILES: &[(&str, &str)] = &[$((
            concat!(stringify!($name), ".rs"),
            include_str!(concat!(stringify!($name), ".rs")),
        )),*];
    };
}

#[rustfmt::skip]
algorithms![
    // Classic.
    tahoe,
    reno,
    newreno,
    scalable,
    highspeed,
    htcp,
    bic,
    cubic,
    // Wireless and heterogeneous paths.
    westwood,
    westwood_plus,
    hybla,
    veno,
    dcm,
    dcm_plus,

    // Delay-based and hybrid.
    tcp_lp,
    vegas,
    yeah,
    illinois,
    fast,
    compound,
    ledbat,
    ledbat_plus_plus,
    nv,
    cdg,
    copa,

    // Model- and rate-based.
    bbr,
    bbr3,
    vivace,

    // ECN.
    dctcp,
    prague,

    // Aggregates.
    multcp,
    hacker,
    lia,
    olia,
    balia,
];
