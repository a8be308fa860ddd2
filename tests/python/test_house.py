"""The import graph of the package: rooms in their order, no cycle of files."""

import ast
from graphlib import CycleError, TopologicalSorter

import pytest
import typer.main

from fairway.cli.main import program
from test_architecture import PAGE, ROOT, named

PACKAGE = ROOT / "python" / "fairway"

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="this is not a source tree")


def modules(package):
    """Dotted name -> file."""
    found = {}
    for path in package.rglob("*.py"):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name, path, known):
    """Modules of the package that a file imports, with the line: in functions and for types too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            wanted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for one in wanted:
            if one.partition(".")[0] != "fairway" or one.startswith("fairway._core"):
                continue
            target = one if one in known else one.rpartition(".")[0]
            if target != name:
                yield target, node.lineno


def graph(package=PACKAGE):
    """Module -> imported module -> line."""
    known = modules(package)
    return {name: dict(imports(name, path, known)) for name, path in known.items()}


def room(module):
    """The room of a module; `fairway` itself and its `__main__` are above all rooms."""
    name = module.partition(".")[2].partition(".")[0]
    return "" if name == "__main__" else name


def upward(edges, order):
    """Imports of a room above, as lines of an error message."""
    level = {name: number for number, name in enumerate(["", *order])}
    return [
        f"{module}:{line} imports {target}"
        for module, targets in edges.items()
        for target, line in targets.items()
        if room(module) != room(target) and level[room(target)] < level[room(module)]
    ]


def test_a_room_imports_only_rooms_below_it():
    assert upward(graph(), named("in `python/fairway`")) == []


def test_files_import_each_other_in_no_cycle():
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_an_import_in_a_function_and_one_for_types_count(tmp_path):
    package = tmp_path / "fairway"
    for name in ("low", "high"):
        (package / name).mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "high" / "a.py").write_text("from fairway.low import b\nfrom fairway import _core\n")
    (package / "low" / "b.py").write_text(
        "if TYPE_CHECKING:\n    import fairway\n\ndef f():\n    from fairway.high.a import c\n"
    )
    edges = graph(package)
    assert sorted(upward(edges, ["high", "low"])) == [
        "fairway.low.b:2 imports fairway",
        "fairway.low.b:5 imports fairway.high.a",
    ]
    with pytest.raises(CycleError):
        TopologicalSorter(edges).prepare()


def test_a_command_has_a_module_a_page_and_tests_of_its_name():
    tests = {path.stem for path in (ROOT / "tests" / "python").glob("test_*.py")}
    for name in typer.main.get_command(program()).commands:
        assert f"fairway.cli.{name}" in modules(PACKAGE)
        assert (ROOT / "docs" / "commands" / f"{name}.md").is_file()
        assert any(name in test.split("_") for test in tests), f"no test_{name}.py"
