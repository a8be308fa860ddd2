//! The distributed coordination function in saturation: how often stations that always have a frame
//! attempt to send it, and how often they collide.

use super::timing::Times;
use crate::error::{Error, positive};

/// Binary exponential back-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Smallest contention window in slots (CWmin): 31 in 802.11b, 15 in 802.11a and g.
    pub cw_min: u32,
    /// Largest contention window (CWmax).
    pub cw_max: u32,
    /// Attempts until a frame is given up; none if it never is.
    pub attempts: Option<u32>,
}

/// Stations in saturation.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Contention {
    /// How many.
    pub contenders: u32,
    /// Probability that one of them transmits in a slot.
    pub attempt: f64,
    /// Probability that an attempt collides.
    pub collision: f64,
}

/// Throughput in saturation: what becomes of slots.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Saturation {
    /// Attempts and collisions.
    #[serde(flatten)]
    pub contention: Contention,
    /// Probability that a slot is idle.
    pub idle: f64,
    /// Probability that it has one transmission.
    pub success: f64,
    /// Packets that all stations send a second.
    pub packets_per_s: f64,
}

/// Halvings of the search for a probability: as many as a double has bits.
const HALVINGS: u32 = 60;
/// Attempts after which the rest is summed up in closed form: the window has long been the largest.
const ATTEMPTS_SUMMED: u32 = 64;

impl Backoff {
    pub(super) fn check(&self) -> Result<(), Error> {
        let most = f64::from(u32::MAX / 2);
        positive("smallest contention window in slots", f64::from(self.cw_min))?;
        if f64::from(self.cw_max) > most || self.cw_max < self.cw_min {
            return Err(Error {
                quantity: "largest contention window in slots",
                expected: "no less than the smallest, and below 2^31",
                found: f64::from(self.cw_max),
            });
        }
        if let Some(attempts) = self.attempts {
            positive("attempts at a frame", f64::from(attempts))?;
        }
        Ok(())
    }

    /// Mean back-off before the attempt with this index, in slots and with the slot of the attempt.
    fn slots(&self, attempt: u32) -> f64 {
        let window = (f64::from(self.cw_min) + 1.0) * libm::ldexp(1.0, attempt.min(64) as i32);
        (window.min(f64::from(self.cw_max) + 1.0) + 1.0) / 2.0
    }

    /// Attempts per slot of a station whose attempts collide with probability `collision`: those that
    /// a frame takes, over the slots that they take (Kumar, Altman, Miorandi, Goyal, "New insights from
    /// a fixed point analysis of single cell IEEE 802.11 WLANs", IEEE/ACM ToN 15(3), 2007, equation 1).
    /// Without a limit of attempts it is equation 7 of Bianchi, IEEE JSAC 18(3), 2000.
    fn attempts_per_slot(&self, collision: f64) -> f64 {
        let limit = self.attempts.unwrap_or(u32::MAX);
        let (mut attempts, mut slots, mut reached) = (0.0, 0.0, 1.0);
        for attempt in 0..limit.min(ATTEMPTS_SUMMED) {
            attempts += reached;
            slots += reached * self.slots(attempt);
            reached *= collision;
        }
        if limit > ATTEMPTS_SUMMED && collision < 1.0 {
            // What follows has the largest window: a geometric series.
            let rest = reached / (1.0 - collision);
            attempts += rest;
            slots += rest * self.slots(ATTEMPTS_SUMMED);
        }
        attempts / slots
    }

    /// What `contenders` stations do that always have a frame: the fixed point of how often each
    /// attempts and how often that collides with one of the others.
    ///
    /// # Errors
    /// [`Error`] if the windows or the limit make no sense, or without contenders.
    pub fn saturated(&self, contenders: u32) -> Result<Contention, Error> {
        self.check()?;
        positive("contenders", f64::from(contenders))?;
        Ok(self.fixed_point(contenders))
    }

