"""The command `lab` and its engine: in a browser it gives what the core gives here."""

import contextlib
import hashlib
import http.client
import json
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from conftest import SMALL, command
from fairway import _core
from fairway.ground import registry
from fairway.lab import build, server
from test_architecture import ROOT
from waiting import PATIENCE_S

EXAMPLES = ROOT / "examples"

pytestmark = [
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="this is not a source tree"),
    pytest.mark.skipif(
        not (server.BUILT / server.WASM).is_file(),
        reason="the simulator of the page is not built (make lab)",
    ),
]

#: Examples that are cut to so much: the browser would need seconds for each.
SHORTER = {
    "fat-tree": "100 ms",
    "fat-tree-incast": "200 ms",
    "fat-tree-permutation": "50 ms",
    "lossy": "200 s",
    "ns3-lossy": "200 s",
    "pair": "60 s",
    "parallel": "60 s",
    "parallel-greedy": "60 s",
    "short-flows": "1 s",
}

#: What the engine gives of one run: the summary, names, and of each column its name and a digest.
RUN = """async (text) => {
  const found = await window.engine.run(text);
  const digest = async (column) => {
    const bytes = new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
    const sum = await crypto.subtle.digest("SHA-256", bytes);
    return Array.from(new Uint8Array(sum), (one) => one.toString(16).padStart(2, "0")).join("");
  };
  const table = async (columns) => columns && Promise.all(Object.entries(columns).map(
    async ([name, column]) => [name, column.length, await digest(column)]));
  return {
    summary: found.summary,
    names: [found.flow_ids, found.link_ids, found.loss_flow_ids, found.loss_link_ids],
    tables: [await table(found.series), await table(found.queues), await table(found.losses)],
    seconds: found.seconds,
  };
}"""

#: The words of the error that a call ends with.
REFUSED = """async ([name, text]) => {
  try { await window.engine[name](text); return null; } catch (error) { return error.message; }
}"""


#: So many packets that a run ends only because it is cancelled.
LONG = SMALL.replace('duration = "3 s"', 'duration = "100000 s"').replace('"100 ms"', '"100 s"')


@pytest.fixture(scope="module")
def running():
    with server.server() as opened:
        threading.Thread(target=opened.serve_forever, daemon=True).start()
        yield opened
        opened.shutdown()


