//! One file per algorithm. To add one, write its file and add its name to both lists below. The
//! first list is for tools, which do not see modules declared by a macro; the compiler reports
//! names missing in the second.

mod aimd;
mod balia;
mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod compound;
mod copa;
pub(crate) mod cubic;
mod dcm;
mod dcm_plus;
mod dctcp;
mod fast;
mod hacker;
mod highspeed;
pub(crate) mod htcp;
pub(crate) mod hybla;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod lia;
pub(crate) mod multcp;
mod newreno;
mod nv;
mod olia;
mod prague;
mod reno;
mod scalable;
mod tahoe;
mod tcp_lp;
mod vegas;
pub(crate) mod veno;
mod vivace;
mod westwood;
mod westwood_plus;
mod yeah;

macro_rules! algorithms {
    ($($name:ident),* $(,)?) => {
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
    aimd,
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
