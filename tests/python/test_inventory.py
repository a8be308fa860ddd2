"""What Fairway did not write is never removed, whatever it is called."""

import errno
import json
import shutil

import pytest

import fairway
from conftest import SMALL, run_of
from fairway.cli.main import guarded
from fairway.errors import InputError
from fairway.experiment.plan import parse_toml
from fairway.ground import disk, inventory, store
from fairway.ground.scratch import Scratch

SWEEP = SMALL + '\n[sweep]\n"flow.0.cc" = ["reno", "cubic"]\n'


def tree(directory):
    """Everything below a directory with its content; links with where they lead."""
    return {
        path.relative_to(directory).as_posix(): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in sorted(directory.rglob("*"))
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def refused(arguments, capsys, *, says):
    assert guarded([str(argument) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert says in error, error
    assert "Traceback" not in error


def plant_extension(place):
    """A browser's extension has a manifest.json of its own."""
    (place / "src").mkdir(parents=True)
    (place / "manifest.json").write_text('{"manifest_version":3}')
    (place / "background.js").write_text("x")


def plant_empty_manifest(place):
    place.mkdir()
    (place / "manifest.json").write_text("")
    (place / "summary.json").write_text("{}")


def plant_points(place):
    (place / "points" / ".partial-mine").mkdir(parents=True)
    (place / "points" / ".partial-mine" / "thesis.tex").write_text("years")


def plant_marker_of_another(place):
    place.mkdir()
    (place / inventory.NAME).write_text('{"kind": ["run"], "files": 3}')
    (place / "notes.md").write_text("mine")


def plant_link_for_a_list(place):
    place.mkdir()
    elsewhere = place.parent / "list.json"
    elsewhere.write_bytes(inventory.Inventory("run", None, ("notes.md",)).to_bytes())
    (place / inventory.NAME).symlink_to(elsewhere)
    (place / "notes.md").write_text("mine")


PLANTED = [plant_extension, plant_empty_manifest, plant_points, plant_marker_of_another,
           plant_link_for_a_list]  # fmt: skip


def commands(tmp_path, file):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP)
    return {
        "run": ["run", file, "--out"],
        "sweep": ["run", sweep, "--out"],
        "agree": ["agree", file, "--against", "sim,model", "--out"],
        "tune": ["tune", file, "--algorithm", "bic", "--objective", "goodput", "--out"],
        "reproduce": ["reproduce", "threshold", "--quick", "--out"],
        "parts": ["reproduce", "siddiqui2012", "--quick", "--out"],
        "all": ["reproduce", "all", "--quick", "--out"],
        "fidelity": ["fidelity", "--out"],
        "gallery": ["gallery", "reno", "--out"],
        "golden": ["linux", "record-golden"],
    }


@pytest.mark.parametrize("plant", PLANTED)
def test_no_command_touches_a_foreign_directory(tmp_path, file, capsys, plant):
    place = tmp_path / "ext"
    plant(place)
    before = tree(place)
    for command in commands(tmp_path, file).values():
        refused([*command, place, *([] if "record-golden" in command else ["-q"])], capsys,
                says=str(place))  # fmt: skip
        assert tree(place) == before, command


def test_the_message_names_what_is_there(tmp_path, file, capsys):
    plant_extension(tmp_path / "ext")
    refused(["run", file, "--out", tmp_path / "ext", "-q"], capsys,
            says="it holds other files (background.js, manifest.json, src)")  # fmt: skip


def plant_notes(place):
    (place / "notes.md").write_text("what I saw")
    return "notes.md"


def plant_folder(place):
    (place / "draft" / "empty").mkdir(parents=True)
    return "draft/empty/"


def plant_figure(place):
    (place / "figures").mkdir(exist_ok=True)
    (place / "figures" / "mine.svg").write_text("<svg/>")
    return "figures/mine.svg"


def plant_link(place):
    (place.parent / "data").mkdir()
    (place.parent / "data" / "big.pcapng").write_text("packets")
    (place / "captures").symlink_to(place.parent / "data", target_is_directory=True)
    return "captures"


def plant_link_for_a_file(place):
    (place / "report.html").rename(place.parent / "kept.html")
    (place / "report.html").symlink_to(place.parent / "kept.html")
    return "report.html"


IN_A_RUN = [plant_notes, plant_folder, plant_figure, plant_link, plant_link_for_a_file]


@pytest.mark.parametrize("plant", IN_A_RUN)
def test_a_run_is_not_replaced_with_what_somebody_put_there(tmp_path, file, capsys, plant):
    place = tmp_path / "run"
    fairway.run(file, place)
    name = plant(place)
    before = tree(tmp_path)
    refused(["run", file, "--out", place, "-q"], capsys, says=f"it also holds {name}, which")
    refused(["run", file, "--out", place, "--replace", "-q"], capsys, says=name)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("plant", IN_A_RUN)
def test_nor_is_a_run_of_a_sweep(tmp_path, capsys, plant):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    fairway.run(file, tmp_path / "out", threads=1)
    (first, _) = sorted((tmp_path / "out" / "points").iterdir())
    assert guarded(["report", str(first)]) == 0
    name = plant(first)
    (first / "summary.json").unlink()  # so that it has to be computed again
    kept = {key: value for key, value in tree(tmp_path).items() if name.rstrip("/") in key}
    refused(["run", file, "--out", tmp_path / "out", "-q"], capsys, says=name)
    assert kept.items() <= tree(tmp_path).items()


def test_what_grows_keeps_everything(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    for _ in range(2):
        fairway.run(file, tmp_path / "out", threads=1)
        (tmp_path / "out" / "notes.md").write_text("mine")
        (tmp_path / "out" / "points" / "more.md").write_text("mine too")
    assert (tmp_path / "out" / "notes.md").read_text() == "mine"
    assert (tmp_path / "out" / "points" / "more.md").read_text() == "mine too"


def test_what_is_left_of_a_killed_process_is_told_from_other_directories(tmp_path):
    for name in (".partial-mine", ".partial-left"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("x")
    (tmp_path / ".partial-left" / ".lock").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".lock").touch()
    (tmp_path / ".partial-link").symlink_to(tmp_path / "elsewhere")
    scratch = Scratch(tmp_path)
    scratch.clear(lambda _: True)
    scratch.let_go()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {".partial-mine", "elsewhere", ".partial-link"}
    assert (tmp_path / ".partial-mine" / "x").exists()


def test_a_list_leads_nowhere_else(tmp_path):
    """Somebody else's directory may have a list that names files of ours."""
    (tmp_path / "mine.txt").write_text("mine")
    place = tmp_path / "theirs"
    place.mkdir()
    (place / "a.txt").write_text("a")
    names = ("a.txt", "../mine.txt", str(tmp_path / "mine.txt"))
    (place / inventory.NAME).write_bytes(inventory.Inventory("run", None, names).to_bytes())
    assert inventory.remove(place)
    assert not place.exists()
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_what_turns_up_while_a_run_is_written_refuses_it(tmp_path, monkeypatch):
    run = run_of(parse_toml(SMALL, "small"), [3.0, 1.0])
    run.save(tmp_path / "run", report=False)
    flush = store._flush_tree

    def late(root):
        (tmp_path / "run" / "late.txt").write_text("just now")
        flush(root)

    before = tree(tmp_path)
    monkeypatch.setattr(store, "_flush_tree", late)
    with pytest.raises(InputError, match="also holds late"):
        run.save(tmp_path / "run", report=False)
    assert tree(tmp_path) == {**before, "run/late.txt": b"just now"}


@pytest.mark.parametrize("has_exchange", [True, False])
def test_what_turns_up_while_a_run_is_replaced_stays(tmp_path, monkeypatch, has_exchange):
    run = run_of(parse_toml(SMALL, "small"), [3.0, 1.0])
    run.save(tmp_path / "run", report=False)
    exchange = disk.exchange

    def late(source, target):
        (tmp_path / "run" / "late.txt").write_text("just now")
        if not has_exchange:
            raise OSError(errno.EINVAL, "no such flag")
        exchange(source, target)

    monkeypatch.setattr(disk, "exchange", late)
    with pytest.warns(UserWarning, match="while it was replaced"):
        run.save(tmp_path / "run", report=False)
    (left,) = tmp_path.glob(".run-partial-*-old")
    assert [path.name for path in left.iterdir() if path.name != inventory.NAME] == ["late.txt"]
    assert {path.name for path in tmp_path.iterdir()} == {"run", left.name}
    assert fairway.load(tmp_path / "run").metrics["asymmetry"] == 0.5


def test_a_run_that_stops_midway_leaves_the_older_one(tmp_path, monkeypatch):
    run = run_of(parse_toml(SMALL, "small"), [3.0, 1.0])
    run.save(tmp_path / "run", report=False)
    before = tree(tmp_path)

    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_flush_tree", stopped)
    with pytest.raises(KeyboardInterrupt):
        run.save(tmp_path / "run", report=False)
    assert tree(tmp_path) == before


def test_a_report_and_figures_of_later_are_of_the_run(tmp_path, file, capsys):
    fairway.run(file, tmp_path / "run")
    assert guarded(["report", str(tmp_path / "run"), "--figures", "svg"]) == 0
    fairway.load(tmp_path / "run").figures.save(tmp_path / "run" / "figures", ["png"])
    assert guarded(["run", str(file), "--out", str(tmp_path / "run"), "-q"]) == 0
    assert not (tmp_path / "run" / "figures").exists()
    capsys.readouterr()


def test_another_experiment_is_refused_and_named(tmp_path, file, capsys):
    out = ["--out", tmp_path / "run", "-q"]
    assert guarded(["run", str(file), *map(str, out)]) == 0
    before = tree(tmp_path)
    capsys.readouterr()
    refused(["run", file, "--set", "flow.0.cc=reno", *out], capsys,
            says="it holds the results of a different experiment (flow.0.cc: bic there, "
            "reno here); choose another directory, or give --replace")  # fmt: skip
    assert tree(tmp_path) == before
    refused(["run", file, "--backend", "model", *out], capsys,
            says="(backend: sim there, model here)")  # fmt: skip
    changed = ["run", str(file), "--set", "flow.0.cc=reno", *map(str, out)]
    assert guarded([*changed, "--replace"]) == 0
    assert guarded(changed) == 0  # it is that experiment's now
    assert fairway.load(tmp_path / "run").experiment["flow"][0]["cc"] == "reno"
    capsys.readouterr()


def test_an_edited_file_replaces_its_own_run(tmp_path, file):
    fairway.run(file, tmp_path / "run")
    file.write_text(SMALL.replace('"bic"', '"reno"'))
    fairway.run(file, tmp_path / "run")
    other = tmp_path / "other.toml"
    other.write_text(SMALL)
    with pytest.raises(InputError, match="a different experiment"):
        fairway.run(other, tmp_path / "run")
    shutil.copy(file, other)
    fairway.run(other, tmp_path / "run")  # the same experiment


def test_sweeps_of_two_files_do_not_share_a_directory(tmp_path, capsys):
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(SWEEP)
    out = tmp_path / "out"
    fairway.run(tmp_path / "one.toml", out, threads=1)
    fairway.run(tmp_path / "one.toml", out, overrides={"sweep.repetitions": 2}, threads=1)
    refused(
        ["run", tmp_path / "two.toml", "--out", out, "-q"], capsys, says="a different experiment"
    )
    refused(["gallery", "reno", "--out", out, "-q"], capsys, says="a different experiment")
    assert guarded(["run", str(tmp_path / "two.toml"), "--out", str(out), "--replace", "-q"]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_sweep_with_other_values_is_refused_and_named(tmp_path, capsys, is_stopped):
    file, out = tmp_path / "sweep.toml", tmp_path / "out"
    file.write_text(SWEEP)
    fairway.run(file, out, threads=1)
    if is_stopped:  # after its last run and before its tables
        for path in [path for path in out.iterdir() if path.is_file() and path.name != ".fairway"]:
            path.unlink()
    before = tree(out)
    run = ["run", file, "--out", out, "-q", "--set"]
    refused([*run, "flow.0.cc=bic"], capsys, says="there, bic here); choose another directory")
    refused([*run, "title=other"], capsys, says="there, other here); choose another directory")
    both = ["flow.0.cc=bic", "--set", "title=other"]
    refused([*run, *both], capsys, says="(title: One small flow there, other here; flow.0.cc: ")
    assert tree(out) == before
    file.write_text(SWEEP.replace('"cubic"]', '"htcp"]'))
    assert guarded(["run", str(file), "--out", str(out), "-q"]) == 0  # edited
    assert guarded([str(word) for word in [*run, "flow.0.cc=bic", "--replace"]]) == 0
    assert fairway.load(out).table["flow.0.cc"].to_list() == ["bic"]
    capsys.readouterr()


def test_the_list_is_the_same_bytes(tmp_path, file):
    for name in ("a", "b"):
        fairway.run(file, tmp_path / name)
    assert (tmp_path / "a" / inventory.NAME).read_bytes() == (
        tmp_path / "b" / inventory.NAME
    ).read_bytes()
    listed = json.loads((tmp_path / "a" / inventory.NAME).read_text())
    assert listed["kind"] == "run"
    assert inventory.unknown(tmp_path / "a") == []
