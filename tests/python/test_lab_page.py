"""The laboratory's page in a real browser: from what is typed to what is drawn."""

import csv
import io
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

import fairway
from conftest import BROWSER_MS, SMALL
from fairway.lab import charts, request, server
from fairway.plot.page import FILL

pytestmark = pytest.mark.skipif(
    not (server.BUILT / server.WASM).is_file(),
    reason="the simulator of the page is not built (make lab)",
)

#: An exercise whose claims can be worked out: half of 5 Mbit/s is less than the 4.8 of `SMALL`.
EXERCISE = {
    "key": "half",
    "title": "Half of the link",
    "minutes": 5,
    "question": "Does the link carry *more* than half of its `rate`?",
    "hints": ["Look at the goodput."],
    "start": SMALL,
    "keep": ["duration", "flow.0"],
    "claims": [
        {"text": "More than half.", "left": "metric.goodput_bps", "test": ">", "right": 2.5e6},
        {"text": "Twice the link.", "left": "metric.goodput_bps", "test": ">", "right": 1e7},
    ],
}


@pytest.fixture(scope="module")
def address():
    with server.server() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield server.address(running)
        running.shutdown()


@pytest.fixture
def lab(browser, address):
    """A function that opens the page; what went wrong is looked at in the end."""
    wrong = []
    opened = []

    def show(text=SMALL, at="", exercises=None, address=address, **options):
        context = browser.new_context(**options)
        context.set_default_timeout(BROWSER_MS)
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}"))
        page.on(
            "request",
            lambda asked: (
                asked.url.startswith((address, "blob:", "data:")) or wrong.append(asked.url)
            ),
        )
        if text is not None:
            kept = json.dumps(json.dumps(text))
            page.add_init_script(
                f"localStorage.getItem('fairway-lab-text') ?? "
                f"localStorage.setItem('fairway-lab-text', {kept})"
            )
        if exercises is not None:
            # Only where the page is used until it has them: a context that closes meanwhile waits.
            page.route("**/built/exercises.json", lambda route: route.fulfill(json=exercises))
        page.goto(address + at)
        drawn(page, 1)
        return page

    yield show
    for context in opened:
        context.close()
    assert wrong == []


def drawn(page, times):
    """Wait until results have been drawn so many times."""
    page.locator(f"body[data-drawn='{times}']").wait_for()


def after(page, act):
    """Do something, and wait for the results that follow."""
    before = int(page.locator("body").get_attribute("data-drawn"))
    act()
    drawn(page, before + 1)


def text_of(page):
    return page.locator("#toml").input_value()


def specs(page):
    return page.locator("#figures figure").evaluate_all("all => all.map(one => one.spec)")


def plain(spec):
    """A definition with its data in place of their names."""
    data = {name: rows(table) for name, table in spec["datasets"].items()}

    def walk(node):
        if isinstance(node, dict):
            return {key: data.get(str(one), walk(one)) for key, one in node.items()}
        return list(map(walk, node)) if isinstance(node, list) else node

    return walk({key: one for key, one in spec.items() if key != "datasets"})


def rows(table):
    def value(cell):
        return float(cell) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell) else cell

    return [[value(cell) for cell in row] for row in csv.reader(io.StringIO(table))]


ONE = SMALL.replace('[[flow]]\ncc    = "cubic"\nstart = "0.5 s"\n\n', "")
#: What a chart may have: a shaded window, one line or many, points that stand alone, more samples
#: than are drawn, names that CSV quotes, and axes in other units.
EXPERIMENTS = {
    "window": SMALL,
    "whole run": SMALL.replace('window = ["1 s", "3 s"]\n', ""),
    "one flow": ONE,
    "one sample": ONE.replace('sample = "100 ms"', 'sample = "3 s"'),
    "samples": SMALL.replace('sample = "100 ms"', 'sample = "2 ms"'),
    "many": ONE.replace('cc = "bic"', 'cc = "bic"\ncount = 40'),
    "names": SMALL.replace('cc = "bic"', 'cc = "bic"\nid = "a, \\"b\\" and a long name"'),
    "six": ONE.replace('cc = "bic"', 'cc = "bbr"\ncount = 12\nid = "a-rather-long-name"'),
}


