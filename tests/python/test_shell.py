"""`fairway shell` and flows of programs, on a real kernel where one was built."""

from __future__ import annotations

import filecmp
import gc
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fairway
from fairway.backends.linux import cache
from fairway.errors import FairwayError, InputError
from fairway.results.program_tables import program_tables

#: 20 Mbit/s, a round trip of 100 ms, and one packet of a hundred lost.
LOSSY = """
duration = "60 s"
[topology]
kind = "dumbbell"
frame_overhead = "14 bytes"
[topology.bottleneck]
rate  = "20 Mbit/s"
delay = "50 ms"
loss  = { kind = "bernoulli", probability = 0.01 }
[[flow]]
cc = "cubic"
"""
CLEAN = LOSSY.replace('loss  = { kind = "bernoulli", probability = 0.01 }\n', "")
#: Payload of a full segment, and its frame: IP and TCP headers with timestamps, Ethernet's.
PAYLOAD, FRAME = 1448, 1514


@pytest.fixture(scope="module", autouse=True)
def kernel():
    found = cache.find()
    if found is None or not found.has_network:
        pytest.skip("no kernel with Fairway's network: `fairway linux build` makes one")
    return found


@pytest.fixture
def shell(tmp_path):
    """Runs `fairway shell` on an experiment."""

    def run(experiment, *words, given=subprocess.DEVNULL, cwd=tmp_path):
        file = tmp_path / "path.toml"
        file.write_text(experiment)
        return subprocess.run(
            [sys.executable, "-m", "fairway", "shell", file, *words],
            cwd=cwd, capture_output=True, timeout=300, check=False,
            **({"input": given} if isinstance(given, bytes) else {"stdin": given}),
        )  # fmt: skip

    return run


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            pytest.skip(f"{program} is not installed")


def sh(script: str) -> tuple[str, ...]:
    return ("--alone", "--", "sh", "-c", script)


def test_a_command_ends_as_it_would_without(shell):
    done = shell(CLEAN, *sh("echo out; echo err >&2; exit 3"))
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    assert shell(CLEAN, *sh("kill -TERM $$")).returncode == 128 + 15
    assert shell(CLEAN, *sh("true")).returncode == 0


def test_what_cannot_be_started_is_said(shell, tmp_path):
    done = shell(CLEAN, "--", "no-such-program")
    assert done.returncode == 127
    assert b"no-such-program could not be started on s0" in done.stderr
    (tmp_path / "data").write_text("nothing to run")
    assert shell(CLEAN, "--", "./data").returncode == 126


