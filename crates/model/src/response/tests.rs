use super::*;

/// Equal to as many digits as the expected value was worked out to.
fn near(found: f64, expected: f64) {
    let off = (found - expected).abs() / expected.abs();
    assert!(off < 2e-5, "{found} is not {expected}");
}

#[test]
fn mathis() {
    near(mathis_window(1e-2, 1.0), 12.2474);
    near(mathis_window(1e-4, 1.0), 122.474);
    near(mathis_window(1e-3, 2.0) / 0.04, 684.653);
    // AIMD(1, 1/2): sqrt(1.5 / (2 * 0.5 * p)) is the same.
    near(aimd_window(1e-2, 1.0, 0.5), 12.2474);
    near(aimd_loss(12.2474, 1.0, 0.5), 1e-2);
}

#[test]
fn cubic() {
    // (0.4 * 3.7 / 1.2)^(1/4) = 1.23333^(1/4).
    near(cubic_factor(), 1.05383);
    near(cubic_window(1e-4, 0.1), 187.40);
    near(cubic_window(1e-6, 0.1), 5926.1);
    // Reno's region: sqrt(1.5e6).
    near(cubic_window(1e-6, 0.01), 1224.745);
    for (p, t) in [(1e-4, 0.1), (1e-6, 0.01)] {
        near(cubic_loss(cubic_window(p, t), t), p);
    }
}

#[test]
fn scalable() {
    for (p, mean_field, periodic) in
        [(1e-3, 80.0, 74.889), (1e-4, 800.0, 748.89), (1e-6, 80_000.0, 74_888.8)]
    {
        near(scalable_mean_field_window(p), mean_field);
        near(scalable_periodic_window(p), periodic);
    }
    // Linux: sqrt(7.5 / p) below 100 packets, so at p = 1e-3 sqrt(7500).
    near(scalable_window(1e-3), 86.6025);
    near(scalable_window(1e-4), 800.0);
    near(scalable_loss(86.6025), 1e-3);
    near(scalable_loss(800.0), 1e-4);
}

#[test]
fn highspeed() {
    near(highspeed_slope(), -0.834_824);
    near(highspeed_window(1e-4), 259.78);
    near(highspeed_window(1e-5), 1775.95);
    near(highspeed_window(1e-7), 83_000.0);
    near(highspeed_loss(259.78), 1e-4);
    // RFC 3649, table in appendix B: w = 118: a 2, b 0.44; 1058: 8, 0.33; 83000 (its 83981): 72, 0.10.
    for (w, a, b) in [(118.0, 2.02764, 0.441054), (1058.0, 8.13616, 0.326945), (83e3, 72.516, 0.1)]
    {
        near(highspeed_increase(w), a);
        near(highspeed_reduction(w), b);
    }
    // Reno's up to 38 packets.
    near(highspeed_window(1e-2), 12.2474);
    assert_eq!((highspeed_increase(20.0), highspeed_reduction(20.0)), (1.0, 0.5));
}

#[test]
fn htcp_epochs() {
    for (p, r, duration, peak, mean) in [
        (1e-3, 0.5, 1.738_07, 89.907, 57.535),
        (1e-5, 0.5, 5.855_67, 2665.68, 1707.75),
        (1e-6, 0.8, 10.6228, 10_957.5, 9413.7),
    ] {
        let epoch = htcp(p, 0.1, r);
        near(epoch.duration_s, duration);
        near(epoch.peak_window, peak);
        near(epoch.mean_window, mean);
        near(htcp_loss(mean, 0.1, r), p);
    }
}

#[test]
fn every_inverse_is_one() {
    for exponent in 2..8 {
        let p = libm::pow(10.0, -f64::from(exponent)) * 1.7;
        near(cubic_loss(cubic_window(p, 0.05), 0.05), p);
        near(highspeed_loss(highspeed_window(p)), p);
        near(htcp_loss(htcp(p, 0.05, 0.5).mean_window, 0.05, 0.5), p);
        near(aimd_loss(aimd_window(p, 2.0, 0.8), 2.0, 0.8), p);
    }
}