def test_charts_are_those_of_the_report(lab):
    page = lab()
    for name, text in EXPERIMENTS.items():
        if text != SMALL:
            after(page, lambda text=text: page.locator("#toml").fill(text))
        run = fairway.run(text)
        shown = specs(page)
        assert len(shown) == len(charts.SHOWN)
        for quantity, spec in zip(charts.SHOWN, shown, strict=True):
            # As JSON, which has no whole numbers of another type.
            expected = run.figures.draw(quantity, width=FILL).to_dict()
            assert plain(spec) == plain(json.loads(json.dumps(expected))), (name, quantity)


def test_a_field_changes_its_line_and_the_charts(lab):
    page = lab(SMALL.replace('rate  = "5 Mbit/s"', 'rate  = "5 Mbit/s"  # slow'))
    before, lines = specs(page), text_of(page).splitlines()
    after(page, lambda: page.get_by_label("Rate", exact=True).fill("8"))
    changed = text_of(page).splitlines()
    assert [line for line in changed if line not in lines] == ['rate  = "8 Mbit/s"  # slow']
    assert len(changed) == len(lines)
    assert specs(page) != before
    after(page, lambda: page.get_by_label("Flow 2: algorithm").select_option("vegas"))
    assert 'cc    = "vegas"\nstart = "0.5 s"' in text_of(page)
    after(page, lambda: page.get_by_role("button", name="Add a flow").click())
    assert text_of(page).count("[[flow]]") == 3
    after(page, lambda: page.get_by_role("button", name="Remove flow 1").click())
    assert 'cc = "bic"' not in text_of(page)
    assert page.locator("#tables").get_by_text("vegas#0").count()
    after(page, lambda: page.locator("#toml").fill(SMALL.replace("5 Mbit/s", "9 Mbit/s")))
    expect(page.get_by_label("Rate", exact=True)).to_have_value("9")


def test_the_form_says_what_it_cannot_show(lab):
    page = lab()
    page.locator("#toml").fill(SMALL.replace('kind = "dumbbell"', 'kind = "dumb'))
    expect(page.locator("#form-note")).to_contain_text("line 9")
    expect(page.get_by_label("Rate", exact=True)).to_be_disabled()
    page.locator("#toml").fill("a = " + "[" * 100_000)
    expect(page.locator("#form-note")).to_contain_text("line 1")
    expect(page.locator(".mark-of-error")).to_contain_text("line 1")
    page.locator("#toml").fill(SMALL.replace('kind = "dumbbell"', 'kind = "chain"'))
    expect(page.locator("#form-note")).to_contain_text('"chain"')
    after(page, lambda: page.locator("#toml").fill(ONE + '\n[[flow]]\ncc = "reno"\n' * 32))
    expect(page.locator("#form-note")).to_contain_text("32 of 33 flows")
    expect(page.locator(".flow")).to_have_count(32)


def test_a_unit_of_the_file_stays_with_its_number(lab):
    page = lab(SMALL.replace('"20 packets"', '"30 KiB"'))
    after(page, lambda: page.locator("#toml").fill(SMALL.replace('"20 packets"', '"1 MiB"')))
    after(page, lambda: page.get_by_label("Buffer", exact=True).fill("2"))
    assert 'limit = "2 MiB"' in text_of(page)


def test_removing_a_flow_keeps_the_comments_of_the_next_table(lab):
    page = lab(SMALL.replace("[measure]", "# The measuring window.\n[measure]"))
    after(page, lambda: page.get_by_role("button", name="Remove flow 2").click())
    flow = '[[flow]]\ncc    = "cubic"\nstart = "0.5 s"\n\n'
    assert text_of(page) == SMALL.replace(flow, "# The measuring window.\n")


