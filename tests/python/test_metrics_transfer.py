"""Figures of a finished transfer, beside numbers of Khader's thesis and sums by hand."""

import re

import pytest

import fairway
from fairway.errors import InputError
from fairway.metrics import measure
from fairway.metrics.transfer import FIGURES, Transfer

#: The only flow, as results name it.
ID = "dcm+#0"
LOSS = {"kind": "bernoulli", "probability": 0.01, "unit": "packet", "direction": "both"}


def experiment(loss=LOSS, **measured):
    links = [
        {"id": "access", "rate": "1 Gbit/s", "delay": "45 ms"},
        {"id": "bottleneck", "rate": "100 Mbit/s", "delay": "0.01 ms", "loss": loss},
    ]
    found = {
        "duration": "1000 s",
        "topology": {"kind": "chain", "link": links},
        "flow": [{"cc": "dcm+", "bytes": "100 MB"}],
    }
    return {**found, "measure": measured} if measured else found


def summary(**row):
    # 1000 packets of 1500 bytes arrive in 8 s: 1.5 Mbit/s, over the whole run 12 kbit/s.
    flow = {"id": ID, "fct_s": 8.0, "throughput_bps": 12_000.0, "goodput_bps": 11_000.0}
    return {"flows": [{**flow, "sent_segments": 1010, "lost_segments": 10, **row}]}


def at(figure, loss=LOSS, **row):
    return measure(summary(**row), f"transfer.{ID}.{figure}", None, experiment(loss))


def test_figures_by_hand():
    assert at("throughput_bps") == pytest.approx(1.5e6)
    # 800 Mbit of payload over 100 Mbit/s · 8 s.
    assert at("utilisation") == pytest.approx(1.0)
    assert at("goodput_bps") == pytest.approx(1e8)
    # 1000 packets of 1500 bytes at 100 Mbit/s take 0.12 s.
    assert at("transfer_time_ratio") == pytest.approx(8 / 0.12)
    assert at("packet_delivery_ratio") == pytest.approx(1000 / 1010)
    # 187 500 bytes/s over 10 · 1500 bytes · 0.01.
    assert at("nai_per_s") == pytest.approx(1250.0)
    assert at("nai_1024_per_s") == pytest.approx(1280.0)


def test_a_link_that_changes_has_no_one_rate():
    document = experiment()
    document["topology"]["link"][1]["change"] = [{"at": "1 s", "rate": "1 Mbit/s"}]
    for figure in ("utilisation", "transfer_time_ratio"):
        assert measure(summary(), f"transfer.{ID}.{figure}", None, document) is None


def test_the_index_is_that_of_the_thesis():
    # Table C-8, case 1: 7913.73 kbit/s, 689 packets of 1500 bytes lost at 0.01: 95.715.
    bits, seconds = 7_913_730.0 * 100, 100.0
    arrived = bits / 8 / 1500
    known = Transfer(seconds, None, bits, 689 + round(arrived), 689, 0, 0.01, None)
    assert FIGURES["nai_per_s"].read(known) == pytest.approx(95.715, rel=1e-5)
    # Table C-4 at 0.01: 8165 kbit/s of 128 bytes and 701 packets give 99.4.
    bits = 8_165_000.0 * 100
    known = Transfer(seconds, None, bits, 701 + round(bits / 8 / 1500), 701, 0, 0.01, None)
    assert FIGURES["nai_1024_per_s"].read(known) == pytest.approx(99.4, rel=1e-3)


def test_a_figure_that_does_not_exist_is_none():
    assert at("throughput_bps", fct_s=None) is None
    assert at("nai_per_s", lost_segments=0, sent_segments=1000) is None
    assert at("nai_per_s", loss={**LOSS, "direction": "reverse"}) is None
    assert at("nai_per_s", loss={**LOSS, "unit": "bit"}) is None
    two = summary()
    two["flows"].append({**two["flows"][0], "id": f"{ID}/reverse"})
    assert measure(two, f"transfer.{ID}.utilisation", None, experiment()) is None


def test_the_size_of_a_transfer_is_known_beside_copies_of_others():
    found = summary()
    found["flows"] += [{**found["flows"][0], "id": f"b/{i}"} for i in range(2)]
    document = experiment()
    found["flows"][0]["id"] = document["flow"][0]["id"] = "a"
    document["flow"].append({"cc": "reno", "id": "b", "count": 2, "bytes": "1 MB"})
    assert measure(found, "transfer.a.utilisation", None, document) == pytest.approx(1.0)
    assert measure(found, "transfer.b/0.utilisation", None, document) is None


def test_losses_of_several_links_add_up():
    both = experiment()
    both["topology"]["link"][0]["loss"] = {**LOSS, "probability": 0.5}
    # 1 − 0.5 · 0.99 = 0.505 in place of 0.01.
    found = measure(summary(), "transfer.0.nai_per_s", None, both)
    assert found == pytest.approx(1250.0 * 0.01 / 0.505)


@pytest.mark.parametrize(
    ("name", "document", "message"),
    [
        (f"transfer.{ID}.speed", experiment(), "there is throughput_bps, goodput_bps"),
        ("transfer.b.utilisation", experiment(), re.escape(f"there is {ID}")),
        (f"transfer.{ID}.utilisation", None, "needs the experiment"),
        (
            f"transfer.{ID}.utilisation",
            experiment(window=["1 s", "2 s"]),
            "leave out measure.window",
        ),
    ],
)
def test_what_cannot_be_told_is_refused(name, document, message):
    with pytest.raises(InputError, match=message):
        measure(summary(), name, None, document)


def test_a_run_has_them():
    document = experiment()
    document["topology"]["link"][1].pop("loss")
    document["flow"] = [{"cc": "newreno", "bytes": "1460 kB"}]
    document["stack"] = {"preset": "rfc5681"}
    run = fairway.run(document)
    found = measure(run.summary, "transfer.0.throughput_bps", None, document)
    # 1000 packets of 1500 bytes; the FIN carries no data.
    assert found is not None
    assert found * run.summary["flows"][0]["fct_s"] == pytest.approx(12e6)
