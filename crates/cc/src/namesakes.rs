//! Names that mean another algorithm in a stack than in Fairway, or a version that Fairway lacks.

use crate::Variant;

/// Meaning of a name in a stack, if it is no variant of Fairway's algorithm of that name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Namesake {
    /// Another algorithm, by its name in Fairway.
    Other(&'static str),
    /// The same algorithm, in a version that Fairway lacks.
    Missing,
}

/// By Fairway's name. Linux 6.1 and ns-2.35's copy of 2.6.22: `tcp_westwood.c`, "TCP Westwood+",
/// and `tcp_lp.c`. All of ns-3.29's (`src/internet/model/tcp-*.cc`) have the same names here.
const NAMESAKES: &[(Variant, &str, Namesake)] = &[
    (Variant::Linux6_1, "westwood", Namesake::Other("westwood+")),
    (Variant::Linux2_6_22, "westwood", Namesake::Other("westwood+")),
    (Variant::Linux2_6_22, "tcp-lp", Namesake::Missing),
];

impl Variant {
    /// Meaning of `name` in the stack of this variant, if it is no variant of Fairway's algorithm.
    pub fn namesake(self, name: &str) -> Option<Namesake> {
        let found = NAMESAKES.iter().find(|(variant, of, _)| (*variant, *of) == (self, name));
        found.map(|(.., namesake)| *namesake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, algorithms};

    fn entry(name: &str) -> &'static Algorithm {
        algorithms().iter().find(|algorithm| algorithm.name == name).expect("a name that exists")
    }

    #[test]
    fn an_algorithm_with_a_namesake_lacks_that_variant() {
        for (variant, name, namesake) in NAMESAKES {
            assert!(!entry(name).variants.contains(variant), "{name} has {variant:?}");
            if let Namesake::Other(other) = namesake {
                assert!(entry(other).variants.contains(variant), "{other} has no {variant:?}");
            }
        }
    }

    #[test]
    fn linux_calls_another_algorithm_westwood_and_ns3_does_not() {
        assert_eq!(Variant::Linux6_1.namesake("westwood"), Some(Namesake::Other("westwood+")));
        assert_eq!(Variant::Ns3_29.namesake("westwood"), None);
        assert_eq!(Variant::Paper.namesake("westwood"), None);
    }
}