def test_an_error_stands_under_its_line(lab):
    page = lab()
    wrong = SMALL.replace('"bic"', '"bicc"')
    page.locator("#toml").fill(wrong)
    mark = page.locator(".mark-of-error")
    with pytest.raises(fairway.ExperimentError) as refused:
        fairway.run(wrong)
    words = "unknown congestion control"
    assert words in str(refused.value)
    expect(mark).to_contain_text(words)
    assert str(refused.value).endswith(mark.text_content())
    line = wrong.splitlines().index('cc = "bicc"') + 1
    assert mark.get_attribute("data-line") == str(line)
    expect(page.locator(".gutter .wrong")).to_have_text(str(line))
    number = page.locator(".gutter .wrong").bounding_box()
    assert abs(mark.bounding_box()["y"] - number["y"] - number["height"]) <= 2
    assert page.locator("#figures figure").count() == len(charts.SHOWN)  # of the last run
    after(page, lambda: page.locator("#toml").fill(SMALL + "\n"))
    expect(mark).to_have_count(0)


LONG = SMALL.replace("5 Mbit/s", "400 Mbit/s").replace('duration = "3 s"', 'duration = "2000 s"')


def test_a_large_run_asks_first_and_can_be_cancelled(lab):
    page = lab()
    before = specs(page)
    page.locator("#toml").fill(LONG)  # 400 Mbit/s × 2000 s ÷ 12,000 bits
    expect(page.locator("#state")).to_contain_text("67 million packets")
    page.locator("#go").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#state")).to_contain_text("Cancelled")
    assert specs(page) == before
    after(page, lambda: page.locator("#toml").fill(ONE))


def test_completion_by_keyboard(lab):
    page = lab()
    area = page.locator("#toml")
    area.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type('[[flow]]\ncc = "veg')
    options = page.locator("#choices [role=option] code")
    expect(options.first).to_have_text('"vegas"')
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    before = int(page.locator("body").get_attribute("data-drawn"))
    page.keyboard.press("Enter")
    drawn(page, before + 1)
    assert text_of(page).endswith('cc = "vegas"')
    page.keyboard.type("\nstar")
    expect(options.first).to_have_text("start")
    page.keyboard.press("Escape")
    expect(page.locator("#choices")).to_be_hidden()


def test_undoing_reaches_across_a_reload(lab):
    page = lab()
    after(page, lambda: page.get_by_label("Rate", exact=True).fill("7"))
    page.reload()
    drawn(page, 1)
    assert "7 Mbit/s" in text_of(page)
    after(page, lambda: page.locator("#undo").click())
    assert text_of(page) == SMALL
    after(page, lambda: page.locator("#redo").click())
    assert "7 Mbit/s" in text_of(page)


def test_two_runs_beside_each_other(lab):
    page = lab()
    page.get_by_role("button", name="Pin this run").click()
    after(page, lambda: page.get_by_label("Rate", exact=True).fill("10"))
    shown = specs(page)
    assert len(shown) == 2 * len(charts.SHOWN)
    for left, right in zip(shown[::2], shown[1::2], strict=True):
        ends = [spec["layer"][1]["encoding"]["y"]["scale"] for spec in (left, right)]
        assert ends[0] == ends[1]
    goodput = page.get_by_role("region", name="Differences").get_by_role("row", name="goodput")
    expect(goodput.first).to_contain_text("4.8")  # of 5 Mbit/s, as `fairway run` says
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator("#figures figure")).to_have_count(len(charts.SHOWN))


def test_a_sweep_of_one_number(lab):
    page = lab()
    page.get_by_role("button", name="Sweep").click()
    for name, value in {"From": "2", "To": "8", "Runs": "3"}.items():
        page.locator("#sweep-form").get_by_label(name, exact=True).fill(value)
    after(page, lambda: page.get_by_role("button", name="Run the sweep").click())
    shown = specs(page)
    assert len(shown) == 3
    assert len({str(spec["layer"][1]["encoding"]["y"]["scale"]) for spec in shown}) == 1
    table = page.get_by_role("region", name="Runs")
    assert table.get_by_role("row").count() == 4
    for rate in ("2", "5", "8"):
        expect(table.get_by_role("rowheader", name=re.compile(rf"\b{rate}\b"))).to_have_count(1)
    assert "[sweep]" not in text_of(page)
    long = SMALL + f"[sweep]\nseed = {list(range(13))}\n"
    after(page, lambda: page.locator("#toml").fill(long))
    expect(page.locator("#state")).to_contain_text("The first of 13 runs")
    assert len(specs(page)) == len(charts.SHOWN)
    page.locator("#sweep-key").fill("topology.bottleneck.rat")
    page.get_by_role("button", name="Run the sweep").click()
    expect(page.locator("#sweep-form [role=status]")).to_contain_text("topology.bottleneck.rat")
    expect(page.locator(".mark-of-error")).to_have_count(0)


