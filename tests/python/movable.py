"""Finds what a build takes from elsewhere under a name that somebody can move: tags, ranges, pipes.

`found(path, text)` gives each such reference of a workflow, a recipe of an image, a makefile, a
script or a page, with its reason.
"""

import contextlib
import re
import shlex
from pathlib import Path

import yaml

#: A commit (git-hash-object(1), SHA-1) and a digest of an image (OCI image specification).
ACTION = re.compile(r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40}")
VERSION_BESIDE = re.compile(r"uses:\s*(\S+)\s+# v\d+(?:\.\d+)+$", re.M)
IMAGE = re.compile(r"\S+@sha256:[0-9a-f]{64}")
#: Blocks of a page that somebody may paste into a shell.
BLOCK = re.compile(r"^ *```(?:console|sh|bash|shell)?\n(.*?)^ *```", re.M | re.S)
INLINE = re.compile(r"`([^`\n]+)`")

PIPED = re.compile(
    r"\b(curl|wget)\b[^\n]*\|\s*(sudo\s+(-\S+\s+)*)?(\S*/)?(ba|da|k|z)?(sh|python3?|perl)\b"
    r"|\b(sh|bash|eval|source|python3?)\b[^\n]*(<\(|\$\(|`)\s*(curl|wget)\b"
)
INSTALLERS = {
    "pip": re.compile(
        r"\b(?:pip3?|pipx|uv pip|uv tool)(?:\s+--?\S+)*\s+(?:install|wheel|download)\b([^\n]*)"
    ),
    "cargo": re.compile(r"\bcargo\s+(?:\+\S+\s+)?(?:install|binstall)\b([^\n]*)"),
    "rustup": re.compile(
        r"\brustup\s+(?:update|(?:toolchain\s+install|default)\s+(?:stable|beta|nightly)\b)([^\n]*)"
    ),
    "other": re.compile(r"\b(?:npx|npm\s+(?:install|i)|gem\s+install|go\s+install)\b([^\n]*)"),
    "pull": re.compile(r"\b(?:docker|podman)\s+pull\b([^\n]*)"),
    "clone": re.compile(r"\bgit\s+clone\b[^\n]*https?:([^\n]*)"),
}


def found(path: Path, text: str) -> list[str]:
    """Every movable reference of a file, as its kind knows them."""
    if path.suffix in (".yml", ".yaml"):
        return [*of_workflow(text)] if "jobs" in (yaml.safe_load(text) or {}) else [*hooks(text)]
    if path.name.startswith(("Containerfile", "Dockerfile")):
        return [*of_recipe(text)]
    if path.suffix == ".md":
        return [
            one for code in [*BLOCK.findall(text), *INLINE.findall(text)] for one in shell(code)
        ]
    return [*shell(text)]


def of_workflow(text):
    """Actions, images and shells of a workflow."""
    workflow = yaml.safe_load(text)
    told = set(VERSION_BESIDE.findall(text))
    for job in workflow["jobs"].values():
        images = [job.get("container"), *job.get("services", {}).values()]
        for image in filter(None, images):
            name = image["image"] if isinstance(image, dict) else image
            if not IMAGE.fullmatch(name):
                yield f"image {name}: without a digest"
        for used in [job.get("uses"), *(step.get("uses") for step in job.get("steps", []))]:
            if used is None or used.startswith("./"):
                continue
            if not (IMAGE if used.startswith("docker://") else ACTION).fullmatch(used):
                yield f"uses {used}: not at a commit"
            elif used not in told:
                yield f"uses {used}: without its version in a comment"
        for step in job.get("steps", []):
            yield from shell(step.get("run", ""))


def hooks(text):
    """Repositories of hooks before a commit."""
    for one in (yaml.safe_load(text) or {}).get("repos", []):
        if one["repo"] != "local" and not re.fullmatch(r"[0-9a-f]{40}", str(one.get("rev"))):
            yield f"repo {one['repo']}: not at a commit"


def of_recipe(text):
    """Images, files from elsewhere and shells of a recipe."""
    stages = {"scratch"}
    for line in joined(text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word.upper() == "FROM":
            image, *named = [part for part in rest.split() if not part.startswith("--")]
            if image not in stages and not IMAGE.fullmatch(image):
                yield f"FROM {image}: without a digest"
            stages |= set(named[1:2])
        elif word.upper() in ("ADD", "COPY", "RUN"):
            for image in re.findall(r"(?:--from=|,from=)([^\s,]+)", rest):
                if image not in stages and not image.isdigit() and not IMAGE.fullmatch(image):
                    yield f"{word} from {image}: without a digest"
            if word.upper() == "ADD" and re.search(r"https?://|git@", rest):
                yield f"ADD {rest}: of an address"
            yield from shell(rest)


def joined(text):
    """Lines that go on are one; comments are none."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return re.sub(r"\\\n\s*", " ", "\n".join(lines))


def shell(text):
    """Commands of a shell that fetch what nothing pins."""
    text = joined(text)
    for match in PIPED.finditer(text):
        yield f"{match[0].strip()}: runs what a server sends"
    for kind, pattern in INSTALLERS.items():
        for match in pattern.finditer(text):
            if not is_pinned(kind, re.split(r"&&|\|\||[;|]", match[1])[0]):
                yield match[0].strip()


def is_pinned(kind, rest):
    """Whether the rest of such a command names exactly one thing."""
    words = rest.split()
    if kind == "cargo":
        return "--locked" in words and bool(re.search(r"--version[ =]=?\d+\.\d+\.\d+", rest))
    if kind == "pull":
        return any(IMAGE.fullmatch(word) for word in words)
    if kind == "pip":
        return "--require-hashes" in words or all(is_local(one) for one in named(words))
    return False


#: Options of pip that take a word.
WITH_WORD = {"-c", "--constraint", "--python", "--target", "-d", "--dest", "--root", "-w"}


def named(words):
    """What is to be installed, without options and their words."""
    # A quotation may go on in what was cut off.
    with contextlib.suppress(ValueError):
        words = shlex.split(" ".join(words))
    given, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in WITH_WORD:
            skip = True
        elif not word.startswith("-") or word.startswith("-r") or word == "--requirement":
            given.append(word)
    return given or ["nothing"]


def is_local(name):
    """Whether a requirement is a directory or a wheel of this machine."""
    return bool(re.match(r"(\.{1,2}(/|$|\[)|/(?!/)|dist/|\$\(echo dist/)", name))
