"""Presets as they are shown: all side by side, and one with its sources."""

import json

import pytest

import fairway
from conftest import SMALL, command
from fairway.cli import presets
from fairway.experiment.plan import parse_toml

KNOWN = fairway.presets()
NAMES = [preset["name"] for preset in KNOWN]


def fits(text, columns=80):
    return max(len(line) for line in text.splitlines()) <= columns


def test_the_list_shows_every_switch_once():
    done = command("presets")
    assert done.returncode == 0, done.stderr
    assert fits(done.stdout)
    assert all(name in done.stdout for name in NAMES)
    for switch, value in KNOWN[0]["switches"].items():
        if switch in presets.differing(KNOWN):
            assert f"\n{switch} " in done.stdout
        else:
            assert f"{switch} {presets.plain(value)}" in done.stdout.replace("\n", " ")


def test_differences_are_seen():
    """Of presets whose values are known by heart: TCP_INIT_CWND, RFC 3390."""
    table = next(
        line.split()
        for line in command("presets").stdout.splitlines()
        if line.startswith("initial_window ")
    )
    assert table[1:6] == ["10", "segments", "=", "3", "segments"]
    # Both have 3 duplicate acknowledgements, so that is no row.
    assert "reordering" not in presets.differing(KNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_one_preset_has_a_source_for_every_switch(name):
    done = command("presets", name)
    assert done.returncode == 0, done.stderr
    assert fits(done.stdout)
    one = json.loads(command("presets", name, "--json").stdout)
    assert one == next(preset for preset in KNOWN if preset["name"] == name)
    assert list(one["switches"]) == list(one["sources"])
    assert all(one["sources"].values())
    rows = [line.split()[0] for line in done.stdout.splitlines() if line and line[0] != " "]
    assert set(one["switches"]) <= set(rows)


def test_json_is_a_list_of_presets():
    listed = json.loads(command("presets", "--json").stdout)
    assert listed == KNOWN
    for preset in listed:
        assert set(preset) == {"name", "summary", "switches", "sources"}
        assert set(preset["switches"]) == set(KNOWN[0]["switches"])


@pytest.mark.parametrize("preset", KNOWN, ids=NAMES)
def test_what_is_shown_can_be_written(preset):
    """A file that writes every switch runs as one that names the preset."""
    written = {key: value for key, value in preset["switches"].items() if value is not None}
    whole, named = (
        fairway.run({**parse_toml(SMALL, "SMALL"), "stack": stack})
        for stack in (written, {"preset": preset["name"]})
    )
    assert whole.flows.equals(named.flows)


@pytest.mark.parametrize("columns", [80, 120])
def test_many_presets_take_several_tables(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    many = list(KNOWN)
    presets.show_comparison(many)
    shown = capsys.readouterr().out
    assert fits(shown, columns)
    blocks = shown.strip().split("\n\n")
    assert len(blocks) > 1
    switches = presets.differing(many)
    for block in blocks:
        # The default preset is in each; no cell is broken: a switch is a line.
        lines = block.splitlines()
        assert [line.split()[0] for line in lines[-len(switches) :]] == switches
        assert lines[-len(switches) - 2].split()[:2] == ["switch", many[0]["name"]]


@pytest.mark.parametrize(
    ("preset", "flow", "told"),
    [
        # The name that Linux's own source gives to Westwood+ (net/ipv4/tcp_westwood.c).
        ("linux-6.1", {"cc": "westwood"}, 'write cc = "westwood+"'),
        ("linux-2.6.27", {"cc": "westwood"}, 'write cc = "westwood+"'),
        ("ns2-tcp-linux", {"cc": "westwood"}, 'write cc = "westwood+"'),
        ("ns2-tcp-linux", {"cc": "tcp-lp"}, "does not have the one of linux-2.6.22"),
        ("ns3-3.29", {"cc": "scalable"}, None),
        ("linux-6.1", {"cc": "westwood", "cc_variant": "paper"}, None),
        ("linux-6.1", {"cc": "westwood+"}, None),
        # ns-3's TcpWestwood is Westwood unless it is asked for Westwood+.
        ("ns3-3.29", {"cc": "westwood"}, None),
        ("rfc5681", {"cc": "westwood"}, None),
        # No Linux has a Tahoe that could be meant.
        ("linux-6.1", {"cc": "tahoe"}, None),
    ],
)
def test_a_name_that_the_stack_has_for_something_else_is_told(preset, flow, told):
    experiment = parse_toml(SMALL, "small.toml")
    experiment["stack"] = {"preset": preset}
    experiment["duration"] = "1 s"
    experiment.pop("measure", None)
    experiment["flow"] = [flow, flow]
    warnings = fairway.run(experiment).warnings
    assert len(warnings) == (told is not None), warnings
    assert told is None or told in warnings[0]
