"""Small texts that cost much to read: numbers, keys, depths and patterns are bounded."""

import ast
import os
import re

import pytest

from fairway.backends.linux import extra, machine
from fairway.backends.transfer.tables import natural
from fairway.compare import releases
from fairway.compare.tune.objective import parse_constraint
from fairway.errors import InputError
from fairway.experiment.plan import parse_override, parse_toml
from fairway.ground.text import whole
from fairway.study.points import read_table
from test_terminal import PACKAGE, name_of

#: More than Python turns into a number or back (`sys.set_int_max_str_digits`).
DIGITS = "9" * 5000
#: Values of TOML that no file needs, and words of the refusal.
VALUES = {
    DIGITS: "limit|more than 1,000 bits",
    "0x" + "f" * 100_000: "more than 1,000 bits",
    "[1, {a = 0b" + "1" * 2000 + "}]": "more than 1,000 bits",
    "[" * 100_000: "nested too deeply",
    "{a=" * 50_000: "nested too deeply",
    "{a" + ".a" * 50_000 + "=1}": "a key of more than 64 parts",
    "{'a' . \"b\"" + " . a" * 50_000 + "=1}": "a key of more than 64 parts",
}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value[:8]} {len(value)}")
def test_a_value_that_costs_much_is_refused(value):
    with pytest.raises(InputError, match=rf"^x: not valid TOML: .*({VALUES[value]})"):
        parse_toml(f"a = {value}", "x")
    # Of --set it is a string, which the key's own check refuses.
    assert parse_override(f"a={value}") == ("a", value)


def test_a_key_that_costs_much_is_refused_wherever_it_is():
    for text in (
        "a" + ".a" * 50_000 + " = 1",
        "[a" + ".a" * 50_000 + "]",
        "b = 1\n[[a" + ".a" * 99 + "]]",
    ):
        with pytest.raises(InputError, match="a key of more than 64 parts"):
            parse_toml(text, "x")


def test_dots_in_texts_are_no_keys():
    dots = ".".join("a" * 100)
    text = f'a = "{dots}" # {dots}\nb = \'{dots}\'\n"{dots}" = 1.5\nc."{dots}".d = "\\"{dots}"\n'
    assert parse_toml(text, "x") == {
        "a": dots,
        "b": dots,
        dots: 1.5,
        "c": {dots: {"d": f'"{dots}'}},
    }
    assert parse_toml("a." * 60 + "b = 1", "x")


def test_words_between_many_blanks_and_names_without_end_take_no_time():
    with pytest.raises(InputError):
        parse_constraint(" " * 50_000 + "x")
    assert str(parse_constraint(" jain_index  >=\t0.9 ")) == "jain_index >= 0.9"
    # With a pattern that looks for the end of the line from each beginning: an hour.
    assert machine._KILLED.findall("Out of memory: Killed process 1 (" * 200_000) == []
    line = "Out of memory: Killed process 12 (a (b) c) total-vm:1"
    assert machine._KILLED.findall(line) == ["a (b) c"]


def test_digits_without_end_are_no_error():
    assert whole(DIGITS) is None
    assert whole("²") is None
    assert whole("٣") is None
    assert releases._version(DIGITS + ".1")
    assert sorted(["a/10", f"a/{DIGITS}", "a/2", "²"], key=natural)[:2] == ["a/2", "a/10"]


#: Calls that run what they are given.
RUNS = {"eval", "exec", "compile", "__import__"}


def test_nothing_that_is_read_is_run():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            where = f"{path.relative_to(PACKAGE).as_posix()}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(one.name for one in node.names)]
                if {"pickle", "marshal", "shelve", "yaml", "dill", "cloudpickle"} & set(names):
                    found.append(where)
            if isinstance(node, ast.Call):
                plain = getattr(node.func, "id", "")
                of_os = name_of(node.func)
                if plain in RUNS or of_os in ("os.system", "os.popen", "tempfile.mktemp"):
                    found.append(where)
                if any(
                    key.arg == "shell" and ast.unparse(key.value) != "False"
                    for key in node.keywords
                ):
                    found.append(where)
    assert found == []


#: Patterns that look so: a dot or an underscore parts the repetitions, so that there is one way.
HARMLESS = {
    ("backends/linux/source.py", r"linux-source-(\d+(?:\.\d+)*)\.tar\."),
    ("metrics/phases.py", r"([a-z]+(?:_[a-z]+)*?)_(?:([0-9]{1,18})_([a-z_]+)|count)"),
}
#: Repetitions in a repetition, and two beside each other of the same characters.
SLOW = re.compile(r"\([^()]*[+*][^()]*\)[+*]|(\\s|\\d|\\w|\.)[+*]\??\1[+*]|\.[+*]\??\)?\\s\*")


def test_patterns_take_no_time_with_the_square_of_a_text():
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            is_re = isinstance(node, ast.Call) and name_of(node.func).startswith("re.")
            pattern = node.args[0] if is_re and node.args else None
            if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):
                bare = re.sub(r"\\[.()]", "_", pattern.value)
                if SLOW.search(bare):
                    found.add((path.relative_to(PACKAGE).as_posix(), pattern.value))
    assert found == HARMLESS


def test_a_table_with_a_field_without_end_is_refused(tmp_path):
    # `csv.field_size_limit` is 128 KiB.
    (tmp_path / "t.csv").write_text("a,b\n1," + "x" * 200_000 + "\n")
    with pytest.raises(InputError, match=r"t\.csv: not a table in CSV: field larger"):
        read_table(tmp_path / "t.csv")


def test_a_pipe_among_the_sources_of_a_module_is_refused(tmp_path):
    (tmp_path / "tcp_mine.c").write_text("x")
    os.mkfifo(tmp_path / "Makefile")
    with pytest.raises(InputError, match="Makefile: not a file"):
        extra.read(tmp_path)