    pub(super) fn fixed_point(&self, contenders: u32) -> Contention {
        let others = f64::from(contenders.saturating_sub(1));
        let collision_at = |attempt: f64| -libm::expm1(others * libm::log1p(-attempt));
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if self.attempts_per_slot(collision_at(middle)) > middle {
                low = middle;
            } else {
                high = middle;
            }
        }
        Contention { contenders, attempt: low, collision: collision_at(low) }
    }

    /// What `contenders` stations send that always have packets of data: Bianchi 2000, equation 13.
    ///
    /// # Errors
    /// [`Error`] if back-off or times make no sense, or without contenders.
    pub fn saturation(&self, contenders: u32, times: &Times) -> Result<Saturation, Error> {
        let contention = self.saturated(contenders)?;
        times.check()?;
        let n = f64::from(contenders);
        let others_idle = libm::pow(1.0 - contention.attempt, n - 1.0);
        let idle = others_idle * (1.0 - contention.attempt);
        let success = n * contention.attempt * others_idle;
        let slot_us = idle * times.slot_us
            + success * times.data_us
            + (1.0 - idle - success) * times.data_collision_us;
        Ok(Saturation { contention, idle, success, packets_per_s: success * 1e6 / slot_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const B: Backoff = Backoff { cw_min: 31, cw_max: 1023, attempts: Some(7) };
    const G: Backoff = Backoff { cw_min: 15, cw_max: 1023, attempts: Some(7) };
    const ENDLESS: Backoff = Backoff { attempts: None, ..B };

    #[test]
    fn one_station_alone() {
        // No collisions: one attempt in (32 + 1)/2 slots, and in (16 + 1)/2.
        let alone = B.saturated(1).unwrap();
        assert!((alone.attempt - 2.0 / 33.0).abs() < 1e-12 && alone.collision == 0.0);
        assert!((G.saturated(1).unwrap().attempt - 2.0 / 17.0).abs() < 1e-12);
    }

    #[test]
    fn attempts_of_seven() {
        // From an independent solution of Kumar's equations by bisection.
        let b = [0.060606, 0.057044, 0.053722, 0.050655, 0.047851];
        let g = [0.117647, 0.104621, 0.093409, 0.084047, 0.076345];
        for (contenders, (b, g)) in (1..).zip(b.into_iter().zip(g)) {
            assert!((B.saturated(contenders).unwrap().attempt - b).abs() < 1e-6);
            assert!((G.saturated(contenders).unwrap().attempt - g).abs() < 1e-6);
        }
    }

    #[test]
    fn two_attempts_by_hand() {
        // Two stations, contention windows of 1 and 3, two attempts: b0 = 3/2, b1 = 5/2. With
        // g = tau: tau·(3/2 + 5/2·tau) = 1 + tau, 5·tau² + tau - 2 = 0, tau = (√41 - 1)/10.
        let backoff = Backoff { cw_min: 1, cw_max: 3, attempts: Some(2) };
        let found = backoff.saturated(2).unwrap();
        assert!((found.attempt - 0.540_312_424).abs() < 1e-9, "{found:?}");
        assert!((found.collision - found.attempt).abs() < 1e-12);
    }

    #[test]
    fn bianchis_table() {
        // His FHSS set: payloads of 8184 bits, Ts 8982 and Tc 8713 µs, W 32, m 5.
        let times = Times {
            slot_us: 50.0,
            data_us: 8982.0,
            ack_us: 8982.0,
            data_collision_us: 8713.0,
            ack_collision_us: 8713.0,
        };
        for (n, attempt, collision, share) in [
            (5, 0.047846, 0.178083, 0.810153),
            (10, 0.037305, 0.289771, 0.757880),
            (50, 0.015392, 0.532360, 0.610936),
        ] {
            let found = ENDLESS.saturation(n, &times).unwrap();
            assert!((found.contention.attempt - attempt).abs() < 1e-6, "{found:?}");
            assert!((found.contention.collision - collision).abs() < 1e-6, "{found:?}");
            assert!((found.packets_per_s * 8184.0 / 1e6 - share).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn what_ns_3_publishes() {
        // The table of ns-3's refined model of Bianchi, Mbit/s of 1500 bytes: payload/(1 - 1/W),
        // Ts/(1 - 1/W) + slot, and DIFS after collisions: data 1310 or 254 µs (1309.09 without rounding).
        let b = (20.0, 1309.09, 308.0, 50.0, ENDLESS, [(5, 6.473), (10, 6.177), (50, 5.175)]);
        let endless_g = Backoff { attempts: None, ..G };
        let g = (9.0, 254.0, 72.0, 28.0, endless_g, [(5, 29.832), (10, 28.152), (50, 23.562)]);
        for (slot_us, frame_us, answer_us, difs_us, backoff, table) in [b, g] {
            let kept = 1.0 - 1.0 / f64::from(backoff.cw_min + 1);
            let times = Times {
                slot_us,
                data_us: (frame_us + answer_us) / kept + slot_us,
                ack_us: 1.0,
                data_collision_us: frame_us + difs_us,
                ack_collision_us: 1.0,
            };
            for (n, mbit) in table {
                let found = backoff.saturation(n, &times).unwrap();
                let found = found.packets_per_s * 12_000.0 / kept / 1e6;
                assert!((found / mbit - 1.0).abs() < 1.5e-3, "{n}: {found} instead of {mbit}");
            }
        }
    }

    #[test]
    fn a_limit_beyond_the_sum_is_no_limit() {
        let far = Backoff { attempts: Some(1000), ..B };
        let (far, endless) = (far.saturated(50).unwrap(), ENDLESS.saturated(50).unwrap());
        assert!((far.attempt - endless.attempt).abs() < 1e-12);
        let many = ENDLESS.saturated(u32::MAX).unwrap();
        assert!(many.attempt > 0.0 && many.collision <= 1.0, "{many:?}");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(B.saturated(0).is_err());
        assert!(Backoff { cw_min: 0, ..B }.saturated(1).is_err());
        assert!(Backoff { cw_max: 30, ..B }.saturated(1).is_err());
        assert!(Backoff { attempts: Some(0), ..B }.saturated(1).is_err());
    }
}