@pytest.fixture(scope="module")
def engine(browser, running):
    """A page in which `window.engine` is ready."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_S * 1000)
    page.goto(server.address(running) + "engine.js")
    page.evaluate("""async () => {
      const { Engine } = await import("/engine.js");
      window.engine = new Engine();
      await window.engine.ready;
    }""")
    yield page
    page.close()


def expected(document):
    """What `RUN` should give, from the core; counts of packets are numbers of JavaScript there."""

    def table(columns):
        if columns is None:
            return None
        found = []
        for name, column in columns.items():
            number = column.dtype in (np.uint64, np.int64)
            values = column.astype(np.float64) if number else column
            assert (values == column).all() or np.isnan(values).any()
            found.append([name, len(values), hashlib.sha256(values.tobytes()).hexdigest()])
        return found

    data = _core.run(document)
    return {
        "summary": data.summary,
        "names": [data.flow_ids, data.link_ids, data.loss_flow_ids, data.loss_link_ids],
        "tables": [table(data.series), table(data.queues), table(data.losses)],
    }


def shortened(name, text):
    """The first point of an example, as JSON."""
    if name in SHORTER:
        text = re.sub(r'^duration *= *"[^"]*"', f'duration = "{SHORTER[name]}"', text, flags=re.M)
        text = re.sub(r"^window *=.*\n", "", text, flags=re.M)
    return _core.plan(text, name)["points"][2][0].compact()


def test_every_example_runs_in_the_page_or_has_a_reason_not_to():
    every = {path.name for path in EXAMPLES.glob("*.toml")}
    fits = {f"{name}.toml" for name in build.examples()}
    assert fits | build.UNFIT.keys() == every
    assert not fits & build.UNFIT.keys()
    page = (ROOT / "docs" / "commands" / "lab.md").read_text()
    assert all(f"`examples/{name}`" in page for name in build.UNFIT)


@pytest.mark.parametrize("name", sorted(build.examples()) if EXAMPLES.is_dir() else [])
def test_a_run_in_the_browser_has_the_bytes_of_the_core(engine, name):
    document = shortened(name, build.examples()[name]["text"])
    found = engine.evaluate(RUN, document)
    assert found.pop("seconds") > 0
    assert found == expected(document)


def test_the_losses_of_a_run_have_the_same_bytes(engine):
    text = SMALL.replace('sample = "100 ms"', 'sample = "100 ms"\nlosses = true')
    document = shortened("losses", text)
    found = engine.evaluate(RUN, document)
    del found["seconds"]
    assert found == expected(document)
    assert found["tables"][2][0][1] > 0


@pytest.mark.parametrize("name", ["parallel", "queues", "single", "wlan"])
def test_a_plan_has_the_points_of_the_core(engine, name):
    text = (EXAMPLES / f"{name}.toml").read_text()
    # A seed that no number of JavaScript holds.
    text = re.sub(r"^(seed *= *)\d+$", r"\g<1>9007199254740993", text, flags=re.M)
    planned = _core.plan(text, "experiment")
    found = engine.evaluate("(text) => window.engine.plan(text)", text)
    assert found["title"] == planned["title"]
    axes, repetitions, _ = planned["points"]
    assert [one["settings"] for one in found["points"]] == list(axes)
    assert [one["repetition"] for one in found["points"]] == list(repetitions)


def test_a_document_of_a_plan_runs_with_its_exact_seed(engine):
    text = SMALL.replace("seed     = 7", "seed     = 9007199254740993")
    found = engine.evaluate(
        "async (text) => (await window.engine.run("
        "(await window.engine.plan(text)).points[0].document)).summary",
        text,
    )
    document = _core.plan(text, "experiment")["points"][2][0].compact()
    assert found == _core.run(document).summary


BROKEN = {
    "no TOML": "title = \n",
    "a key twice": 'title = "a"\ntitle = "b"\n',
    "nothing": "\n",
    "an unknown key": SMALL + '\n[topologie]\nkind = "dumbbell"\n',
    "a misspelt algorithm": SMALL.replace('"bic"', '"bick"'),
    "a unit of something else": SMALL.replace('"5 Mbit/s"', '"5 ms"'),
    "no unit": SMALL.replace('"5 Mbit/s"', "5"),
    "a negative duration": SMALL.replace('"3 s"', '"-3 s"'),
    "a window behind the end": SMALL.replace('["1 s", "3 s"]', '["1 s", "30 s"]'),
    "an unknown preset": SMALL.replace("ns2-tcp-linux", "ns4"),
    "a number that is too large": SMALL.replace("= 7", "= 99999999999999999999"),
    "a date": SMALL.replace('"3 s"', "2026-01-01"),
    "a sweep of nothing": SMALL + '\n[sweep]\n"flow.0.cc" = []\n',
    "a sweep with a bad point": SMALL + '\n[sweep]\n"flow.0.cc" = ["bic", "none"]\n',
    "several faults": SMALL.replace('"bic"', '"bick"').replace('"10 ms"', '"10 s/s"'),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_experiment_has_the_words_of_the_core(engine, name):
    with pytest.raises(_core.ExperimentError) as error:
        _core.plan(BROKEN[name], "experiment")
    assert engine.evaluate(REFUSED, ["plan", BROKEN[name]]) == str(error.value)


def test_the_words_are_those_of_the_command_line(engine, tmp_path):
    (tmp_path / "experiment").write_text(BROKEN["several faults"])
    printed = command("run", "experiment", cwd=tmp_path).stderr.splitlines()
    found = engine.evaluate(REFUSED, ["plan", BROKEN["several faults"]])
    assert [f"fairway: {line}" for line in found.splitlines()] == printed


@pytest.mark.parametrize("name", sorted(build.UNFIT))
def test_an_example_that_does_not_fit_is_refused_with_a_remedy(engine, name):
    message = engine.evaluate(REFUSED, ["plan", (EXAMPLES / name).read_text()])
    assert re.match(
        r"experiment: [\w.]+: .*(a page (runs no Python|reads no files).*`fairway run"
        r"|only a real Linux kernel runs commands; use --backend linux)",
        message,
    )


def test_captures_are_refused(engine):
    text = SMALL + '\n[capture]\nat = "hosts"\n'
    assert "a page keeps no captures" in engine.evaluate(REFUSED, ["plan", text])
    assert "a page keeps no captures" in engine.evaluate(
        REFUSED,
        ["run", json.dumps(_core.plan(text, "experiment")["points"][2][0].document)],
    )


def test_what_is_no_document_is_refused_and_the_engine_goes_on(engine):
    assert "not a JSON document" in engine.evaluate(REFUSED, ["run", "{"])
    assert engine.evaluate(RUN, shortened("small", SMALL))["seconds"] > 0


def test_too_much_data_is_an_error_and_the_engine_goes_on(engine):
    # Nearly as many samples as an experiment may ask for: rows of 64 bytes of 18 flows, a million
    # times. Columns that grow have twice that at times, and a page has 1 GiB.
    text = SMALL.replace('"3 s"', '"60 s"').replace('"100 ms"', '"60 us"')
    document = shortened("much", text.replace('"cubic"', '"cubic"\ncount = 17'))
    assert "more memory than a page may use" in engine.evaluate(REFUSED, ["run", document])
    assert engine.evaluate(RUN, shortened("small", SMALL))["seconds"] > 0


def test_a_run_tells_its_progress(engine):
    told = engine.evaluate(
        """async (text) => {
          const told = [];
          await window.engine.run(text, { onProgress: (share) => told.push(share) });
          return told;
        }""",
        shortened("single", (EXAMPLES / "single.toml").read_text()),
    )
    assert 10 < len(told) <= 50
    assert told == sorted(told)
    assert told[-1] == 1


def test_a_cancelled_run_ends_and_the_next_one_runs(engine):
    found = engine.evaluate(
        """async ([long, small]) => {
          const name = (promise) => promise.then(() => "done", (error) => error.name);
          const begun = new Promise((resolve) => {
            window.first = name(window.engine.run(long, { onProgress: resolve }));
          });
          const waiting = name(window.engine.run(small));
          await begun;
          window.engine.cancel();
          const after = name(window.engine.run(small));
          return Promise.all([window.first, waiting, after]);
        }""",
        [shortened("long", LONG), shortened("small", SMALL)],
    )
    assert found == ["AbortError", "AbortError", "done"]


def test_an_experiment_is_planned_while_another_runs(engine):
    found = engine.evaluate(
        """async ([long, small]) => {
          const run = window.engine.run(long).catch((error) => error.name);
          const { title } = await window.engine.plan(small);
          window.engine.cancel();
          return [title, await run];
        }""",
        [shortened("long", LONG), SMALL],
    )
    assert found == ["One small flow", "AbortError"]


def test_the_engine_describes_what_the_core_describes(engine):
    found = engine.evaluate(
        """async () => {
          const e = window.engine;
          return JSON.stringify([await e.ready, await e.schema()]);
        }"""
    )
    described = {"version": _core.version(), "algorithms": registry.algorithms()}
    wanted = [described, registry.schema()]
    # A limit of 64 bits is rounded in JavaScript, as here.
    assert json.loads(found, parse_int=float) == json.loads(json.dumps(wanted), parse_int=float)


def asked(port, path):
    """An answer of the server and its body; the path goes out as it is."""
    address = (server.ADDRESS, port)
    with contextlib.closing(http.client.HTTPConnection(*address, timeout=PATIENCE_S)) as line:
        line.request("GET", path)
        answer = line.getresponse()
        return answer, answer.read()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/engine.js", "text/javascript; charset=utf-8"),
        ("/built/lab.wasm", "application/wasm"),
        ("/built/examples.json", "application/json"),
    ],
)
def test_files_have_their_types_and_the_policy(running, path, kind):
    answer, body = asked(running.server_port, path)
    assert answer.status == 200
    assert body
    assert answer.headers["Content-Type"] == kind
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"http|\*|'unsafe-", policy)


@pytest.mark.parametrize(
    "path",
    ["/../server.py", "/%2e%2e/server.py", "/built/../../server.py", "/..%2fserver.py", "/built/"],
)
def test_nothing_outside_of_the_page_is_served(running, path):
    answer, body = asked(running.server_port, path)
    assert answer.status == 404
    assert b"import" not in body


def test_the_command_serves_the_page_until_it_is_stopped():
    arguments = [sys.executable, "-m", "fairway", "lab", "--port", "0", "--no-open"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        port = int(re.search(r"http://127\.0\.0\.1:(\d+)/", said)[1])
        assert asked(port, "/engine.js")[0].status == 200
        taken = command("lab", "--port", str(port), "--no-open")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 130
    assert taken.returncode == 2
    assert f"--port {port}: another program uses it" in taken.stderr


def test_without_the_built_files_it_says_how_to_make_them(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "BUILT", tmp_path)
    with pytest.raises(server.InputError, match="make lab"):
        server.server()


def test_the_whole_page_is_copied_over_a_copy_alone(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "mine.txt").write_text("kept")
    with pytest.raises(build.InputError, match="not a copy of the page"):
        build.copy(tmp_path / "lab")
    assert (tmp_path / "lab" / "mine.txt").read_text() == "kept"
    for _ in range(2):
        build.copy(tmp_path / "site")
        assert (tmp_path / "site" / "built" / "lab.wasm").stat().st_size > 0
        assert (tmp_path / "site" / "engine.js").is_file()
