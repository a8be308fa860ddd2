"""Whatever reaches a terminal is shown there, and controls nothing, wherever it came from."""

import ast
import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

import fairway
import small_studies
from conftest import SMALL
from fairway.cli.main import guarded
from fairway.ground.text import json_printable, printable
from test_architecture import ROOT
from waiting import PATIENCE_S

PACKAGE = Path(fairway.__file__).parent

#: Bidirectional classes of characters that turn the order of others (Unicode Annex 9, table 4).
TURNS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
#: Further characters that nobody sees, from every range that the standard's lists have.
UNSEEN = (
    "\xad\u034f\u061c\u115f\u1160\u17b4\u180e\u200b\u200c\u200d\u200e\u200f\u2060\u2064\u206a\u206f"
    "\u3164\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff9\ufffa\ufffb\U0001bca0\U0001d173\U000e0001\U000e0020"
    "\U000e007f\U000e0100\U000e01ef"
)
#: A name that clears the screen, sets a title, colours by C1 controls, and turns what follows.
EVIL = "e\x1b[2J\x1b]0;t\x07\x9b31m\u202egpj\u2066\u061c\u200b\u2028\U000e0041\ufff9\x7f\x85z"
#: Experiments refuse control characters in names, and take the others.
TURN = "".join(one for one in EVIL if unicodedata.category(one) not in ("Cc", "Zl"))
#: The same as the name of a file, with a byte that is not UTF-8.
FILE = EVIL.replace("\x1b]0;t\x07", "") + "\udcff"


def hidden(character):
    """By the tables that Python has, which are Unicode's."""
    return character not in "\n\t" and (
        unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs")
        or unicodedata.bidirectional(character) in TURNS
        or character in UNSEEN
    )


def left(text):
    """Characters that should not have come."""
    return sorted({ascii(one) for one in text if hidden(one)})


def test_every_hidden_character_is_shown_and_every_letter_stays():
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if hidden(character):
            assert re.fullmatch(r"\\(x..|u.{4}|U.{8})", printable(character)), hex(code)
            assert json_printable(f'"{character}"').isascii(), hex(code)
        elif unicodedata.category(character)[0] in "NPS":
            assert printable(character) == character, hex(code)
    assert printable("Größe 速度 سرعة Ω≈ç\t–\n") == "Größe 速度 سرعة Ω≈ç\t–\n"


def test_escaped_json_has_the_same_value():
    draw = random.Random(1)
    for _ in range(2000):
        value = "".join(draw.choices(EVIL + UNSEEN + 'aü"\\\n\udc80', k=8))
        document = json_printable(json.dumps({value: [value]}, ensure_ascii=False))
        assert left(document) == []
        assert json.loads(document) == {value: [value]}


#: Files that may reach the terminal otherwise, and why.
OTHERWISE = {
    "ground/output.py": "it is the way",
    "backends/linux/shell.py": "the output of the user's own program goes through as it is",
    "backends/transfer/record.py": "the other end of a pipe prints what comes of it",
    "cli/algorithms.py": "Rich renders into memory",
}
#: What may be asked of a stream everywhere.
ASKED = {"isatty", "encoding", "fileno", "flush"}
PRINTS = {"print", "pprint", "echo", "secho", "print_exc", "print_exception", "print_stack",
          "Console", "__stdout__", "__stderr__"}  # fmt: skip


def prints(tree):
    """Lines that write to standard output or standard error, as far as names tell."""
    asked = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ASKED
    }
    for node in ast.walk(tree):
        name = getattr(node, "attr", None) or getattr(node, "id", None)
        if isinstance(node, ast.ImportFrom) and {one.name for one in node.names} & {
            *PRINTS, "stdout", "stderr"
        }:  # fmt: skip
            yield node.lineno
        if isinstance(node, ast.Attribute | ast.Name) and name in PRINTS:
            yield node.lineno
        is_sys = isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "sys"
        if is_sys and node.attr in ("stdout", "stderr") and id(node) not in asked:
            yield node.lineno
        if isinstance(node, ast.Call) and name_of(node.func) == "os.write":
            target = node.args[0]
            if isinstance(target, ast.Constant):
                yield node.lineno


def name_of(node):
    return f"{getattr(node.value, 'id', '')}.{node.attr}" if isinstance(node, ast.Attribute) else ""


