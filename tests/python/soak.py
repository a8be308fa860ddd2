"""Random experiments, walks, fuzzers and disturbed transfers, in turn, for as long as it is told.

    python tests/python/soak.py --minutes 60

`make soak MINUTES=60` calls it. Every round goes on where the last one ended, so that a longer
soak tries more. What is found is printed with what finds it again, and ends it with code 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from transfer_soak import disturbed_transfer

ROOT = Path(__file__).parents[2]

#: Random experiments of one round; two minutes.
SCENARIOS = 30_000

#: Transfers of one round to a disk that fails, for each of two tests; three minutes.
CRASHES = 30_000

#: Calls of each command that writes results, for each kind of failure; three minutes.
STORE_CRASHES = 6

#: One call in so many fails in a round; two minutes.
FAILURES_STEP = 41

#: Liars of one round, at each end; two minutes.
LIARS = 5_000

#: Seconds of a round for walks over the whole product, for each target of the fuzzer, and for
#: transfers.
WALKS_S = 240
FUZZ_S = 60
TRANSFERS_S = 180

TARGETS = (
    *("capture", "text", "packet", "gzip", "experiment", "trace", "script"),
    *("frame", "admission", "iperf3", "journal"),
)


def main() -> int:
    """Soak, and tell how much was tried; 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--first", type=int, default=0, help="round to begin with")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.minutes * 60
    fuzz = shutil.which("cargo-fuzz") is not None
    if not fuzz:
        tell("cargo-fuzz is not there: no fuzzing (`make fuzz` installs it)")
    number = arguments.first
    found = 0
    while not found and time.monotonic() < end:
        tell(f"round {number}")
        found += not scenarios(number)
        found += not crashes(number)
        if time.monotonic() < end:
            found += not failures(number)
        if time.monotonic() < end:
            found += not walks(number)
        if fuzz and time.monotonic() < end:
            found += sum(not fuzzed(target) for target in TARGETS)
        if time.monotonic() < end:
            found += not transfers(number, min(end, time.monotonic() + TRANSFERS_S))
        number += 1
    tell(f"{number - arguments.first} rounds, {found or 'nothing'} found")
    return int(found > 0)


def tell(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def scenarios(number: int) -> bool:
    """Random experiments under the laws of the simulator."""
    environment = {
        **os.environ,
        "FAIRWAY_SCENARIOS": str(SCENARIOS),
        # The first ones are run by `make test`.
        "FAIRWAY_FIRST_SCENARIO": str(1_000_000 + number * SCENARIOS),
    }
    command = ["cargo", "test", "--quiet", "--locked", "--package", "fairway-sim"]
    return _tried(
        f"{SCENARIOS} experiments", [*command, "--test", "all", "scenarios::"], environment
    )


def walks(number: int) -> bool:
    """Random experiments, and what a person does with them."""
    # The seed of `make test` is another.
    options = ["--seed", str(1_000 + number), "--minutes", str(WALKS_S / 60)]
    command = [sys.executable, "-m", "walker", *options, "--product", str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "python")}
    return _tried(f"walked for {WALKS_S} s", command, environment)


def crashes(number: int) -> bool:
    """Transfers to a simulated disk that fails, fills up and loses power, and with liars."""
    environment = {
        **os.environ,
        "FAIRWAY_CRASHES": str(CRASHES),
        # The first ones are run by `make test`.
        "FAIRWAY_FIRST_CRASH": str(1_000_000 + number * CRASHES),
        # Those of `make test` are of round 0.
        "FAIRWAY_STORE_ROUND": str(1 + number),
        "FAIRWAY_LIARS": str(LIARS),
        "FAIRWAY_FIRST_LIAR": str(1_000_000 + number * LIARS),
    }
    command = ["make", "--no-print-directory", "crashes", f"STORE_CRASHES={STORE_CRASHES}"]
    return _tried(f"{CRASHES} crashes of transfers, and of commands", command, environment)


def failures(number: int) -> bool:
    """Commands of which one call of the system fails, at other calls in each round."""
    tests = Path(__file__).parent
    options = ["--every", str(FAILURES_STEP), "--first", str(number % FAILURES_STEP)]
    command = [sys.executable, str(tests / "failing_cases.py"), *options]
    return _tried(f"a failing call in {FAILURES_STEP}", command, dict(os.environ))


def fuzzed(target: str) -> bool:
    """A reader of outside data under libFuzzer."""
    command = ["make", "fuzz", f"SECONDS={FUZZ_S}", f"TARGETS={target}"]
    return _tried(f"{target} fuzzed for {FUZZ_S} s", command, dict(os.environ))


def transfers(number: int, end: float) -> bool:
    """Transfers over a network that misbehaves."""
    seed = number * 1_000_000
    while time.monotonic() < end:
        with tempfile.TemporaryDirectory() as place:
            try:
                told = disturbed_transfer(seed, Path(place))
            except AssertionError:
                traceback.print_exc()
                tell(f"found: disturbed_transfer({seed}, place) of transfer_soak")
                return False
        tell(f"  transfer {seed}: {told}")
        seed += 1
    return True


def _tried(what: str, command: list[str], environment: dict[str, str]) -> bool:
    began = time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode:
        tell(f"{done.stdout}\nfound: {what}: {' '.join(command)}")
    else:
        tell(f"  {what}: {time.monotonic() - began:.0f} s")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
