"""Nothing that builds, tests or ships Fairway comes from elsewhere under a name that can move."""

import re
import subprocess
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="no PyYAML here, which mkdocs brings")

import movable  # noqa: E402

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))

#: What may be movable, and why: (file, what the lint finds) -> reason.
EXCEPTIONS = {
    ("Makefile", "rustup toolchain install nightly"): (
        "fuzzers and sanitizers need some nightly compiler; nothing that it builds is shipped"
    ),
    ("examples/github/compare-fairway.yml", "pip install fairway"): (
        "compares with the newest release, whichever that is; its job may only read"
    ),
    ("examples/github/compare.yml", "pip install fairway"): (
        "a user's own repository takes the newest release; its job may only read"
    ),
}
#: Pages tell users how to install a release or add to their environment.
FOR_USERS = re.compile(r"(\S*/)?pipx? install (-\S+ )*'?(fairway(\[[\w,]+\])?|jupyterlab)'?")

pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="this is not a source tree")


def tracked(*patterns):
    """Files of the repository that match, as git has them."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", *patterns],
                            capture_output=True, text=True, check=True)  # fmt: skip
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def building():
    """Files that fetch something, or say how."""
    if not (ROOT / ".git").exists():
        pytest.skip("git has no list of the files here: this is no clone")
    found = tracked("*.yml", "*.yaml", "*Containerfile*", "*Dockerfile*", "*Makefile", "*.mk",
                    "*.sh", ".ci/*", "*.md")  # fmt: skip
    assert {path.name for path in found} >= {"release.yml", "Containerfile", "Makefile", "run"}
    return found


def test_nothing_is_taken_under_a_name_that_can_move():
    wrong, used = [], set()
    for path in building():
        name = path.relative_to(ROOT).as_posix()
        for reference in movable.found(path, path.read_text(encoding="utf-8")):
            allowed = [key for key in EXCEPTIONS if key[0] == name and reference.startswith(key[1])]
            used |= set(allowed)
            is_for_users = path.suffix == ".md" and FOR_USERS.fullmatch(reference)
            if not allowed and not is_for_users:
                wrong.append(f"{name}: {reference}")
    assert wrong == []
    assert set(EXCEPTIONS) == used, "an exception that nothing needs"


HEX = "0123456789abcdef" * 4
STEP = "jobs:\n  one:\n    steps:\n      - "


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", f"{STEP}uses: actions/checkout@v6 # v6.1.0"),
        ("a.yml", f"{STEP}uses: actions/checkout@main"),
        ("a.yml", f"{STEP}uses: actions/checkout@{HEX[:7]} # v6.1.0"),
        ("a.yml", f"{STEP}uses: actions/checkout@{HEX[:40]}"),
        ("a.yml", f"{STEP}uses: docker://alpine:3.20"),
        ("a.yml", "jobs:\n  one:\n    uses: some/where/.github/workflows/a.yml@main"),
        ("a.yml", "jobs:\n  one:\n    container: python:3.12-slim"),
        ("a.yml", "jobs:\n  one:\n    container:\n      image: python:3.12-slim"),
        ("a.yml", "jobs:\n  one:\n    services:\n      base:\n        image: postgres:16"),
        ("a.yml", f"{STEP}run: python3 -m pip install --quiet maturin==1.10.0"),
        ("a.yml", f"{STEP}run: pip install -r requirements/dev.lock"),
        ("a.yml", f"{STEP}run: cargo install cross --version 0.2.5"),
        ("hooks.yaml", "repos:\n  - repo: https://example.com/hooks\n    rev: v1.2.3"),
        ("Containerfile", "FROM rust:1-slim-bookworm AS build\nFROM build"),
        ("Containerfile", "ARG IMAGE=python\nFROM $IMAGE"),
        ("Containerfile", "FROM scratch\nCOPY --from=ghcr.io/astral-sh/uv:latest /uv /bin/"),
        ("Containerfile", "FROM scratch\nADD https://example.com/x.tar.gz /"),
        ("Containerfile", 'FROM scratch\nRUN apt-get update \\\n    && pip install "maturin>=1"'),
        ("Makefile", "x:\n\tcargo install cargo-deny --locked --root y"),
        ("Makefile", "x:\n\tcargo binstall cargo-deny"),
        ("Makefile", "x:\n\tpip install dist/a.whl numpy"),
        ("run", "uv tool install ruff"),
        ("run", "pipx install ruff"),
        ("run", "rustup update"),
        ("run", "rustup toolchain install stable"),
        ("run", "curl --proto =https -sSf https://sh.rustup.rs | sh -s -- -y"),
        ("run", "wget -qO- https://example.com/x | sudo -E bash -"),
        ("run", 'bash -c "$(curl -fsSL https://example.com/x)"'),
        ("run", "bash <(curl -fsSL https://example.com/x)"),
        ("run", "npx prettier"),
        ("run", "podman pull docker.io/library/debian:12"),
        ("run", "git clone --depth 1 https://example.com/x"),
        ("page.md", "```console\n$ curl https://example.com/x | sh\n```"),
        ("page.md", "Say `pip install ruff` first."),
    ],
)
def test_what_can_move_is_refused(name, text):
    assert len(movable.found(Path(name), text)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", f"{STEP}uses: actions/checkout@{HEX[:40]} # v6.1.0"),
        ("a.yml", f"{STEP}uses: ./own\n      - run: make"),
        ("a.yml", f"jobs:\n  one:\n    container: python:3.12@sha256:{HEX}"),
        ("Containerfile", f"FROM a@sha256:{HEX} AS build\nFROM build\nCOPY --from=build /x /"),
        ("run", "python3 -m pip install --quiet --require-hashes -r requirements/dev.lock"),
        ("run", "pip install --force-reinstall --no-deps dist/*.whl && pip --version"),
        ("run", "cargo install cargo-deny --quiet --locked --version 0.20.2 --root .venv"),
        ("run", "curl -sSf https://example.com/x -o x; sh x.sh"),
        ("run", "# pip install ruff"),
        ("page.md", '`pipx install "$(echo dist/fairway-*.whl)[full]"`'),
    ],
)
def test_what_cannot_move_is_let_through(name, text):
    assert movable.found(Path(name), text) == []


def test_every_line_of_a_lock_has_a_version_and_hashes():
    """pip refuses a file without them too; here it is found before a release."""
    for lock in tracked("requirements/*.lock"):
        for wanted in re.sub(r" \\\n *", " ", lock.read_text()).splitlines():
            name, *rest = wanted.split(" --hash=")
            assert re.fullmatch(r"[a-z0-9._-]+==[\w.]+( ; .+)?", name), f"{lock.name}: {name}"
            assert rest and all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in rest), name


def test_a_source_distribution_is_built_with_the_maturin_of_the_lock():
    (version,) = re.findall(r"^maturin==(\S+)", (ROOT / "requirements/dev.lock").read_text(), re.M)
    project = (ROOT / "pyproject.toml").read_text()
    assert f'[build-system]\nrequires = ["maturin=={version}"]' in project


def test_the_compiler_is_one_version():
    text = (ROOT / "rust-toolchain.toml").read_text()
    assert re.search(r'^channel = "\d+\.\d+\.\d+"$', text, re.M)
    assert {"clippy", "rustfmt"} <= set(re.findall(r'"(\w+)"', text.partition("components")[2]))


def ancestors(jobs, name):
    """The jobs that have to succeed before one begins."""
    needed = jobs[name].get("needs", [])
    needed = {needed} if isinstance(needed, str) else set(needed)
    return needed.union(*(ancestors(jobs, one) for one in needed))


def writes(job):
    """What a job may write."""
    return {key for key, value in job.get("permissions", {}).items() if value == "write"}


def runs(job):
    """The shell of a job."""
    return "\n".join(step.get("run", "") for step in job["steps"])


def test_what_is_published_was_tested_audited_and_tried_without_a_compiler():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    publishing = {name for name, job in jobs.items() if writes(job)}
    assert publishing == {"attest", "pypi", "github", "container"}
    for name in publishing:
        assert {"check", "try"} <= ancestors(jobs, name), name
        # Where something is published, nothing is built but the image around the wheel.
        assert not re.search(r"\b(make|cargo|maturin)\b", runs(jobs[name]))
    assert all(not job.get("continue-on-error") for job in jobs.values())
    assert ".ci/run --release" in runs(jobs["check"]) and "make sdist" in runs(jobs["check"])
    assert "python tools/try_wheel.py dist/*.whl --build-kernel" in runs(jobs["try"])
    assert not re.search(r"\b(cargo|rust\w*|maturin)\b", runs(jobs["try"]))
    assert jobs["pypi"]["permissions"] == {"contents": "read", "id-token": "write"}
    assert jobs["github"]["permissions"] == {"contents": "write"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_rights_are_apart_from_the_code_of_pull_requests(path):
    workflow = yaml.safe_load(path.read_text())
    events = set(workflow[True])  # YAML 1.1 takes the key `on` for a boolean
    assert "permissions" in workflow
    written = set().union(*(writes(job) for job in workflow["jobs"].values()))
    if "pull_request" in events:
        assert not written and "secrets" not in path.read_text()
    if written:
        # A cache is shared with pull requests, which could put anything there.
        assert "cache" not in {
            step.get("uses", "").partition("@")[0].partition("/")[2]
            for job in workflow["jobs"].values() for step in job["steps"]
        }  # fmt: skip
        assert "cache:" not in path.read_text()


def test_a_release_leaves_nothing_out():
    """With `--release`, what is optional in .ci/run has to succeed, and advisories be reached."""
    script = (ROOT / ".ci" / "run").read_text()
    assert "make ${is_release:+ADVISORIES=required} lint test" in script
    for made in ("lab", "wheel"):
        assert re.search(rf"^optional_make {made} ", script, re.M)
