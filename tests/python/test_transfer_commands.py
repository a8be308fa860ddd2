"""Commands of transfers: what they print where, what they refuse, and how they end."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from conftest import command
from fairway.backends.transfer import jobs, tables
from fairway.cli import transfer as shared
from fairway.cli import transfer_screen as screen
from fairway.errors import InputError, Interrupted, RunFailed
from fairway.ground import quantities
from fairway.results import transfer_sections as sections
from transfer_ends import Waiting


def refused(*arguments: str, says: str, code: int = 2) -> None:
    done = command(*arguments)
    assert done.returncode == code, done.stderr
    assert says in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["send", "x", "host"], "no token: give --token, --token-file or FAIRWAY_TOKEN"),
        (["send", "x", "host", "--token", "t", "--streams", "0"], "--streams: expected a number"),
        (["send", "x", "host", "--token", "t", "--streams", "many"], "or auto, got 'many'"),
        (["send", "x", "host", "--token", "t", "--limit", "10"], "--limit: expected a rate"),
        (["send", "x", "host", "--token", "t", "--chunk", "8 m"], "--chunk: expected"),
        (["send", "x", "host", "--token-file", "/no/such/file"], "no such token file"),
        (["recv", "--out", ".", "--timeout", "soon"], "--timeout: expected a duration"),
        (["generate", "h", "--iperf3", "--verify"], "--verify: iperf3 does not know it"),
        (["generate", "h", "--token", "t", "--rate", "1 Mbit/s", "--every", "1 ms"],
         "--rate and --every: give one of them"),
        (["generate", "h", "--iperf3", "--send-buffer", "1 MB", "--receive-buffer", "2 MB"],
         "iperf3 has one size for both"),
        (["collect", "--iperf3", "--plain"], "--plain: iperf3 does not know it"),
        (["collect", "--iperf3", "--interval", "1 ns"], "interval"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_said_before_anything_is_done(arguments, says):
    refused(*arguments, says=says)


def test_who_does_not_answer_is_a_failure():
    refused("generate", "127.0.0.1:1", "--iperf3", says="127.0.0.1:1", code=1)


def test_a_collector_is_stopped_with_ctrl_c():
    with Waiting("collect", "--iperf3") as collector:
        assert collector.interrupt() == Interrupted.exit_code
        assert not any("Traceback" in line for line in collector.printed["stderr"])


def test_json_is_all_there_is_on_standard_output():
    with Waiting("collect", "--iperf3", "--once") as collector:
        done = command("generate", collector.address, "--iperf3", "--bytes", "1 MB", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["transfer"]["payload_bytes"] >= 1_000_000
        assert collector.ended() == 0


class Heard:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.events: list = []
        self.sessions: list = []

    def event(self, event) -> None:
        self.events.append(event)

    def progress(self, progress) -> None:
        assert progress["elapsed_s"] >= 0

    def session(self, session) -> None:
        self.sessions.append(session)


def test_errors_of_the_compiled_module_are_errors_of_ours():
    with pytest.raises(InputError, match="no such job"):
        jobs.follow({"job": "nothing"}, Heard())
    with pytest.raises(InputError, match="unknown field"):
        jobs.follow({"job": "iperf3-client", "options": {"hots": "x"}}, Heard())
    with pytest.raises(RunFailed, match="connecting to"):
        jobs.follow({"job": "iperf3-client", "options": {"host": "127.0.0.1:1"}}, Heard())


def test_a_listener_that_fails_stops_the_transfer():
    class Broken(Heard):
        def progress(self, progress) -> None:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="stopped"):
        jobs.follow({"job": "iperf3-server", "options": {"bind": "127.0.0.1:0"}}, Broken())


def test_quantities_are_read_as_in_experiment_files():
    assert quantities.rate_bps("10 Mbit/s", "--limit") == 10_000_000
    assert quantities.size_bytes("8 MiB", "--chunk") == 8_388_608
    assert quantities.seconds("100 ms", "--timeout") == 0.1
    assert quantities.seconds(None, "--timeout") is None


def test_a_token_comes_from_wherever_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv(shared.TOKEN_VARIABLE, "from-environment")
    assert shared.token(None, None) == "from-environment"
    assert shared.token("given", None) == "given"
    (tmp_path / "token").write_text("token: from-file\n")
    assert shared.token(None, tmp_path / "token") == "from-file"
    (tmp_path / "kept").write_text('{\n  "token": "abc",\n  "key": "secret"\n}\n')
    with pytest.raises(InputError, match="kept: this is what a receiver keeps"):
        shared.token(None, tmp_path / "kept")


PROGRESS = {
    "done_bytes": 25_000_000,
    "total_bytes": 100_000_000,
    "duration_s": None,
    "elapsed_s": 5.0,
    "goodput_bps": 40e6,
    "streams": [
        {"id": f"transfer/{number}", "goodput_bps": 4e6, "srtt_s": 0.2, "cwnd_segments": 69.6,
         "retransmitted_segments": 3}
        for number in (10, 2)
    ],
}  # fmt: skip


def test_the_bar_says_how_much_how_fast_and_how_long_still():
    # 75 MB at 40 Mbit/s: 15 s.
    assert screen.figures(PROGRESS, 0.25) == ["25% of 100 MB", "40 Mbit/s", "15 s left"]
    unknown = {**PROGRESS, "total_bytes": None}
    assert screen.figures(unknown, None) == ["25 MB", "40 Mbit/s", ""]
    stalled = {**PROGRESS, "goodput_bps": 0.0}
    assert screen.figures(stalled, 0.25)[2] == ""
    first, second = screen.stream_lines(PROGRESS["streams"])
    assert first.split()[:3] == ["transfer/2", "4", "Mbit/s"] and "transfer/10" in second
    assert "cwnd      70" in first and "200 ms" in first and "3 retrans." in first


def test_without_a_terminal_there_are_only_final_lines(capsys):
    with screen.Screen("x") as shown:
        shown.progress(PROGRESS)
        shown.event({"event": "token", "token": "abc"})
        shown.event({"event": "listening", "address": "127.0.0.1:5311"})
    captured = capsys.readouterr()
    assert captured.out == "token: abc\n"
    assert captured.err == "listening at 127.0.0.1:5311\n"


def test_on_a_terminal_there_is_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with screen.Screen("data.bin", per_stream=True) as shown:
        shown.progress(PROGRESS)
    assert "data.bin" in terminal.getvalue() and "25% of 100 MB" in terminal.getvalue()
    assert "transfer/10" in terminal.getvalue()


def test_the_last_table_has_a_line_for_each_stream_and_one_for_all():
    flow = {"cc": "cubic", "goodput_bps": 4e6, "retransmitted_segments": 2,
            "mean_cwnd_segments": 10.0, "mean_srtt_s": 0.2}  # fmt: skip
    names = ["transfer/0", "transfer/1"]
    summary = {
        "flows": [{"id": name, **flow} for name in names],
        "applications": [{"mean_cwnd_segments": 20.0}],
        "transfer": {"flows": [{"id": name, "payload_bytes": 10_000_000} for name in names]},
    }
    [table] = tables.stream_tables(summary)
    assert [row[0] for row in table.rows] == [*names, "all"]
    assert table.rows[2][2:6] == ["20 MB", "8", "4", "20"]
    assert table.columns[3] == "goodput (Mbit/s)"


def test_one_segment_sent_again_is_one_segment():
    sums = {"retransmitted_segments": 1, "figures": {"retransmitted_bytes": 1448}}
    [row] = sections._of_segments(SimpleNamespace(summary={"applications": [sums]}))
    assert row == ["retransmitted", "1.45 kB, 1 segment"]


def test_many_streams_share_a_line():
    absent = ("mean_cwnd_segments", "mean_srtt_s", "mean_one_way_delay_s", "fct_s")
    flow = {
        "cc": "cubic",
        "goodput_bps": 1e6,
        "retransmitted_segments": 1,
        **dict.fromkeys(absent),
    }
    names = [f"load/{number}" for number in range(40)]
    names += [f"{name}/reverse" for name in names]
    summary = {
        "flows": [{"id": name, **flow} for name in names],
        "applications": [{"mean_cwnd_segments": 800.0}],
        "transfer": {"flows": [
            {"id": name, "payload_bytes": 2000 if name.endswith("/reverse") else 1000}
            for name in names
        ]},
    }  # fmt: skip
    [table] = tables.stream_tables(summary)
    assert [row[:4] for row in table.rows] == [
        ["load/… (40)", "cubic", "40 kB", "40"],
        ["load/…/reverse (40)", "cubic", "80 kB", "40"],
        ["all", "", "120 kB", "80"],
    ]
