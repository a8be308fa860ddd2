"""The laboratory's page in a real browser: from what is typed to what is drawn."""

import csv
import io
import json
import re
import threading
import urllib.parse

import pytest
from playwright.sync_api import expect

import fairway
from conftest import BROWSER_MS, SMALL
from fairway.lab import charts, server
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

    def show(text=SMALL, at="", **options):
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
        page.route("**/built/exercises.json", lambda route: route.fulfill(json=[EXERCISE]))
        if text is not None:
            kept = json.dumps(json.dumps(text))
            page.add_init_script(
                f"localStorage.getItem('fairway-lab-text') ?? "
                f"localStorage.setItem('fairway-lab-text', {kept})"
            )
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
    page.locator("#toml").fill(SMALL.replace('kind = "dumbbell"', 'kind = "chain"'))
    expect(page.locator("#form-note")).to_contain_text('"chain"')


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
    # Who had something of their own gets it back.
    third = lab(ONE, link.removeprefix(address))
    after(third, lambda: third.get_by_role("button", name="Back to mine").click())
    assert text_of(third) == ONE


EVIL = "<img src=x onerror='window.injected = 1'><script>window.injected = 1</script>"


@pytest.mark.parametrize(
    "end",
    ["#x=AAAA", "#x=%%%", "#x=" + "A" * 200_000, "bomb"],
    ids=["broken", "no base64", "long", "bomb"],
)
def test_a_hostile_link_is_refused(lab, end):
    if end == "bomb":
        page = lab()
        end = page.evaluate(
            "async () => (await import('./share.js')).fragment('a'.repeat(20_000_000))"
        )
    page = lab(SMALL, end)
    expect(page.locator("#notice")).to_contain_text("cannot be read")
    assert text_of(page) == SMALL


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
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"  # the focus is seen
    after(page, lambda: page.keyboard.press("Enter"))
    expect(dialog).to_be_hidden()
    assert "One CUBIC flow" in text_of(page)


def test_an_exercise_is_judged(lab):
    page = lab(ONE)
    page.get_by_role("button", name="Exercises").click()
    after(page, lambda: page.get_by_role("button", name="Half of the link").click())
    assert text_of(page) == SMALL
    claims = page.locator(".claims li")
    expect(claims.nth(0)).to_contain_text("✓ holds")
    expect(claims.nth(0)).to_contain_text("4.8")
    expect(claims.nth(1)).to_contain_text("✗ does not hold")
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".hints")).to_contain_text("Look at the goodput.")
    after(page, lambda: page.locator("#toml").fill(SMALL.replace("5 Mbit/s", "20 Mbit/s")))
    expect(page.locator(".claims")).to_contain_text("Solved.")
    page.get_by_role("button", name="Exercises").click()
    expect(page.locator("#exercise-list")).to_contain_text("✓ solved")


#: claim, whether it holds: of flow 0 with 2 Mbit/s and 50 ms, and a link with a dot in its name.
SUMMARY = {
    "flows": [{"id": "a", "goodput_bps": 2e6, "mean_srtt_s": 0.05, "fct_s": None}],
    "links": [{"id": "x.y", "drops": 6}],
    "metrics": {"jain_index": 1.0},
}
CLAIMS = [
    ({"left": "flow.0.goodput_bps", "test": ">", "right": 1e6}, True),
    ({"left": "flow.a.goodput_bps", "test": "<", "right": 1e6}, False),
    ({"left": {"path": "flow.0.mean_srtt_s", "times": 2}, "test": "<=", "right": 0.1}, True),
    ({"left": "link.x.y.drops", "test": ">=", "right": 7}, False),
    ({"left": "metric.jain_index", "test": "within", "right": 0.9, "tolerance": 0.12}, True),
    ({"left": "metric.jain_index", "test": "within", "right": 0.9, "tolerance": 0.1}, False),
    ({"left": "flow.0.fct_s", "test": "<", "right": 1}, None),
    ({"left": "flow.7.goodput_bps", "test": "<", "right": 1}, None),
    ({"left": "metric.constructor", "test": "<", "right": 1}, None),
    ({"left": 1, "test": "constructor", "right": 1}, False),
]


def test_claims(lab):
    page = lab()
    held = page.evaluate(
        """async ([claims, summary]) => {
            const { evaluate } = await import("./claims.js");
            return claims.map((claim) => evaluate(claim, summary).held);
        }""",
        [[claim for claim, _ in CLAIMS], SUMMARY],
    )
    assert held == [holds for _, holds in CLAIMS]


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
    assert urllib.parse.urlparse(page.url).scheme == "http"
