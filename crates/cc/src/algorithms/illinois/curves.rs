//! Growth and back-off of Illinois as functions of delay.

/// Bounds of growth and back-off.
#[derive(Clone, Copy)]
pub(super) struct Curves {
    pub(super) alpha: (f64, f64),
    pub(super) beta: (f64, f64),
}

pub(super) const DEFAULTS: Curves = Curves { alpha: (0.3, 10.0), beta: (0.125, 0.5) };

impl Curves {
    pub(super) fn alpha(&self, da: f64, dm: f64) -> f64 {
        let d1 = dm / 100.0;
        if da <= d1 {
            return self.alpha.1;
        }
        let (least, most) = self.alpha;
        (dm - d1) * most / ((dm - d1) + (da - d1) * (most - least) / least)
    }

    pub(super) fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (0.1 * dm, 0.8 * dm);
        let (least, most) = self.beta;
        if da <= d2 {
            least
        } else if da >= d3 {
            most
        } else {
            (least * d3 - most * d2 + (most - least) * da) / (d3 - d2)
        }
    }
}

/// α in 1/128 and β in 1/64.
#[derive(Clone, Copy)]
pub(super) struct FixedCurves {
    pub(super) alpha: (u64, u64),
    pub(super) beta: (u64, u64),
}

/// 0.3·128 = 38.4, rounded down (ALPHA_MIN).
pub(super) const FIXED: FixedCurves = FixedCurves { alpha: (38, 1_280), beta: (8, 32) };

impl FixedCurves {
    /// `alpha`, above the delay up to which growth is at its maximum.
    pub(super) fn alpha(&self, da: u64, dm: u64) -> u64 {
        let d1 = dm / 100;
        let (least, most) = self.alpha;
        let (da, dm) = (da.saturating_sub(d1), dm - d1);
        (dm * most).checked_div(dm + da * (most - least) / least).unwrap_or(most)
    }

    /// `beta`.
    pub(super) fn beta(&self, da: u64, dm: u64) -> u64 {
        let (d2, d3) = (dm / 10, 8 * dm / 10);
        let (least, most) = self.beta;
        if da <= d2 {
            least
        } else if da >= d3 || d3 <= d2 {
            most
        } else {
            (least * d3 + (most - least) * da).saturating_sub(most * d2) / (d3 - d2)
        }
    }
}
