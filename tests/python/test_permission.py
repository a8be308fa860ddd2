"""Programs of an experiment run only where somebody permits them."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

import fairway
from fairway.backends.linux.backend import Linux
from fairway.backends.linux.shell import Shell, with_command
from fairway.errors import InputError
from fairway.experiment.plan import plan
from fairway.ground.permission import Command, Origin, PermissionNeededError, permitting
from fairway.sweep.run import check_points

TEXT = """
duration = "2 s"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "5 ms"
[[flow]]
id = "mine"
program = ["sh", "-c", "echo \\u202e > there\\n"]
server = ["sleep", "100"]
"""
FAIRWAY = Path(sys.executable).with_name("fairway")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "evil.toml"
    path.write_text(TEXT)
    return path


def refusal(path, *commands):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return "\n".join([
        f"{path} (SHA-256 {digest}) would run programs of this machine:",
        *(f"  {command}" for command in commands),
        "read them, and give --allow-programs (in Python, allow_programs=True) if you trust them",
    ])  # fmt: skip


SERVER = 'on d0: ["sleep", "100"]'
# Letters that change the order of others are shown by their numbers.
PROGRAM = r'on s0: ["sh", "-c", "echo \u202e > there\n"]'


def test_a_refusal_names_file_commands_and_hosts(file, tmp_path):
    for ask in (
        lambda: fairway.run(file, backend="linux"),
        lambda: fairway.run(file, tmp_path / "out", backend="linux"),
        lambda: fairway.run(file, backend=Linux()),
        # What classes may do programs may not.
        lambda: fairway.run(file, backend="linux", allow_python=True),
    ):
        with pytest.raises(PermissionNeededError) as refused:
            ask()
        assert str(refused.value) == refusal(file, SERVER, PROGRAM)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.toml"]


def test_files_that_are_kept_need_permission_with_a_program_or_without(file, tmp_path):
    kept = 'keep = ["/etc/shadow", "s0:.ssh/\\u202e"]\n'
    paths = ('keep of d0: "/etc/shadow"', r'keep of s0: ".ssh/\u202e"')
    # Without a program nothing would have been written: they are files of this machine.
    alone = TEXT.partition("program = ")[0] + 'kind = "program"\nfrom = "s0"\nto = "d0"\n' + kept
    for text, commands in (
        (alone, paths),
        (TEXT + kept.replace('"/', '"d0:/'), (SERVER, PROGRAM, *paths)),
    ):
        file.write_text(text)
        with pytest.raises(PermissionNeededError) as refused:
            fairway.run(file, tmp_path / "out", backend="linux")
        both = refusal(file, *commands).replace("machine:", "machine or keep files of it:")
        assert str(refused.value) == both
        with pytest.raises(PermissionNeededError):
            Shell().check(with_command(plan(file).points[0].experiment, ["true"]))
        with permitting(programs=True):
            Linux().check(plan(file).points[0].experiment)
    assert not (tmp_path / "out").exists()


def test_a_text_and_a_document_are_refused_too(file):
    with pytest.raises(PermissionNeededError, match=r"^experiment \(SHA-256 [0-9a-f]{64}\) would"):
        fairway.run(TEXT, backend="linux")
    document = plan(file).points[0].experiment
    with pytest.raises(PermissionNeededError, match=r"^experiment would run"):
        fairway.run(document, backend="linux")
    with pytest.raises(PermissionNeededError):
        Linux().run(document)
    with permitting(programs=False), pytest.raises(PermissionNeededError):
        Linux().run(document)


def test_all_commands_of_a_sweep_are_named(file):
    file.write_text(TEXT + '[sweep]\n"flow.0.server" = [["a"], ["b"], ["a"]]\nrepetitions = 2\n')
    with pytest.raises(PermissionNeededError) as refused:
        fairway.run(file, backend="linux")
    assert str(refused.value) == refusal(file, 'on d0: ["a"]', PROGRAM, 'on d0: ["b"]')


def test_a_study_is_refused(file, tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    (study / "experiment.toml").write_text(TEXT)
    (study / "study.toml").write_text(
        'title = "T"\nsource = "S"\nexperiment = "experiment.toml"\nbackend = "linux"\n'
        '[axes]\n"flow.0.server" = [["a"], ["b"]]\n'
    )
    command = [FAIRWAY, "reproduce", study, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == InputError.exit_code, done.stderr
    for part in ("--allow-programs", 'on d0: ["a"]', 'on d0: ["b"]', PROGRAM):
        assert part in done.stderr
    assert not (tmp_path / "out" / "points").exists()


def test_the_command_of_a_shell_needs_no_permission_but_those_of_its_file_do(file):
    document = with_command(plan(file).points[0].experiment, ["true"])
    with pytest.raises(PermissionNeededError) as refused:
        Shell().check(document)
    assert refused.value.commands == (
        Command("d0", ("sleep", "100")),
        Command("s0", ("sh", "-c", "echo \u202e > there\n")),
    )
    with permitting(programs=True):
        Shell().check(document)
    bulk = plan(TEXT.partition("[[flow]]")[0] + '[[flow]]\ncc = "cubic"\n').points[0].experiment
    Shell().check(with_command(bulk, ["true"]))
    # Nobody is the command by its name alone.
    with pytest.raises(PermissionNeededError):
        Linux().check(with_command(bulk, ["true"]))


@pytest.mark.parametrize("name", ["shell", "background-0"])
def test_a_file_cannot_pass_its_program_off_as_the_command(file, name):
    file.write_text(TEXT.replace('"mine"', f'"{name}"'))
    command = [FAIRWAY, "shell", file, "--background", "d0: true", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    assert name in done.stderr or "--allow-programs" in done.stderr


def test_the_permission_of_a_plan_goes_with_it_into_other_threads(file):
    with permitting(programs=True):
        permitted = plan(file)
    check_points(permitted, Linux())
    refused = plan(file)
    with permitting(programs=True), pytest.raises(PermissionNeededError):
        check_points(refused, Linux())


def test_a_refusal_stays_readable():
    commands = [Command("d0", (str(number),)) for number in range(1003)]
    lines = str(PermissionNeededError([Origin()], commands)).splitlines()
    assert lines[1000:] == ['  on d0: ["999"]', "  and 3 more", lines[-1]]