def test_a_link_carries_the_experiment(lab, address):
    page = lab(SMALL + "# ä\n")
    page.get_by_role("button", name="Share").click()
    page.get_by_role("dialog", name="Share").wait_for()
    link = page.get_by_label("Link", exact=True).input_value()
    assert link.startswith(address + "#x=")
    other = lab(None, link.removeprefix(address))
    assert text_of(other) == SMALL + "# ä\n"
    # Who had something of their own gets it back, whatever changed since.
    third = lab(ONE, link.removeprefix(address))
    after(third, lambda: third.get_by_label("Rate", exact=True).fill("7"))
    after(third, lambda: third.get_by_role("button", name="Back to mine").click())
    assert text_of(third) == ONE
    third.evaluate("hash => { location.hash = hash; }", link.removeprefix(address))
    third.get_by_role("button", name="Back to mine").wait_for()
    assert text_of(third) == SMALL + "# ä\n"


EVIL = "<img src=x onerror='window.injected = 1'><script>window.injected = 1</script>"


HOSTILE = {
    "broken": "#x=AAAA",
    "no base64": "#x=%%%",
    "long": "#x=" + "A" * 200_000,
    "not UTF-8": "#x=-w8A",  # one stored byte, 255 (RFC 1951)
}


def test_a_hostile_link_is_refused(lab):
    page = lab(SMALL, HOSTILE["broken"])
    bomb = page.evaluate("async () => (await import('./share.js')).fragment('a'.repeat(2e7))")
    assert len(bomb) < 50_000
    for end in (*HOSTILE.values(), bomb):
        page.locator("#notice").get_by_role("button", name="Close").click()
        page.evaluate("end => { location.hash = end; }", end)
        expect(page.locator("#notice")).to_contain_text("cannot be read")
        assert text_of(page) == SMALL
    assert not page.url.endswith(bomb)


def test_a_title_is_no_script(lab):
    page = lab(SMALL.replace("One small flow", EVIL).replace('"bic"', '"bic"\nid = "<b>x"'))
    expect(page.locator("#title")).to_have_text(EVIL)
    assert page.evaluate("window.injected ?? null") is None
    assert page.locator("main b, main img").count() == 0
    page.locator("#toml").fill(SMALL.replace('"bic"', '"<b>bic"'))
    expect(page.locator(".mark-of-error")).to_contain_text("<b>")


def test_downloads_are_what_was_measured(lab, tmp_path):
    page = lab()
    found = {}
    for name in ("Summary (JSON)", "Series of flows (CSV)", "Experiment (TOML)"):
        page.locator("#downloads summary").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name=name).click()
        saved.value.save_as(tmp_path / "saved")
        found[name] = (tmp_path / "saved").read_text("utf-8")
    run = fairway.run(SMALL)
    summary = json.loads(found["Summary (JSON)"])
    assert summary["flows"] == run.summary["flows"]
    table = list(csv.DictReader(io.StringIO(found["Series of flows (CSV)"])))
    assert [row["flow"] for row in table] == run.series["flow"].to_list()
    assert [float(row["cwnd_segments"] or "nan") for row in table][5:] == (
        run.series["cwnd_segments"].to_list()[5:]
    )
    assert found["Experiment (TOML)"] == SMALL


def test_a_file_is_opened(lab, tmp_path):
    page = lab()
    (tmp_path / "mine.toml").write_text(ONE, "utf-8")
    after(page, lambda: page.locator("#file").set_input_files(tmp_path / "mine.toml"))
    assert text_of(page) == ONE
    (tmp_path / "mine.toml").write_bytes(b"\xff\xfe")
    page.locator("#file").set_input_files(tmp_path / "mine.toml")
    expect(page.locator("#notice")).to_contain_text("not text in UTF-8")
    assert text_of(page) == ONE


