"""Reports in a real browser: every chart is drawn, no script fails, nothing is fetched."""

import functools

import pytest

import fairway
from conftest import SMALL
from fairway.figures import QUANTITIES


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    directory = tmp_path_factory.mktemp("report") / "run"
    fairway.run(SMALL, directory)
    return directory / "report.html"


@pytest.fixture
def opened(pages, report):
    """A function that opens the report."""
    return functools.partial(pages, report)


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
