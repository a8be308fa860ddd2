"""Bounds of the streams of `fairway shell`: what is read, written and left."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import pytest

from fairway.backends.linux.streams import Stream, TooMuchOutput
from test_shell import CLEAN, kernel, sh, shell

__all__ = ["kernel", "shell"]  # fixtures


def test_a_stream_ends_at_its_bound(tmp_path):
    (tmp_path / "written").write_bytes(b"0123456789")
    with (tmp_path / "out").open("wb") as out:
        exact = Stream(tmp_path / "written", out, "all of it", 10)
        exact.pump()
        exact.close()
    assert (tmp_path / "out").read_bytes() == b"0123456789"
    assert not (tmp_path / "written").exists()
    (tmp_path / "written").write_bytes(b"0123456789")
    with (tmp_path / "out").open("wb") as out:
        short = Stream(tmp_path / "written", out, "output of cat", 9)
        with pytest.raises(TooMuchOutput, match=r"output of cat: more than 9 bytes, so the run"):
            short.pump()
        short.pump()
        short.close()
    assert (tmp_path / "out").read_bytes() == b"012345678"


def test_a_line_without_end_is_passed_on_in_pieces(tmp_path):
    (tmp_path / "written").write_bytes(b"a\n" + b"x" * 100_000 + b"y")
    with (tmp_path / "out").open("wb") as out:
        stream = Stream(tmp_path / "written", out, "output", 1 << 20, b"[s0] ")
        stream.pump()
        with (tmp_path / "written").open("ab") as more:
            more.write(b"z")
        stream.pump()
        stream.close()
    lines = (tmp_path / "out").read_bytes().split(b"\n")
    assert lines == [b"[s0] a", b"[s0] " + b"x" * 100_000 + b"y", b"[s0] z", b""]


def test_output_without_end_ends_the_run(shell, tmp_path):
    done = shell(CLEAN, "--stream-limit", "1 MiB", "--out", "out", "--alone", "--", "yes")
    assert (done.returncode, done.stdout) == (125, b"y\n" * (1 << 19))
    assert done.stderr == (
        b"fairway: standard output of yes on s0: more than 1 MiB, so the run was ended; "
        b'--stream-limit "8 GiB" passes on more\n'
    )
    assert not (tmp_path / "out").exists()
    behind = ("--background", "d0: sh -c 'yes >&2'", *sh("sleep 5"))
    done = shell(CLEAN, "--stream-limit", "1 MiB", *behind)
    assert done.returncode == 125
    assert b"standard error of sh on d0: more than" in done.stderr


def test_output_that_the_disk_has_no_room_for_ends_the_run(tmp_path):
    (tmp_path / "path.toml").write_text(CLEAN)
    (tmp_path / "small").mkdir()
    inside = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-r", "-m"]
    mount = f"mount -t tmpfs -o size=3m small {tmp_path}/small"
    tried = [*inside, *mount.split()]
    if shutil.which("unshare") is None or subprocess.run(tried, check=False).returncode:
        pytest.skip("cannot mount a small disk in a namespace of its own here")
    words = f"{sys.executable} -m fairway shell path.toml"
    command = shlex.join(sh("head -c 10000000 /dev/zero; sleep 5; exit 5"))
    done = subprocess.run(
        [*inside, "sh", "-c", f"{mount} && TMPDIR={tmp_path}/small exec {words} {command}"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 125
    assert len(done.stdout) < 3 << 20
    assert (
        b"keeping the standard output of sh on s0: No space left on device (os error 28); the rest "
        b"of it is lost, so the run was ended\n"
    ) in done.stderr
    assert b"small is full" in done.stderr and b"set TMPDIR to another directory" in done.stderr


def test_a_reader_that_goes_away_ends_the_run_as_it_would_the_command(shell, tmp_path):
    shell(CLEAN, *sh("true"))
    words = f"{sys.executable} -m fairway shell path.toml --alone --out out -- yes"
    done = subprocess.run(
        ["bash", "-c", f"{words} </dev/null | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (128 + 13, b"y\n", b"")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("limit", "command", "said", "written"),
    [
        (("--real-time-limit", "3"), ("yes",), b"ended after 3 s of real time", None),
        # Seven times 9 lines of 2 bytes, 90 of 3, 900 of 4, 9000 of 5 and one of 6.
        (
            ("--time-limit", "2 s"),
            ("sh", "-c", "while :; do seq 10000; sleep 0.3; done"),
            b"at its limit of virtual time, 2 s",
            7 * 48_894,
        ),
    ],
)
def test_limits_of_time_hold_while_nobody_reads(tmp_path, limit, command, said, written):
    (tmp_path / "path.toml").write_text(CLEAN)
    words = ["fairway", "shell", "path.toml", "--alone", *limit, "--", *command]
    with subprocess.Popen(
        [sys.executable, "-m", *words], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        if written is None:
            process.wait(60)
        else:
            time.sleep(5)
            assert len(process.stdout.read()) == written
        assert process.wait(60) == 124
        assert said in process.stderr.read()


def test_a_full_disk_behind_an_output_stream_is_named(shell, tmp_path):
    shell(CLEAN, *sh("true"))
    words = f"{sys.executable} -m fairway shell path.toml --alone -- echo x"
    done = subprocess.run(
        ["sh", "-c", f"{words} </dev/null >/dev/full"],
        cwd=tmp_path, capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    said = b"fairway: standard output of echo on s0: cannot be passed on: No space left on device\n"
    assert (done.returncode, done.stderr) == (125, said)


def test_input_without_end_is_refused(shell):
    given = b"x" * ((1 << 20) + 1)
    done = shell(CLEAN, "--stream-limit", "1 MiB", *sh("wc -c"), given=given)
    assert (done.returncode, done.stdout) == (125, b"")
    assert b"standard input: more than 1 MiB" in done.stderr
    done = shell(CLEAN, "--stream-limit", "1 MiB", *sh("wc -c"), given=given[1:])
    assert (done.returncode, done.stdout) == (0, b"1048576\n")


def test_output_that_nobody_reads_is_bounded_and_given_up_at_a_signal(tmp_path):
    (tmp_path / "path.toml").write_text(CLEAN)
    (tmp_path / "temporary").mkdir()
    words = ["fairway", "shell", "path.toml", "--alone", "--stream-limit", "1 MiB", "--", "yes"]
    process = subprocess.Popen(
        [sys.executable, "-m", *words], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )  # fmt: skip
    with process:
        written, until = 0, time.monotonic() + 60
        while written < (1 << 20) + 1 and time.monotonic() < until:
            time.sleep(0.2)
            found = (tmp_path / "temporary").glob("fairway-run-*/program-0.1")
            written = max((path.stat().st_size for path in found), default=0)
        time.sleep(1)
        (path,) = (tmp_path / "temporary").glob("fairway-run-*/program-0.1")
        assert path.stat().st_size == (1 << 20) + 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 128 + 15
        assert process.stderr.read() == b"fairway: stopped\n"
    assert list((tmp_path / "temporary").iterdir()) == []