def test_the_page_keeps_its_policy_on_a_plain_static_server(lab, browser):
    arguments = ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", server.PAGE]
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            port = re.search(r"port (\d+)", process.stdout.readline())[1]
            # A violation is a message of the console, and the fixture collects other hosts.
            page = lab(address=f"http://127.0.0.1:{port}/")
            page.locator("#theme").click()
            after(page, lambda: page.locator("#toml").fill(ONE))
            page.locator("#downloads summary").click()
            with page.expect_download():
                page.get_by_role("button", name="Summary (JSON)").click()
            other = browser.new_page()
            other.goto(page.url)
            violated = other.evaluate(
                """async () => {
                  const blocked = new Promise((resolve) => document.addEventListener(
                    "securitypolicyviolation", (event) => resolve(event.effectiveDirective)));
                  const style = document.createElement("style");
                  style.textContent = "body { color: red }";
                  document.head.append(style);
                  return blocked;
                }"""
            )
            other.close()
            assert violated.startswith("style-src")
        finally:
            process.terminate()


def test_a_page_from_a_file_says_how_to_serve_it(browser):
    page = browser.new_page()
    page.goto((server.PAGE / "index.html").as_uri())
    expect(page.locator("#unserved")).to_contain_text("fairway lab")
    expect(page.locator("#unserved")).to_contain_text("python3 -m http.server")
    expect(page.locator("main")).to_be_hidden()
    page.close()


def test_a_page_without_scripts_says_what_it_needs(browser, address):
    page = browser.new_page(java_script_enabled=False)
    page.goto(address)
    # The search by text leaves <noscript> out.
    expect(page.locator("noscript")).to_be_visible()
    assert "Enable JavaScript" in page.locator("noscript").inner_html()
    page.close()


@pytest.mark.parametrize(
    "name",
    ["main.js", "toml.js", "worker.js", "built/lab.wasm", "built/vega.js", "built/charts.js"],
)
def test_a_missing_file_is_named(browser, address, name):
    page = browser.new_page()
    page.route(f"**/{name}", lambda route: route.fulfill(status=404))
    page.goto(address)
    # The error of a module that is imported has the address of the script that imports it.
    shown = "main.js or a script that it imports" if name == "toml.js" else name
    expect(page.locator("#state")).to_contain_text(shown)
    expect(page.locator("#errors")).to_be_empty()
    page.close()


def test_an_example_is_opened_by_keyboard_alone(lab):
    page = lab()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.locator("#open-gallery").evaluate("one => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Examples")
    expect(dialog).to_be_visible()
    page.keyboard.press("Tab")
    # The focus is seen.
    page.wait_for_function("getComputedStyle(document.activeElement).outlineStyle !== 'none'")
    after(page, lambda: page.keyboard.press("Enter"))
    expect(dialog).to_be_hidden()
    assert "One CUBIC flow" in text_of(page)


def test_an_exercise_is_judged(lab):
    page = lab(ONE, exercises=[EXERCISE])
    page.get_by_role("button", name="Exercises").click()
    after(page, lambda: page.get_by_role("button", name="Half of the link").click())
    assert text_of(page) == SMALL
    claims = page.locator(".claims li")
    expect(claims.nth(0)).to_contain_text("✓ holds")
    expect(claims.nth(0)).to_contain_text("4.8")
    expect(claims.nth(1)).to_contain_text("✗ does not hold")
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".hints")).to_contain_text("Look at the goodput.")
    fast = SMALL.replace("5 Mbit/s", "20 Mbit/s")
    after(page, lambda: page.locator("#toml").fill(fast.replace('"bic"', '"htcp"')))
    expect(claims.nth(1)).to_contain_text("✓ holds")
    expect(claims.nth(2)).to_have_text("✗ must not change: flow.0")
    after(page, lambda: page.locator("#toml").fill(fast))
    expect(page.locator(".claims")).to_contain_text("Solved.")
    page.get_by_role("button", name="Exercises").click()
    expect(page.locator("#exercise-list")).to_contain_text("✓ solved")