#: Lines that are meant elsewhere: the text of each.
MEANT = {
    'os.write(2, b"fairway: stopped\\n")',
    'os.write(2, b"fairway: not enough memory; raise the limit (ulimit -v), or free some\\n")',
    # The streams themselves.
    "kept, old = os.dup(2), sys.stderr",
    "sys.stderr = _stream(kept, _unheard, encoding, by_lines=True)",
    "if sys.stdout is not None:",
    "with contextlib.redirect_stdout(sys.stderr):",
}


def test_the_package_prints_in_one_way():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        text = path.read_text()
        lines = text.splitlines()
        found += [
            f"{name}:{line}: {lines[line - 1].strip()}"
            for line in sorted(set(prints(ast.parse(text))))
            if name not in OTHERWISE and lines[line - 1].strip() not in MEANT
        ]
    assert found == [], "print with fairway.ground.output, which escapes"
    assert all((PACKAGE / name).is_file() for name in OTHERWISE)


@pytest.mark.parametrize(
    "line",
    [
        "print(1)", "typer.echo('x')", "sys.stdout.write('x')", "sys.stderr.writelines(x)",
        "sys.stdout.buffer.write(x)", "f = sys.stderr", "os.write(1, x)", "traceback.print_exc()",
        "from sys import stdout", "from builtins import print as p", "console = Console()",
        "sys.__stdout__.write(x)", "map(print, x)",
    ],
)  # fmt: skip
def test_other_ways_are_seen(line):
    assert list(prints(ast.parse(line)))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Files with evil names and words: experiments, results, captures, scripts, studies."""
    world = tmp_path_factory.mktemp("world")
    # TOML's strings have the escapes of JSON, but for pairs of surrogates.
    quoted, control = (
        json.dumps(one).replace("\\udb40\\udc41", "\\U000e0041") for one in (TURN, EVIL)
    )
    titled = SMALL.replace('"One small flow"', quoted)
    (world / "control.toml").write_text(SMALL.replace('"One small flow"', control))
    (world / "titled.toml").write_text(titled)
    (world / "flow.toml").write_text(titled.replace("[[flow]]", f"[[flow]]\nid = {quoted}"))
    (world / "key.toml").write_text(titled + f"\n[{quoted}]\n{quoted} = 1\n")
    (world / "cc.toml").write_text(titled.replace('"bic"', quoted))
    (world / "raw.toml").write_text(titled + f"\n{EVIL}")
    (world / "trace.toml").write_text(titled + f"\n[capture]\nat = {quoted}\n")
    sweep = f'\n[sweep]\ntitle = [{quoted}, "b"]\n'
    (world / "sweep.toml").write_text(titled + sweep)
    shutil.copy(world / "titled.toml", world / f"{FILE}.toml")
    (world / f"{FILE}.pkt").write_text(f"0 nothing {EVIL}\n")
    shutil.copy(ROOT / "tests" / "captures" / "ethernet.pcap", world / f"{FILE}.pcap")
    (world / f"{FILE}.txt").write_text(f"12:00:00.000000 IP {EVIL}.1 > {EVIL}.2: Flags [S]\n")
    (world / FILE).mkdir()
    study = world / "study"
    study.mkdir()
    small_studies.write(
        study,
        small_studies.study_of("TITLE", keys=f"question = {quoted}").replace('"TITLE"', quoted),
        small_studies.claim(
            "a", small_studies.in_range("asymmetry", 0, 1), statement="STATEMENT"
        ).replace('"STATEMENT"', quoted),
    )
    module = world / "module"
    module.mkdir()
    (module / f"tcp_{FILE}.c").write_text("x")
    kernel = world / "cache" / "kernels" / FILE
    kernel.mkdir(parents=True)
    return world


#: Commands, and whether a hidden character of theirs has to be seen escaped.
COMMANDS = [
    (["run", "titled.toml"], True),
    (["run", "titled.toml", "--out", "a"], True),
    (["run", "titled.toml", "--json"], True),
    (["run", f"{FILE}.toml", "--out", f"{FILE}.a"], True),
    (["run", "control.toml"], True),
    (["run", "flow.toml"], True),
    (["run", "flow.toml", "--out", "f"], True),
    (["report", "f"], False),
    (["run", "key.toml"], True),
    (["run", "cc.toml"], True),
    (["run", "raw.toml"], False),
    (["run", "trace.toml"], True),
    (["run", "sweep.toml", "--out", "s"], True),
    (["run", f"{FILE}.no"], True),
    (["run", f"--{FILE}"], True),
    (["run", "titled.toml", "--set", f"{EVIL}=1"], True),
    (["run", "titled.toml", "--set", f"title={EVIL}", "--out", "b"], False),
    (["run", "titled.toml", "--metric", EVIL], False),
    (["run", "titled.toml", "--backend", EVIL], True),
    (["report", "a"], False),
    (["report", f"{FILE}.a"], True),
    (["report", FILE], True),
    (["compare", "a", f"{FILE}.a"], True),
    (["compare", "a", f"{FILE}.a", "--json"], True),
    (["compare", "a", f"{FILE}.a", "--markdown"], False),
    (["compare", "a", f"{FILE}.no"], True),
    (["analyze", f"{FILE}.txt"], True),
    (["replay", f"{FILE}.txt"], True),
    (["animate", "a"], False),
    (["script", f"{FILE}.pkt"], True),
    (["script", f"{FILE}.pkt", "--json"], True),
    (["study", "show", "study"], True),
    (["study", "show", EVIL], True),
    (["study", "new", EVIL], True),
    (["reproduce", "study"], True),
    (["algorithms", EVIL], True),
    (["presets", EVIL], True),
    (["exercise", EVIL], True),
    (["doctor", "--target", EVIL], False),
    (["linux", "build", "--source", FILE], True),
    (["linux", "build", "--kernel", EVIL], True),
    (["linux", "status"], False),
    (["send", f"{FILE}.no", "127.0.0.1:1", "--token", EVIL], True),
    (["send", f"{FILE}.toml", EVIL, "--token", EVIL], True),
    (["generate", EVIL], False),
    (["fidelity", "--traces", FILE], False),
    (["agree", f"{FILE}.no"], True),
    (["tune", f"{FILE}.no", "--objective", EVIL], True),
    (["analyze", f"{FILE}.pcap"], True),
    (["analyze", f"{FILE}.pcap", "--json"], True),
    (["analyze", f"{FILE}.pcap", "--out", "c"], False),
    (["replay", f"{FILE}.pcap"], True),
    (["animate", f"{FILE}.pcap"], True),
    (["schema", EVIL], True),
    ([EVIL], True),
]


def test_no_command_prints_what_would_control_a_terminal(world, monkeypatch, capfd):
    monkeypatch.chdir(world)
    monkeypatch.setenv("FAIRWAY_CACHE", str(world / "cache"))
    wrong = []
    for arguments, is_told in COMMANDS:
        guarded(arguments)
        told = "".join(capfd.readouterr())
        if found := left(told):
            wrong.append(f"{arguments!a}: {found}")
        if is_told and not re.search(r"\\(x1b|u001b|x9b|u009b|u202e)", told):
            wrong.append(f"{arguments!a}: does not tell of it: {ascii(told)[:300]}")
        if "Traceback" in told:
            wrong.append(f"{arguments!a}: {told}")
    assert not wrong, "\n".join(wrong)
    for page in world.glob("*/report.html"):
        assert left(re.sub("(?s)<script>.*?</script>", "", page.read_text())) == [], page


def test_a_bar_on_a_terminal_shows_the_title_and_obeys_no_part_of_it(world, tmp_path):
    """The bar moves by ECMA-48's control sequences (CSI) of its own."""
    shutil.copy(world / "titled.toml", tmp_path / "long.toml")
    ours, theirs = pty.openpty()
    script = (
        "import json, sys; from fairway.ground.progress import State, reporter\n"
        "with reporter(json.loads(sys.argv[1]), quiet=False) as bar: bar.update(State(1, 3))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, json.dumps(EVIL)], stderr=theirs, stdout=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    ) as process:  # fmt: skip
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 1 << 16):
                seen += part
        except OSError:  # the end of a pseudo-terminal on Linux: EIO, pty(7)
            pass
        assert process.wait(PATIENCE_S) == 0
    os.close(ours)
    text = seen.decode()
    assert "\\x1b[2J" in text
    assert "]0;t\x07" not in text
    assert left(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", text)) == []
    assert "\x1b[2J" not in text


def test_rust_prints_to_no_terminal():
    """The agent's words go to the kernel's console, whose end an error shows by the one way."""
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("crates", "transfer")
        for path in sorted((ROOT / folder).glob("*/src/**/*.rs"))
        if "tests" not in path.relative_to(ROOT).as_posix()
        and re.search(r"^\s*e?print(ln)?!\(", path.read_text().partition("#[cfg(test)]")[0], re.M)
    ]
    names = ["confinement/mod.rs", "main.rs", "supervise.rs"]
    assert found == [f"crates/guest/src/{name}" for name in names]