def test_a_reader_that_goes_away_ends_it_as_the_command(shell, tmp_path):
    shell(CLEAN, *sh("true"))
    words = [sys.executable, "-m", "fairway", "shell", "path.toml", "--alone", "--", "seq", "99999"]
    done = subprocess.run(
        ["bash", "-c", f"{shlex.join(words)} | true; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    # 128 and SIGPIPE, as without Fairway.
    assert (done.returncode, done.stderr) == (141, b"")


def test_errors_of_fairway_itself_have_a_code_of_their_own(shell):
    done = shell(CLEAN, "--on", "d7", "--", "true")
    assert done.returncode == 125
    assert b"--on: there is no host 'd7' in this network; there is s0, d0" in done.stderr
    done = shell(CLEAN, "--background", "iperf3 -s", "--", "true")
    assert done.returncode == 125
    assert b"expected a host, a colon and a command" in done.stderr


def test_the_kernel_can_be_chosen(shell):
    done = shell(CLEAN, "--kernel", "2.4", "--", "true")
    assert (done.returncode, b"no kernel of that release was built" in done.stderr) == (125, True)


def test_a_flow_of_the_file_is_not_one_of_the_command_line(shell):
    named = PROGRAMS.replace('id = "greeting"', 'id = "background-x"')
    done = shell(named, "--allow-programs", "--summary", "--", "sleep", "4")
    assert done.returncode == 0
    assert b"[s1]" not in done.stderr


def test_without_standard_output_it_ends_as_the_command(shell, tmp_path):
    shell(CLEAN, *sh("true"))
    words = [sys.executable, "-m", "fairway", "shell", "path.toml", "--alone", "--", "echo", "x"]
    script = f"exec {' '.join(words)} >&-"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


def test_random_bytes_take_no_time(shell):
    script = "import os, time; os.getrandom(1); print(time.time())"
    done = shell(CLEAN, "--alone", "--", sys.executable, "-c", script)
    # 2026-01-01, and less than a tick of 1 ms.
    assert 0 <= float(done.stdout) - 1_767_225_600 < 0.001


def test_a_kernel_has_the_same_memory_each_time(shell):
    script = "cat /proc/meminfo /proc/zoneinfo /proc/buddyinfo"
    runs = [shell(CLEAN, *sh(script)) for _ in range(3)]
    if b"memory at random" in runs[0].stderr:
        pytest.skip("this machine refuses personality(2)")
    assert b"MemTotal" in runs[0].stdout
    assert len({done.stdout for done in runs}) == 1


def test_what_fails_beside_the_command_is_said(shell):
    done = shell(CLEAN, "--alone", "--background", "d0: no-such-server", "--", "true")
    assert done.returncode == 0
    assert b"no-such-server on d0 could not be started" in done.stderr
    assert b"true" not in done.stderr


def test_limits_and_places_are_checked_before_the_start(shell, tmp_path):
    foreign = os.fsdecode(b"A=\xff")
    for option, words in [
        ("--env", ["--env", foreign, "--", "true"]),
        ("--on", ["--on", foreign, "--", "true"]),
        ("--background", ["--background", f"{foreign}: true", "--", "true"]),
        ("-- COMMAND", ["--", "echo", foreign]),
    ]:
        done = shell(CLEAN, *words)
        assert done.returncode == 125
        assert re.fullmatch(rb"fairway: %b: '.*' is not UTF-8\n" % option.encode(), done.stderr)
    done = shell(CLEAN, "--alone", "--", "")
    assert (done.returncode, b"-- COMMAND: the command is empty" in done.stderr) == (125, True)
    for limit, said in [
        ("0s", '--time-limit: expected more than zero, got "0s"'),
        ("-1 s", "--time-limit: expected"),
        ("soon", "--time-limit: expected"),
    ]:
        done = shell(CLEAN, "--time-limit", limit, "--", "true")
        assert (done.returncode, said.encode() in done.stderr) == (125, True), done.stderr
    done = shell(CLEAN, "--time-limit", "10", "--", "true")
    assert (done.returncode, done.stderr.count(b"\n")) == (125, 1)
    assert b"--time-limit: expected a duration" in done.stderr
    done = shell(CLEAN, "--real-time-limit", "nan", "--", "true")
    assert (done.returncode, b"expected seconds, got nan" in done.stderr) == (125, True)
    done = shell(CLEAN, "--out", tmp_path / "run", "--capture", "nowhere", "--", "true")
    assert (done.returncode, b'there is no place "nowhere"' in done.stderr) == (125, True)


def test_dates_are_those_of_a_kernels_clock(shell):
    def at_the_beginning(date):
        done = shell(CLEAN, "--date", date, *sh("date -u '+%F %T.%N'; exec sleep 0.5"))
        assert done.returncode == 0, done.stderr
        return done.stdout.decode().strip()[:23]

    # A millisecond is more than the start of two programs takes.
    assert at_the_beginning("2026-05-01") == "2026-05-01 00:00:00.000"
    assert at_the_beginning("1970-01-02") == "1970-01-02 00:00:00.000"
    assert at_the_beginning("2232-04-17T23:59:59") == "2232-04-17 23:59:59.000"
    for date in ("1900-01-01", "1970-01-01", "2232-04-18", "2300-01-01"):
        done = shell(CLEAN, "--date", date, "--", "true")
        assert done.returncode == 125
        assert b"goes from 1970-01-02 to 2232-04-17" in done.stderr


def test_directories_that_no_host_has_are_refused(shell, tmp_path):
    assert shell(CLEAN, "--alone", "--", "true").returncode == 0
    words = [sys.executable, "-m", "fairway", "shell", tmp_path / "path.toml", "--", "true"]
    own, other = Path("/dev/shm/fairway-test-directory"), tmp_path / os.fsdecode(b"a\xff")
    gone = tmp_path / "gone"
    told = []
    for directory in (own, other, gone):
        directory.mkdir(exist_ok=True)
        script = (
            f"cd {shlex.quote(str(directory))} && rmdir {gone} 2>/dev/null; exec "
            + shlex.join(map(str, words))
        )
        done = subprocess.run(["sh", "-c", script], capture_output=True, timeout=300, check=False)
        told.append((done.returncode, done.stderr.decode().partition(", ")[0]))
        directory.rmdir() if directory.exists() else None
    assert told == [
        (125, "fairway: programs: each host has a /dev of its own"),
        (125, "fairway: programs: the current directory"),
        (125, "fairway: programs: the current directory was removed; change to another one\n"),
    ]


def test_programs_of_the_file_keep_their_side_alone(shell):
    named = PROGRAMS.replace("[[flow]]\nid", '[[flow]]\nfrom = "d0"\nto = "s0"\nid')
    done = shell(named, "--allow-programs", "--alone", "--summary", "--", "sleep", "4")
    assert done.returncode == 0, done.stderr
    assert b"greeting" in done.stderr


def test_standard_input_is_read(shell):
    text = b"".join(b"%d\n" % number for number in range(100_000))
    done = shell(CLEAN, "--alone", "--", "sha256sum", given=text)
    plain = subprocess.run(["sha256sum"], input=text, capture_output=True, check=True)
    assert (done.returncode, done.stdout) == (0, plain.stdout)


def test_files_are_this_machines_and_what_is_written_is_gone(shell, tmp_path):
    (tmp_path / "given").write_text("from here")
    done = shell(
        CLEAN,
        *sh("cat given; echo changed > given; cat given; echo new > /etc/f-new; cat /etc/f-new"),
    )
    assert (done.returncode, done.stdout) == (0, b"from herechanged\nnew\n")
    assert (tmp_path / "given").read_text() == "from here"
    assert not Path("/etc/f-new").exists()


def test_files_are_kept_in_the_results(shell, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "old").write_text("as it was")
    script = (
        "mkdir -p mine/a/b; echo deep > mine/a/b/c; ln -s /etc/passwd mine/link; mkdir mine/empty;"
        "echo new > one; chmod 750 one; echo in memory > /run/two; ln -s one three; exit 4"
    )
    done = shell(
        CLEAN, "--out", "out", "--keep", "mine", "--keep", "./one", "--keep", "/run/two",
        "--keep", "three", "--keep", "d0:one", "--background", "d0: sh -c 'echo there > one'",
        *sh(script),
    )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr == b"fairway: keep: s0:mine: left out 1 special file\n"
    files = tmp_path / "out" / "files"
    found = {str(path.relative_to(files)): path for path in files.rglob("*") if path.is_file()}
    texts = {name: path.read_text() for name, path in found.items()}
    assert texts == {
        "s0/mine/a/b/c": "deep\n", "s0/one": "new\n", "s0/run/two": "in memory\n",
        "s0/three": "new\n", "d0/one": "there\n",
    }  # fmt: skip
    assert not any(path.is_symlink() for path in files.rglob("*"))
    assert found["s0/one"].stat().st_mode & 0o777 == 0o754
    # Known to be of Fairway: the directory can be replaced.
    again = shell(CLEAN, "--out", "out", "--replace", *sh("true"))
    assert again.returncode == 0, again.stderr
    assert not files.exists()


def test_what_is_not_kept_is_said(shell, tmp_path):
    script = "ln -s /../../../fairway/plan.json out; truncate -s 2G large; mkfifo pipe"
    keeps = [word for path in ("gone", "out", "large", "pipe") for word in ("--keep", path)]
    done = shell(CLEAN, "--out", "out", *keeps, *sh(script))
    assert done.returncode == 125
    said = done.stderr.decode().splitlines()
    assert [line.split(": ")[2:] for line in said] == [
        ["s0:gone", "not kept", "No such file or directory (os error 2)"],
        ["s0:out", "not kept", "No such file or directory (os error 2)"],
        ["s0:large", "not kept", "more than 1 GiB or 10000 files are to be kept"],
        ["s0:pipe", "not kept", "it is neither a file nor a directory"],
    ]
    assert (tmp_path / "out" / "summary.json").is_file()
    assert not (tmp_path / "out" / "files").exists()


@pytest.mark.parametrize(
    ("keeps", "reason"),
    [
        (["a/../../b"], "has a .. in it"),
        (["/"], "all files of a host"),
        ([":a"], "expected PATH or HOST:PATH"),
        (["d7:a"], "no program reaches a host 'd7'"),
        (["a", "./a/b"], "would be at the same place"),
    ],
)
def test_paths_that_cannot_be_kept_are_refused(shell, tmp_path, keeps, reason):
    options = [word for path in keeps for word in ("--keep", path)]
    done = shell(CLEAN, "--out", "out", *options, *sh("true"))
    assert (done.returncode, (tmp_path / "out").exists()) == (125, False)
    assert reason in done.stderr.decode()


def test_files_are_kept_in_a_directory_that_is_named(shell):
    done = shell(CLEAN, "--keep", "a", *sh("true"))
    assert done.returncode == 125
    assert b"--keep: needs --out DIR" in done.stderr


def test_root_on_a_host_cannot_mount_this_machines_files(shell, tmp_path):
    (tmp_path / "kept").write_text("as it was")
    mount = f"mkdir /tmp/m && mount -t hostfs none /tmp/m -o {tmp_path} && echo x > /tmp/m/kept"
    again = "mount -o remount,rw / ; mount -t proc proc /mnt"
    for script in (mount, again):
        done = shell(CLEAN, *sh(script))
        assert done.returncode != 0
        assert b"ermission denied" in done.stderr or b"not permitted" in done.stderr
    assert (tmp_path / "kept").read_text() == "as it was"
    assert not (tmp_path / "m").exists()


def test_root_on_a_host_cannot_reach_the_run_directory(shell, tmp_path):
    # What ends a chroot: a working directory outside of a further one has parents up to the top.
    (tmp_path / "leave.py").write_text(
        "import os\nos.mkdir('/run/below')\nos.chroot('/run/below')\n"
        "for _ in range(9): os.chdir('..')\n"
        "os.chroot('.')\nprint(*sorted(os.listdir('/run')))\n"
    )
    done = shell(CLEAN, *sh("python3 leave.py; ls /proc/1/root/"))
    # The agent, process 1, has the run directory and the files of all hosts there.
    assert done.stdout == b"below lock user\n"
    assert b"/proc/1/root/': Permission denied" in done.stderr


def test_hosts_have_names_and_an_environment_of_their_own(shell, monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("PASSED", "on")
    names = "env | cut -d= -f1 | sort | tr '\\n' ' '; echo"
    script = f"hostname; getent hosts d0; {names}; echo $GIVEN $PASSED; date +%F"
    done = shell(CLEAN, "--env", "GIVEN=x", "--env", "PASSED", *sh(script))
    host, address, names, values, date = done.stdout.decode().splitlines()
    assert (host, address.split()[1]) == ("s0", "d0")
    assert "SECRET" not in names and "GIVEN HOME LANG PASSED PATH" in names
    assert (values, date) == ("x on", "2026-01-01")


def test_a_ping_takes_the_round_trip_of_the_path(shell):
    needs("ping")
    done = shell(CLEAN, "--alone", "--", "ping", "-c", "3", "d0")
    assert done.returncode == 0, done.stderr
    # Propagation, and 98 bytes at 20 Mbit/s each way: 84 of IP and 14 of the frame.
    times = [float(time) for time in re.findall(rb"time=([\d.]+) ms", done.stdout)]
    assert times == pytest.approx([100 + 2 * 98 * 8 / 20e3] * 3, abs=0.2)


def test_captures_show_a_ping(shell, tmp_path):
    needs("ping", "tcpdump")
    words = ("--alone", "--out", "out", "--capture", "hosts", "--", "ping", "-c", "2", "d0")
    done = shell(CLEAN, *words)
    assert done.returncode == 0, done.stderr
    read = ["tcpdump", "-n", "-t", "-r", str(tmp_path / "out" / "captures" / "d0.pcapng")]
    printed = subprocess.run(read, capture_output=True, check=True, text=True).stdout
    shown = re.findall(r"ICMP echo (\w+), id \d+, seq (\d), length (\d+)", printed)
    # 56 bytes and the header of ICMP.
    assert shown == [(kind, str(n), "64") for n in (1, 2) for kind in ("request", "reply")]


def test_a_time_limit_ends_what_never_ends(shell):
    done = shell(CLEAN, "--time-limit", "2 s", *sh("while true; do date +%s; sleep 1; done"))
    assert done.returncode == 124
    assert b"limit of virtual time, 2 s" in done.stderr
    seconds = [int(line) for line in done.stdout.split()]
    assert seconds == list(range(seconds[0], seconds[0] + 2))


def test_a_program_that_spins_is_ended_by_the_limit_of_real_time(shell):
    done = shell(CLEAN, "--real-time-limit", "5", *sh("while :; do :; done"))
    assert done.returncode == 124
    assert b"real time" in done.stderr


def test_curl_and_nginx_give_the_same_bytes_times_and_captures(shell, tmp_path):
    needs("curl", "nginx")
    (tmp_path / "www").mkdir()
    content = bytes(range(256)) * 8000
    (tmp_path / "www" / "file").write_bytes(content)
    (tmp_path / "nginx.conf").write_text(
        f"user root; daemon off; pid /run/nginx.pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; server {{ listen 80; root {tmp_path}/www; }} }}\n"
    )

    def fetch(out):
        done = shell(
            LOSSY, "--alone", "--out", str(out), "--capture", "hosts",
            # Losses are on the way from sources to sinks.
            "--on", "d0", "--background", f"s0: nginx -c {tmp_path}/nginx.conf",
            "--", "sh", "-c",
            "curl -sS -o copy -w '%{size_download} %{time_total} %{http_code}\\n' http://s0/file"
            " && sha256sum < copy",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    first, second = (fetch(tmp_path / name) for name in ("one", "two"))
    assert first == second
    size, seconds, code, digest, _ = first.split()
    assert (int(size), code) == (len(content), b"200")
    plain = subprocess.run(["sha256sum"], input=content, capture_output=True, check=True)
    assert digest == plain.stdout.split()[0]
    # Not faster than the link, and not so slow that the losses cannot explain it.
    least = len(content) / PAYLOAD * FRAME * 8 / 20e6
    assert least + 0.2 < float(seconds) < 20
    captures = sorted(path.name for path in (tmp_path / "one" / "captures").iterdir())
    assert captures
    match, mismatch, errors = filecmp.cmpfiles(
        tmp_path / "one" / "captures", tmp_path / "two" / "captures", captures, shallow=False
    )
    assert (len(match), mismatch, errors) == (len(captures), [], [])
    summary = json.loads((tmp_path / "one" / "summary.json").read_text())
    back = next(flow for flow in summary["flows"] if flow["id"] == "shell/reverse")
    assert back["lost_segments"] > 0


def test_the_goodput_of_iperf3_is_that_of_fairway(shell, tmp_path):
    needs("iperf3")
    done = shell(
        CLEAN, "--alone", "--out", str(tmp_path / "out"),
        "--background", "d0: iperf3 --server",
        "--", "iperf3", "--client", "d0", "--time", "10", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)["end"]["sum_received"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    ours = next(flow for flow in summary["flows"] if flow["id"] == "shell")
    payload = ours["goodput_bps"] * summary["ended_s"] / 8
    # At its end iperf3 leaves unread what is on the way: less than the path and its queue hold,
    # which is one bandwidth-delay product each. Beside it there are two kB of iperf3's own talk.
    on_the_way = 2 * 20e6 / 8 * 0.1
    assert theirs["bytes"] <= payload <= theirs["bytes"] + on_the_way + 2000
    assert theirs["bits_per_second"] == pytest.approx(20e6 * PAYLOAD / FRAME, rel=0.05)


PROGRAMS = (
    CLEAN
    + """
[[flow]]
id = "greeting"
program = ["sh", "-c", "echo started; sleep 1; exit 4"]
server = ["sh", "-c", "sleep 100"]
start = "2 s"
"""
)


def test_flows_of_programs_are_in_the_results():
    run = fairway.run(PROGRAMS, overrides={"duration": "5 s"}, backend="linux", allow_programs=True)
    server, program = run.summary["programs"]
    assert (server["host"], server["ended_s"], server["started_s"]) == (
        "d1",
        None,
        pytest.approx(-1, abs=0.01),
    )
    assert (program["host"], program["exit_code"], program["stdout"]) == ("s1", 4, "started\n")
    assert program["started_s"] == pytest.approx(2, abs=0.001)
    assert program["ended_s"] == pytest.approx(3, abs=0.01)
    assert "greeting: sh on s1 ended with exit code 4" in run.warnings
    assert [flow["id"] for flow in run.summary["flows"]] == [
        "cubic#0",
        "greeting",
        "greeting/reverse",
    ]


def test_children_that_outlive_their_program_are_asked_to_end_at_its_stop():
    child = "trap 'date +%s; exit' TERM; sleep 1000 & wait"
    text = (
        CLEAN
        + f'''
[[flow]]
id = "orphans"
program = ["sh", "-c", """({child}) & exit 3"""]
start = "2 s"
stop = "4 s"
'''
    )
    run = fairway.run(text, overrides={"duration": "6 s"}, backend="linux", allow_programs=True)
    (program,) = run.summary["programs"]
    # The date at the beginning is 2026-01-01, 1767225600 s.
    assert (program["exit_code"], program["stdout"]) == (3, "1767225604\n")
    assert program["ended_s"] == pytest.approx(2, abs=0.01)


def test_flows_between_the_same_hosts_are_counted_on_the_first():
    text = (
        CLEAN
        + """
[[flow]]
id = "there"
from = "left"
to = "right"
program = ["ping", "-c", "2", "-s", "1000", "right"]
[[flow]]
id = "again"
from = "left"
to = "right"
program = ["ping", "-c", "3", "-s", "1000", "right"]
[[flow]]
id = "back"
from = "right"
to = "left"
direction = "reverse"
program = ["ping", "-c", "4", "-s", "1000", "left"]
"""
    )
    needs("ping")
    run = fairway.run(text, overrides={"duration": "6 s"}, backend="linux", allow_programs=True)
    flows = {flow["id"]: flow for flow in run.summary["flows"]}
    assert list(flows) == ["cubic#0", "there", "there/reverse"]
    # Each of the nine requests and its answer: 1000 bytes and the header of ICMP.
    for name in ("there", "there/reverse"):
        assert flows[name]["goodput_bps"] * 6 / 8 == pytest.approx(9 * 1008)
    # Flows and `programs` tell of them; as an application each had a goodput of 0.
    assert "applications" not in run.summary
    told = [warning.partition(";")[0] for warning in run.warnings]
    assert told == [
        f"flow {name}: its packets are counted as those of flow there, which has the same hosts"
        for name in ("again", "back")
    ]


KEPT = (
    CLEAN
    + """
[[flow]]
id = "copy"
program = ["sh", "-c", "mkdir sub; echo here > sub/one; echo two > /run/two"]
server = ["sh", "-c", "echo there > three"]
keep = ["sub", "/run/two", "d1:three", "gone"]
"""
)


def test_files_of_an_experiments_programs_are_kept(temporary, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = fairway.run(
        KEPT, tmp_path / "out", overrides={"duration": "2 s"}, backend="linux", allow_programs=True
    )
    assert run.warnings == ["keep: s1:gone: not kept: No such file or directory (os error 2)"]
    texts = {"s1/sub/one": "here\n", "s1/run/two": "two\n", "d1/three": "there\n"}
    assert files_in(tmp_path / "out" / "files") == texts
    sweep = KEPT.replace("60 s", "2 s") + "[sweep]\nrepetitions = 2\n"
    fairway.run(sweep, tmp_path / "swept", backend="linux", allow_programs=True)
    points = sorted((tmp_path / "swept" / "points").iterdir())
    assert [files_in(point / "files") for point in points] == [texts, texts]
    gc.collect()
    assert list(temporary.iterdir()) == []
    twice = KEPT.replace('"gone"', '"sub/one"')
    with pytest.raises(InputError, match="s1/sub/one and s1/sub would be at the same place"):
        fairway.run(twice, backend="linux", allow_programs=True)


def files_in(directory):
    found = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_text() for path in found}


def test_flows_between_the_same_hosts_are_told_apart_by_port():
    python = "import socket, sys; s = socket.create_connection(('right', {port})); "
    python += "s.sendall(bytes({size})); s.close()"
    server = "import socket; s = socket.create_server(('', {port})).accept()[0]\n"
    server += "while s.recv(65536): pass"
    flows = ""
    for name, port, size in (("first", 81, 100_000), ("second", 82, 300_000)):
        program = json.dumps(["python3", "-c", python.format(port=port, size=size)])
        listening = json.dumps(["python3", "-c", server.format(port=port)])
        flows += f"[[flow]]\nid = '{name}'\nfrom = 'left'\nto = 'right'\nport = {port}\n"
        flows += f"program = {program}\nserver = {listening}\n"
    run = fairway.run(
        CLEAN + flows, overrides={"duration": "5 s"}, backend="linux", allow_programs=True
    )
    found = {flow["id"]: flow["goodput_bps"] * 5 / 8 for flow in run.summary["flows"]}
    assert list(found) == ["cubic#0", "first", "first/reverse", "second", "second/reverse"]
    assert (found["first"], found["second"]) == pytest.approx((100_000, 300_000))
    assert not run.warnings


@pytest.mark.parametrize("backend", ["sim", "model"])
def test_other_backends_refuse_programs(backend):
    with pytest.raises(FairwayError, match=r"flow\.greeting"):
        fairway.run(PROGRAMS, backend=backend)


def program(**changes):
    """What a summary has of one program."""
    usual = {
        "id": "download", "host": "d0", "command": ["curl", "http://s0/"], "started_s": 2.0,
        "ended_s": 3.5, "exit_code": 0, "signal": None, "failure": None, "errno": None,
        "stdout": "first\nlast \x1b[2J\n", "stderr": "warning\n", "output_bytes": [16, 8],
    }  # fmt: skip
    return {**usual, **changes}


@pytest.mark.parametrize(
    ("changes", "end", "output"),
    [
        ({}, "exit 0", "last \\x1b[2J"),
        ({"exit_code": 7}, "exit 7", "warning"),
        ({"exit_code": 7, "stderr": ""}, "exit 7", "last \\x1b[2J"),
        ({"exit_code": None, "signal": 15, "stderr": "x" * 99}, "signal 15", "x" * 31 + "…"),
        ({"exit_code": None, "ended_s": None, "stdout": "", "stderr": ""}, "running", ""),
        ({"exit_code": None, "failure": "no such file"}, "not started", "no such file"),
    ],
)
def test_reports_have_a_line_for_each_program(changes, end, output):
    run = SimpleNamespace(summary={"programs": [program(**changes)]})
    (table,) = program_tables(run)
    ended = "–" if changes.get("ended_s", 0) is None else "3.500"
    assert table.rows == [["download", "d0", "curl http://s0/", "2.000", ended, end, output]]
    assert program_tables(SimpleNamespace(summary={})) == []


def test_programs_of_a_damaged_summary_are_refused(tmp_path):

    fairway.run(CLEAN, tmp_path / "run", overrides={"duration": "100 ms"})
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    summary["programs"] = [program()]
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
    assert "exit 0" in fairway.load(tmp_path / "run").report()
    summary["programs"] = [program(command="curl")]
    (tmp_path / "run" / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(FairwayError, match=r"programs\.0\.command"):
        fairway.load(tmp_path / "run")
