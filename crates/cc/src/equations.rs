//! Growth and back-off of algorithms as functions of plain numbers, called by an algorithm and by
//! every analytic model of it. Windows are in segments, times in seconds.

/// CUBIC (RFC 9438).
pub mod cubic {
    pub use crate::algorithms::cubic::{
        MOST_GROWTH, converged, reno_increase, time_to_origin, window_at,
    };
}

/// H-TCP (Shorten and Leith, PFLDnet 2004; draft-leith-tcp-htcp-06).
pub mod htcp {
    pub use crate::algorithms::htcp::{RETENTIONS, THROUGHPUT_CHANGE, increase, retention};
}

/// Hybla (Caini and Firrincieli, IJSCN 22, 2004).
pub mod hybla {
    pub use crate::algorithms::hybla::rho;
}

/// MulTCP (Crowcroft and Oechslin, ACM CCR 28(3), 1998).
pub mod multcp {
    pub use crate::algorithms::multcp::retention;
}

/// Veno (Fu and Liew, IEEE JSAC 21(2), 2003).
pub mod veno {
    pub use crate::algorithms::veno::{increase, retention};
}
