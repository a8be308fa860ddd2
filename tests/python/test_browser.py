"""Reports in a real browser: every chart is drawn, no script fails, nothing is fetched."""

import os
import shutil

import pytest

import fairway
from conftest import SMALL
from fairway.figures import QUANTITIES

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser():
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here (Debian package chromium), so no report is opened in it")
    from playwright.sync_api import sync_playwright

    # Chromium's own sandbox refuses to run as root, which is what containers do.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("report") / "run"
    fairway.run(SMALL, directory)
    return directory / "report.html"


@pytest.fixture
def opened(browser, report):
    """A function that opens the report; what went wrong in it is looked at in the end."""
    wrong = []
    pages = []

    def show(**options):
        page = browser.new_page(**options)
        pages.append(page)
        page.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}"))
        page.on("request", lambda asked: asked.url.startswith("http") and wrong.append(asked.url))
        page.goto(report.as_uri())
        return page

    yield show
    for page in pages:
        page.close()
    assert wrong == []


def drawn(page):
    """Scroll to every chart, wait until it is drawn, and count them."""
    charts = page.locator(".chart")
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.marks").wait_for()
        # A line is drawn as a path with some length.
        assert len(chart.locator("svg.marks .mark-line path").first.get_attribute("d")) > 20
    return charts.count()


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize(
    ("scheme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")]
)
def test_every_chart_is_drawn_in_both_themes(opened, scheme, colour):
    page = opened(color_scheme=scheme)
    assert drawn(page) == len(QUANTITIES)
    assert background(page) == colour


def test_the_report_of_a_sweep(opened, tmp_path):
    fairway.run(SMALL, tmp_path / "s", overrides={"sweep": {"flow.0.cc": ["bic", "htcp"]}})
    page = opened()
    page.goto((tmp_path / "s" / "report.html").as_uri())
    assert page.locator(".chart").count() == 6  # one for each metric
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        # Two points, one for each algorithm.
        chart.locator("svg.marks .mark-symbol path").nth(1).wait_for()


def test_the_theme_can_be_chosen_against_the_system(opened):
    page = opened(color_scheme="light")
    drawn(page)
    button = page.locator("#theme")
    button.click()  # from "system" to "light"
    assert background(page) == "rgb(255, 255, 255)"
    button.click()
    assert button.text_content() == "Theme: dark"
    assert background(page) == "rgb(20, 23, 27)"
    assert drawn(page) == len(QUANTITIES)
    page.reload()
    assert background(page) == "rgb(20, 23, 27)"


def test_a_narrow_screen_needs_no_sideways_scrolling(opened):
    page = opened(viewport={"width": 360, "height": 740})
    assert drawn(page) == len(QUANTITIES)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_dragging_zooms_into_time(opened):
    page = opened(viewport={"width": 1000, "height": 900})
    drawn(page)
    chart = page.locator(".chart").first
    chart.scroll_into_view_if_needed()
    line = chart.locator("svg.marks .mark-line path").first
    before = line.get_attribute("d")
    box = chart.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Shift")
    page.wait_for_timeout(300)
    assert line.get_attribute("d") != before
