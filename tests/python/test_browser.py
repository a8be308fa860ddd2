"""Reports in a real browser: every chart is drawn, no script fails, nothing is fetched."""

import functools
import html
import re

import pytest
from playwright.sync_api import expect

import fairway
from conftest import SMALL
from fairway.plot.page import Section, Table, render
from fairway.plot.quantities import QUANTITIES


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("report") / "run"
    fairway.run(SMALL, directory)
    return directory / "report.html"


@pytest.fixture
def opened(pages, report):
    """A function that opens the report."""
    return functools.partial(pages, report)


#: What every chart over time shows of it, in JavaScript.
DOMAINS = (
    "Array.from(document.querySelectorAll('.chart'), c => String(c.vegaView.scale('x').domain()))"
)
ALIKE = "d.every(one => one === d[0])"


def drawn(page):
    """Scroll to every chart, wait until it is drawn, and count them."""
    charts = page.locator(".chart")
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.marks").wait_for()
        # A line is drawn as a path with some length.
        line = chart.locator("svg.marks .mark-line path").first
        expect(line).to_have_attribute("d", re.compile(r"^.{21}", re.S))
    return charts.count()


def expect_background(page, colour):
    expect(page.locator("body")).to_have_css("background-color", colour)


@pytest.mark.parametrize(
    ("scheme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")]
)
def test_every_chart_is_drawn_in_both_themes(opened, scheme, colour):
    page = opened(color_scheme=scheme)
    assert drawn(page) == len(QUANTITIES)
    expect_background(page, colour)


def test_the_report_of_a_sweep(opened, tmp_path):
    fairway.run(SMALL, tmp_path / "s", overrides={"sweep": {"flow.0.cc": ["bic", "htcp"]}})
    page = opened()
    page.goto((tmp_path / "s" / "report.html").as_uri())
    assert page.locator(".chart").count() == 8  # one for each metric
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        # Two points, one for each algorithm.
        chart.locator("svg.marks .mark-symbol path").nth(1).wait_for()


def test_the_theme_can_be_chosen_against_the_system(opened):
    page = opened(color_scheme="light")
    drawn(page)
    button = page.locator("#theme")
    button.click()  # from "system" to "light"
    expect(button).to_have_text("Theme: light")
    expect_background(page, "rgb(255, 255, 255)")
    button.click()
    expect(button).to_have_text("Theme: dark")
    expect_background(page, "rgb(20, 23, 27)")
    assert drawn(page) == len(QUANTITIES)
    page.reload()
    expect_background(page, "rgb(20, 23, 27)")


def test_a_narrow_screen_needs_no_sideways_scrolling(opened):
    page = opened(viewport={"width": 360, "height": 740})
    assert drawn(page) == len(QUANTITIES)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_headings_break_before_a_table_scrolls(pages, tmp_path):
    table = Table("T", ["run", *["mean one-way delay (ms)"] * 9], [["a", *["1"] * 9]])
    (tmp_path / "page.html").write_text(render("T", "", [Section("S", tables=[table])]))
    page = pages(tmp_path / "page.html", viewport={"width": 1280, "height": 800})
    widths = page.locator(".scroll").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert widths[0] == widths[1]


def test_charts_are_there_when_the_page_has_loaded(opened):
    page = opened(viewport={"width": 600, "height": 400})
    assert page.locator("svg.marks .mark-line path").count() >= len(QUANTITIES)
    assert page.evaluate("window.scrollY") == 0


def test_plots_begin_at_one_place(opened):
    page = opened()
    lefts = page.locator(".chart").evaluate_all(
        """charts => charts.map(chart => {
            const view = chart.vegaView;
            const drawing = chart.querySelector("svg.marks").getBoundingClientRect();
            return drawing.left + view.origin()[0];
        })"""
    )
    assert len(lefts) == len(QUANTITIES)
    assert max(lefts) - min(lefts) < 1


