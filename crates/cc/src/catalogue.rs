//! The algorithms that an experiment may name: Fairway's own and the user's.

use std::fmt;
use std::sync::Arc;

use crate::{CcError, CongestionControl, Init, Selection, Variant, algorithms, create};

/// Foreign algorithms, such as classes of another language.
pub trait Foreign: Send + Sync {
    /// Whether it has an algorithm of this name, which is not one of Fairway's.
    fn has(&self, name: &str) -> bool;

    /// Create an algorithm for one connection.
    ///
    /// # Errors
    /// [`CcError::Foreign`] if it cannot be created.
    fn create(
        &self,
        selection: &Selection,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError>;
}

/// What names of congestion controls begin with that a kernel alone has: "linux:NAME".
pub const OF_KERNEL: &str = "linux:";

/// All algorithms. Fairway's own cannot be replaced.
#[derive(Clone, Default)]
pub struct Catalogue {
    foreign: Option<Arc<dyn Foreign>>,
}

impl Catalogue {
    /// Fairway's own algorithms, and `foreign` beside them.
    pub fn with(foreign: Arc<dyn Foreign>) -> Self {
        Catalogue { foreign: Some(foreign) }
    }

    /// Whether `name` is a foreign algorithm, or one of a kernel.
    pub fn is_foreign(&self, name: &str) -> bool {
        name.starts_with(OF_KERNEL) || self.foreign(name).is_some()
    }

    /// Create the algorithm of `selection`, as [`create`] does.
    ///
    /// # Errors
    /// [`CcError`] if the name, the variant or a parameter does not exist, or a value is out of range.
    pub fn create(
        &self,
        selection: &Selection,
        preferred: Variant,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        if selection.name.starts_with(OF_KERNEL) {
            return Err(CcError::Foreign {
                name: selection.name.clone(),
                message: "a kernel's own congestion control is not simulated; use --backend linux"
                    .to_owned(),
            });
        }
        match self.foreign(&selection.name) {
            Some(foreign) => foreign.create(selection, init),
            None => create(selection, preferred, init),
        }
    }

    fn foreign(&self, name: &str) -> Option<&dyn Foreign> {
        let own = algorithms().iter().any(|algorithm| algorithm.name == name);
        self.foreign.as_deref().filter(|foreign| !own && foreign.has(name))
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.foreign.is_some() { "Catalogue(and foreign)" } else { "Catalogue" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{MSS, Probe, Start};

    /// Has every name but "nobody", and creates Reno for it.
    struct Renos;

    impl Foreign for Renos {
        fn has(&self, name: &str) -> bool {
            name != "nobody"
        }

        fn create(
            &self,
            _selection: &Selection,
            init: &Init,
        ) -> Result<Box<dyn CongestionControl>, CcError> {
            create(&selection("reno", None), Variant::Paper, init)
        }
    }

    fn selection(name: &str, variant: Option<Variant>) -> Selection {
        Selection { name: name.to_owned(), variant, params: Vec::new() }
    }

    /// The window in segments after a round trip of congestion avoidance at ten.
    fn after_a_round(catalogue: &Catalogue, selection: &Selection) -> Result<u64, CcError> {
        let init = Init {
            mss: MSS,
            initial_window: 10 * u64::from(MSS),
            initial_ssthresh: Some(2 * u64::from(MSS)),
            slow_start: None,
            seed: 0,
            coupling: None,
            abe: false,
        };
        let cc = catalogue.create(selection, Variant::Linux2_6_22, &init)?;
        let mut probe = Probe::of(cc, Start::avoidance(10, 100).rtt);
        probe.round();
        Ok(probe.cwnd())
    }

    #[test]
    fn own_algorithms_cannot_be_replaced() {
        let catalogue = Catalogue::with(Arc::new(Renos));
        assert!(catalogue.is_foreign("mine") && !catalogue.is_foreign("compound"));
        // After a round trip of ten segments Reno has one more. Compound TCP is refused in a
        // variant that it does not have, although `Renos` would accept it.
        assert_eq!(after_a_round(&catalogue, &selection("mine", None)), Ok(11));
        let refused = after_a_round(&catalogue, &selection("compound", Some(Variant::Ns3_29)));
        assert!(matches!(refused, Err(CcError::UnknownVariant { .. })), "{refused:?}");
    }

    #[test]
    fn a_name_that_nobody_has_is_refused() {
        for catalogue in [Catalogue::default(), Catalogue::with(Arc::new(Renos))] {
            assert!(!catalogue.is_foreign("nobody"));
            let refused = after_a_round(&catalogue, &selection("nobody", None));
            assert!(matches!(refused, Err(CcError::UnknownName { .. })), "{refused:?}");
        }
    }
}
