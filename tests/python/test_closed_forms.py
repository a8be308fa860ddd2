"""The laws that advice compares algorithms with, by the algorithm's name."""

import math

import pytest

from fairway.host.advice.sending import CLOSED_FORMS


@pytest.mark.parametrize(
    ("name", "loss", "rtt_s", "expected"),
    [
        # √150; √1500.
        ("reno", 1e-2, 0.1, 12.2474),
        ("reno", 1e-3, 0.1, 38.7298),
        # 0.08/10⁻⁴; 8 is not above 16, so √150.
        ("scalable", 1e-4, 0.1, 800),
        ("scalable", 1e-2, 0.1, 12.2474),
        # RFC 3649 table 1: 38, 263, 1795 and 83981 are of its rounded 0.12/p^0.835; the line
        # itself gives 38·10^0.834824, 38·10^1.669648 and 83000.
        ("highspeed", 1e-3, 0.1, 38),
        ("highspeed", 1e-4, 0.1, 259.78),
        ("highspeed", 1e-5, 0.1, 1775.95),
        ("highspeed", 1e-7, 0.1, 83_000),
        # A window of 85.1 is reduced by 10.6; that is halved ten times until half is below 0.01:
        # with the first round trip, and that at the maximum, 12 of them for 1000 packets.
        ("bic", 1e-3, 0.1, 1000 / 12),
        # Below 14 it is Reno.
        ("bic", 1e-2, 0.1, 12.2474),
        # RFC 9438: (0.4·3.7/1.2)^¼ = 1.0538; (10³)^¾ = 177.83; (10⁵)^¾ = 5623.4.
        ("cubic", 1e-4, 0.1, 187.40),
        ("cubic", 1e-6, 0.1, 5926.1),
        ("cubic", 1e-6, 0.01, 1224.74),  # Reno's
        # Up to a second H-TCP is AIMD(2(1 − r), r): √((1 + r)/p); beyond, the epoch solved by hand.
        ("htcp", 1e-2, 0.1, math.sqrt(1.8 / 1e-2)),
        ("htcp", 1e-6, 0.1, 9413.7),
        # ρ = 12; ρ = 1.
        ("hybla", 1e-3, 0.3, 12 * 38.7298),
        ("hybla", 1e-4, 0.02, 122.474),
    ],
)
def test_closed_forms_by_hand(name, loss, rtt_s, expected):
    assert CLOSED_FORMS[name](loss, rtt_s) == pytest.approx(expected, rel=1e-4)
