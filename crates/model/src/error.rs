//! What a model cannot compute with.

/// A quantity that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{quantity}: expected {expected}, got {found}")]
pub struct Error {
    /// Its name, with its unit.
    pub quantity: &'static str,
    /// What would make sense.
    pub expected: &'static str,
    /// What was given.
    pub found: f64,
}

/// A number above zero that is not infinite.
pub(crate) fn positive(quantity: &'static str, found: f64) -> Result<f64, Error> {
    let expected = "a finite number above zero";
    if found > 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(Error { quantity, expected, found })
}

/// A finite number of zero or more.
pub(crate) fn not_negative(quantity: &'static str, found: f64) -> Result<f64, Error> {
    if found >= 0.0 && found.is_finite() {
        return Ok(found);
    }
    Err(Error { quantity, expected: "a finite number of zero or more", found })
}

/// A number between zero and one, neither of them included.
pub(crate) fn inside(quantity: &'static str, found: f64) -> Result<f64, Error> {
    if found > 0.0 && found < 1.0 {
        return Ok(found);
    }
    Err(Error { quantity, expected: "a number above 0 and below 1", found })
}

/// A number of streams: one or more.
pub(crate) fn streams(found: u32) -> Result<f64, Error> {
    if found >= 1 {
        return Ok(f64::from(found));
    }
    Err(Error { quantity: "streams", expected: "one or more", found: f64::from(found) })
}