#: What claims and keys that must stay come to; `test_exercise.py` holds Python against the same.
VECTORS = json.loads((Path(__file__).parent / "exercise_vectors.json").read_text())


def test_answers_are_judged_as_on_the_command_line(lab):
    page = lab()
    held, kept = page.evaluate(
        """async ({claims, summary, keep}) => {
            const { changed, evaluate } = await import("./claims.js");
            return [
                claims.map((claim) => evaluate(claim, summary).held === true),
                keep.map(({path, first, answer}) => changed([path], first, answer).length === 0),
            ];
        }""",
        VECTORS,
    )
    assert held == [claim["held"] for claim in VECTORS["claims"]]
    assert kept == [case["kept"] for case in VECTORS["keep"]]


def test_a_phone_needs_no_sideways_scrolling(lab):
    page = lab(viewport={"width": 360, "height": 740}, has_touch=True)
    for panel in ("Experiment", "Charts"):
        page.locator(".tabs").get_by_role("button", name=panel).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for drawing in page.locator("#figures svg.marks").all():
        box = drawing.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
    for dialog in ("Examples", "Exercises", "Share"):
        page.get_by_role("button", name=dialog, exact=True).click()
        box = page.get_by_role("dialog", name=dialog).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360
        page.keyboard.press("Escape")


#: Every control that is seen, with its accessible name and its contrast (WCAG 2.1, 1.4.3).
CONTROLS = """() => {
  const all = (kind) => Array.from(document.querySelectorAll(kind)).filter(
    (one) => one.checkVisibility({ visibilityProperty: true }));
  const part = (one) => (one <= 10.31 ? one / 3294.6 : ((one / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const found = parts(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] > 0.99) { return found; }
    }
    return [255, 255, 255];
  };
  const contrast = (one) => {
    const ends = [light(parts(getComputedStyle(one).color)), light(behind(one))];
    return (Math.max(...ends) + 0.05) / (Math.min(...ends) + 0.05);
  };
  const isText = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const texts = all("body *").filter((one) => Array.from(one.childNodes).some(isText)
    && !one.closest("svg, noscript, :disabled, textarea"));
  const controls = all("button, input, select, textarea, summary, [tabindex='0']");
  const isNamed = (one) => one.getAttribute("aria-label") || one.textContent.trim()
    || Array.from(one.labels || []).some((label) => label.textContent.trim());
  const ids = Array.from(document.querySelectorAll("header [id], form [id], button[id], input[id]"),
    (one) => one.id);
  return {
    faint: texts.filter((one) => contrast(one) < 4.5).map((one) => one.outerHTML.slice(0, 200)),
    nameless: controls.filter((one) => !isNamed(one)).map((one) => one.outerHTML),
    doubled: ids.filter((id, at) => ids.indexOf(id) !== at),
    controls: controls.length,
    texts: texts.length,
  };
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_have_names_and_words_have_contrast(lab, scheme):
    page = lab(SMALL, color_scheme=scheme, reduced_motion="reduce")
    page.get_by_role("button", name="Sweep").click()
    page.locator("#toml").fill(SMALL.replace('"bic"', '"bicc"'))
    page.locator(".mark-of-error").wait_for()
    found = page.evaluate(CONTROLS)
    assert found["controls"] > 25
    assert found["texts"] > 50
    assert found["faint"] == []
    assert found["nameless"] == []
    assert found["doubled"] == []


def test_the_policy_allows_nothing_in_general(lab):
    page = lab()
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy
    assert rules["connect-src"] == "'self'"
    assert f"{policy}; frame-ancestors 'none'" == request.POLICY


def test_every_module_is_loaded_ahead():
    page = (server.PAGE / "index.html").read_text("utf-8")
    ahead = set(re.findall(r'rel="modulepreload" href="([^"]+)"', page))
    scripts = {path.name for path in server.PAGE.glob("*.js")}
    assert scripts - ahead == {"main.js", "start.js", "worker.js"}
    assert ahead <= scripts