def test_the_nearest_point_tells_its_numbers(opened):
    page = opened(viewport={"width": 1000, "height": 900})
    chart = page.locator(".chart").nth(1)
    chart.scroll_into_view_if_needed()
    # A sample in the middle, and a place 15 pixels above it, where no line is.
    sample = chart.evaluate(
        """chart => {
            const lines = [];
            (function walk(mark) {
                mark.items.forEach(item => {
                    if (mark.marktype === "group") { item.items.forEach(walk); }
                    else if (mark.marktype === "line" && mark.role === "mark") { lines.push(item); }
                });
            })(chart.vegaView.scenegraph().root);
            const own = lines.filter(item => item.datum.id === "bic#0");
            const { x, y, datum } = own[Math.floor(own.length / 2)];
            const [left, top] = chart.vegaView.origin();
            const pad = chart.vegaView.padding();
            return { x: x + left + pad.left, y: y + top + pad.top, t: datum.t, v: datum.v };
        }"""
    )
    box = chart.locator("svg.marks").bounding_box()
    page.mouse.move(box["x"] + sample["x"] - 3, box["y"] + sample["y"] - 18)
    page.mouse.move(box["x"] + sample["x"], box["y"] + sample["y"] - 15)
    tooltip = page.locator("#vg-tooltip-element.visible")
    expect(tooltip.locator("td.value").first).to_have_text("bic#0")
    expect(chart.locator(".dot")).to_be_visible()
    dot = chart.locator(".dot").bounding_box()
    shown = (dot["x"] + dot["width"] / 2 - box["x"], dot["y"] + dot["height"] / 2 - box["y"])
    # The sample itself, or one of the same flow that is nearer to the pointer.
    assert abs(shown[0] - sample["x"]) <= 15
    assert (shown[0] - sample["x"]) ** 2 + (shown[1] - sample["y"] + 15) ** 2 <= 15.5**2
    page.mouse.move(box["x"] + sample["x"], box["y"] - 40)
    expect(page.locator("#vg-tooltip-element.visible")).to_have_count(0)
    expect(chart.locator(".dot")).to_be_hidden()


def test_shift_and_wheel_zooms_into_all_charts_of_the_run(opened):
    page = opened(viewport={"width": 1000, "height": 900})
    drawn(page)
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    line = chart.locator("svg.marks .mark-line path").first
    before = line.get_attribute("d")
    assert page.evaluate(DOMAINS) == ["0,3"] * len(QUANTITIES)
    box = chart.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Shift")
    expect(line).not_to_have_attribute("d", before)
    # The other charts follow the first: all show the same part of the run, and then all of it.
    page.wait_for_function(f"() => {{ const d = {DOMAINS}; return d[0] !== '0,3' && {ALIKE}; }}")
    page.mouse.dblclick(*middle)
    page.wait_for_function(f"() => {{ const d = {DOMAINS}; return d[0] === '0,3' && {ALIKE}; }}")


EVIL = (
    "<script>window.injected = 'script'</script>"
    """<img src="x:" onerror="window.injected = 'image'">"""
)


def test_a_title_is_no_script(pages, tmp_path):
    fairway.run(SMALL, tmp_path / "run", overrides={"title": EVIL, "flow.0.id": "<b>a"})
    page = pages(tmp_path / "run" / "report.html")
    # Not even one that the policy stops: `pages` refuses what a console says.
    assert page.evaluate("window.injected") is None
    assert page.locator("h1").text_content() == EVIL
    assert page.locator("b").count() == 0
    assert drawn(page) == len(QUANTITIES)


def test_the_policy_stops_what_gets_into_a_page(browser, report, tmp_path):
    text = report.read_text("utf-8")
    link = """<a id="evil" href="javascript:void(window.followed = 'link')">link</a>"""
    text = text.replace('<main id="main"', f'{EVIL}{link}<main id="main"')
    policy = re.search(r"<meta http-equiv=.Content-Security-Policy.[^>]*>", text)[0]

    def opened(page_text):
        (tmp_path / "evil.html").write_text(page_text, "utf-8")
        page = browser.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.goto((tmp_path / "evil.html").as_uri())
        page.locator("#evil").click()
        page.locator(".chart svg.marks").nth(len(QUANTITIES) - 1).wait_for()
        return page, said

    page, said = opened(text)
    assert page.evaluate("[window.injected || null, window.followed || null]") == [None, None]
    stopped = [line for line in said if "Content Security Policy" in line]
    assert len(stopped) >= 3, stopped
    page.close()
    # Without it, they run, so the test could fail. A followed link runs its script in a task of
    # its own, later than the click.
    page, _ = opened(text.replace(policy, ""))
    page.wait_for_function("window.injected && window.followed === 'link'")
    page.close()


def test_the_policy_allows_nothing_in_general(report):
    policy = re.search(r'Security-Policy" content="([^"]*)"', report.read_text("utf-8"))[1]
    rules = dict(rule.strip().split(" ", 1) for rule in html.unescape(policy).split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in policy
    for kind in ("script-src", "style-src"):
        assert all(re.fullmatch(r"'sha256-[\w+/]{43}='", source) for source in rules[kind].split())


def test_the_gallery_fits_on_a_phone(pages, tmp_path):
    fairway.gallery(["cubic", "bbr"], tmp_path / "g")
    page = pages(tmp_path / "g" / "report.html", viewport={"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    drawings = page.locator(".chart svg.marks")
    assert drawings.count() == 3  # paths
    for drawing in drawings.all():
        box = drawing.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
