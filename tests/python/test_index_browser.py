"""The index of several studies in a real browser: filtered, followed into reports, on a phone."""

import pytest
from playwright.sync_api import expect

from fairway.study.all import reproduce_each
from test_reproduce_all import made, run


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Two studies, the second of one part: the claim of the first holds, the other does not."""
    place = tmp_path_factory.mktemp("studies")
    studies = [str(made(place, "fair", 2)), str(made(place, "whole", -1.5, "inner"))]
    return reproduce_each(studies, place / "out", run, quick=False, quiet=True).report


def test_the_index_says_what_was_asked_and_what_came_of_it(pages, index):
    page = pages(index)
    said = page.locator("#papers").inner_text()
    assert "Is fair fair?" in said
    assert "Whole whole" in said
    words = page.locator("#fair-claims .word, #whole-claims .word")
    assert words.all_text_contents() == ["supported", "refuted"]
    # Verdicts come before the numbers of any study.
    order = ("#papers", "#fair-claims", "#whole-claims", "#fair-cells", "#whole-inner-cells")
    heights = [page.locator(place).bounding_box()["y"] for place in order]
    assert heights == sorted(heights)
    links = page.get_by_role("navigation").get_by_role("link")
    assert links.count() == page.locator("section").count()
    for link in links.all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_a_claim_leads_to_its_place_in_the_report(pages, index):
    page = pages(index)
    page.locator("#whole-claims").get_by_role("link", name="whole1, why").click()
    page.wait_for_url("**/whole/report.html#claim-whole1")
    target = page.locator(":target")
    expect(target.locator(".id")).to_have_text("whole1")
    expect(target.locator("h3 .verdict")).to_have_text("✗ refuted", use_inner_text=True)
    expect(target.locator("table")).to_be_visible()


def test_a_number_leads_to_its_runs_in_the_report_of_parts(pages, index):
    page = pages(index)
    link = page.locator("#whole-inner-cells tbody tr", has_text="bic").get_by_role("link")
    shown = float(link.text_content())
    link.click()
    page.wait_for_url("**/whole/report.html#part-inner-runs?pick=1")
    rows = page.locator("#part-inner-runs tbody tr:visible")
    expect(rows).to_have_count(1)
    found = rows.first.locator("td.n").all_text_contents()
    assert any(abs(float(value) - shown) < 1e-3 for value in found)


def test_a_narrow_screen_needs_no_sideways_scrolling(pages, index):
    page = pages(index, viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
