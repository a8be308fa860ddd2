"""Comparisons in a real browser: charts of one quantity have one scale, zoom and tooltip alike."""

import pytest
from playwright.sync_api import expect

import fairway
from conftest import SMALL
from fairway.compare.runs import compare
from fairway.plot.quantities import QUANTITIES

#: The ends of both axes of every chart: [[section, x, y], …].
AXES = """() => Array.from(document.querySelectorAll(".chart"), chart => [
    chart.closest("section").querySelector("h2").textContent,
    String(chart.vegaView.scale("x").domain()), String(chart.vegaView.scale("y").domain())])"""


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    """Two runs, of which one is longer, has another window, and has twice the rate."""
    place = tmp_path_factory.mktemp("comparison")
    changes = {"duration": "4 s", "topology.bottleneck.rate": "10 Mbit/s",
               "measure.window": ["2 s", "4 s"]}  # fmt: skip
    for name, overrides in (("a", {}), ("b", changes)):
        fairway.run(SMALL, place / name, overrides=overrides)
    (place / "c.html").write_text(compare([place / "a", place / "b"]).report(), "utf-8")
    return place / "c.html"


@pytest.fixture
def page(pages, comparison):
    page = pages(comparison, viewport={"width": 1280, "height": 900})
    page.locator(".chart svg.marks").nth(2 * len(QUANTITIES) - 1).wait_for()
    return page


def axes(page):
    """The axes of each section, of which all its charts have the same."""
    found = {}
    for section, x, y in page.evaluate(AXES):
        found.setdefault(section, []).append((x, y))
    assert list(map(len, found.values())) == [2] * len(QUANTITIES)
    assert all(one == other for one, other in found.values())
    return {section: pair[0] for section, pair in found.items()}


def test_charts_of_one_quantity_share_axes_also_when_zoomed(page):
    before = axes(page)
    assert {x for x, _ in before.values()} == {"0,4"}
    chart = page.locator(".chart").nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Shift")
    # The chart beside it follows, and its own vertical axis stays.
    page.wait_for_function(f"() => ({AXES})().slice(0, 2).every(([, x]) => x !== '0,4')")
    page.wait_for_function(f"() => {{ const d = ({AXES})(); return d[0][1] === d[1][1]; }}")
    after = axes(page)
    first = next(iter(before))
    assert after[first][0] != "0,4"
    assert after[first][1] == before[first][1]


def test_measuring_windows_are_shaded(page):
    begins = page.locator(".chart").evaluate_all(
        """charts => charts.slice(0, 2).map(chart => {
            const band = chart.querySelector("svg.marks .mark-rect path").getBBox();
            const view = chart.vegaView;
            return [band.x, band.x + band.width].map(x => view.scale("x").invert(x));
        })"""
    )
    for found, window in zip(begins, [(1, 3), (2, 4)], strict=True):
        assert found == pytest.approx(window, abs=0.01)


def test_the_nearest_point_tells_its_numbers(page):
    chart = page.locator(".chart").nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.locator("svg.marks").bounding_box()
    for offset in (0, 4):
        page.mouse.move(box["x"] + box["width"] / 2 + offset, box["y"] + box["height"] / 2)
    expect(page.locator("#vg-tooltip-element.visible td.value").first).to_be_visible()
    expect(chart.locator(".dot")).to_be_visible()


def test_the_citation_opens(page):
    fold = page.locator("#cite details")
    expect(fold.locator("pre")).to_be_hidden()
    fold.locator("summary").click()
    expect(fold.locator("pre")).to_contain_text("@software{fairway-")
