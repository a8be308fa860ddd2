"""The report of a study in a real browser: read, searched, sorted, followed, printed."""

import csv
import dataclasses
import itertools
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from playwright.sync_api import expect

import fairway
from conftest import command
from fairway.study.report import study_report
from small_studies import claim, compare, in_range, study_of, write

BOTH = '"flow.0.cc" = "first", "flow.1.cc" = "second"'
STUDY = (
    study_of(
        "Tiny",
        compare(match=BOTH),
        compare("jain_index", "j", match=BOTH),
        keys='question = "Which of three takes more?"\nrepetitions = 2',
        axes='"flow.0.cc" = ["bic", "htcp", "cubic"]\n"flow.1.cc" = ["bic", "htcp", "cubic"]',
    )
    + """
[names]
"flow.0.cc" = "first"
"flow.1.cc" = "second"

[[figure]]
kind = "heat_map"
metric = "asymmetry"
x = "flow.0.cc"
y = "flow.1.cc"

[[figure]]
kind = "over_axis"
metric = "jain_index"
axis = "flow.0.cc"
group = "flow.1.cc"

[[figure]]
kind = "dots"
metric = "asymmetry"
axis = "flow.0.cc"
panel = "flow.1.cc"
title = "Asymmetry"

[[figure]]
kind = "small_multiples"
quantity = "cwnd"
title = "cwnd"
"""
)
CLAIMS = "".join(
    claim(name, test, statement=statement)
    for name, statement, test in (
        ("all", "Indices are at least a half", in_range("jain_index", 0.5, 1)),
        (
            "none",
            "Asymmetries of BIC are above two",
            in_range("asymmetry", 2, 3, 'at = { "flow.0.cc" = "bic" }'),
        ),
        ("unasked", "It was a Tuesday", 'kind = "unmeasured"\nreason = "No run has a weekday."'),
    )
)
ALGORITHMS = ("bic", "htcp", "cubic")
#: A chart for each panel and kind: 3 matrices, 1 over an axis, 3 of dots, 9 windows.
CHARTS = 3 + 1 + 3 + 9


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A small study, run: nine points, twice each, two metrics."""
    lines = [f"{one},{other},0.1,0.9" for one in ALGORITHMS for other in ALGORITHMS]
    published = "\n".join(["first,second,a,j", *lines]) + "\n"
    directory = write(tmp_path_factory.mktemp("study") / "tiny", STUDY, CLAIMS, published)
    out = directory.parent / "out"
    return fairway.reproduce(str(directory), out)


@pytest.fixture
def opened(pages, study):
    """A function that opens the report, at an address on it."""
    return lambda at="", **options: pages(study.report, at, **options)


def rows(page, table):
    return page.locator(f"#{table} tbody tr:visible")


def expect_said(page, table, text):
    expect(page.locator(f"#{table} output")).to_have_text(text)


def expect_open(page, folds):
    """So many folds are open, but for the charts' menus."""
    expect(page.locator("main details[open]:not(.chart details)")).to_have_count(folds)


def test_every_chart_is_drawn_and_has_a_name(opened):
    page = opened()
    charts = page.locator(".chart")
    assert charts.count() == CHARTS
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.marks").wait_for()
    # Each says where it is: "bic: Asymmetry by first: bic".
    named = page.locator(".chart [role=graphics-document]")
    expect(named).to_have_count(CHARTS)
    for name in named.all():
        expect(name).to_have_attribute("aria-label", re.compile(r"^\w.*: \w"))


def test_the_question_and_the_verdicts_come_first(opened):
    page = opened()
    order = [page.locator(s).first.bounding_box()["y"] for s in (".question", "#claims", "#cells")]
    assert order == sorted(order)
    assert page.locator(".question").text_content() == "Which of three takes more?"
    assert page.locator("#verdicts > p").text_content() == (
        "1 of 3 claims supported, 1 refuted, 1 undecided. "
        "Undecided: the confidence interval holds both answers, or no experiment can decide."
    )
    # An icon and a word, not colour alone.
    words = [re.sub(r"\s+", " ", w) for w in page.locator("h3 .verdict").all_text_contents()]
    assert words == ["✓ supported", "✗ refuted", "? undecided"]
    # Asymmetry and Jain's index have no unit; two repetitions that are the same run have no
    # interval, and the range is that of the points.
    measured = page.locator("#claims .measured").all_text_contents()
    assert re.fullmatch(r"[\d.]+, of [\d.]+ to [\d.]+", measured[0])
    assert measured[2] == "not measured"


@pytest.mark.parametrize(("width", "height"), [(1200, 900), (400, 800)])
def test_the_first_claim_is_on_the_first_screen(pages, study, tmp_path, width, height):
    # As long as the longest that a study has: how ten parts were shortened.
    shortened = dataclasses.replace(study, quick="five of nine scenarios, 20 MB; " * 20)
    (tmp_path / "report.html").write_text(study_report(shortened))
    page = pages(tmp_path / "report.html", viewport={"width": width, "height": height})
    box = page.locator(".verdicts > li").first.bounding_box()
    assert box["y"] + box["height"] < height
    assert page.get_by_text("five of nine scenarios").is_hidden()
    page.locator(".note summary").click()
    expect(page.get_by_text("five of nine scenarios")).to_be_visible()


def test_a_claim_is_a_line_that_opens_to_what_decided_it(opened):
    page = opened()
    assert page.locator("#claims table:visible").count() == 0
    summary = page.locator("#claim-none summary")
    summary.focus()
    page.keyboard.press("Enter")
    table = page.locator("#claim-none table")
    expect(table).to_be_visible()
    assert table.locator("caption").text_content() == "none: 3 effects on asymmetry"
    heads = table.locator("thead th").all_text_contents()
    lines = [
        dict(zip(heads, row.locator("th, td").all_text_contents(), strict=True))
        for row in table.locator("tbody tr").all()
    ]
    assert [line["of"] for line in lines] == ["bic, bic", "bic, htcp", "bic, cubic"]
    assert {line["claimed"] for line in lines} == {"2 to 3"}
    assert {line["n"] for line in lines} == {"2"}
    # The line above has the numbers of one of these.
    shown = page.locator("#claim-none .measured").text_content()
    assert shown.partition(",")[0] in [line["effect"] for line in lines]
    assert {line["interval"] for line in lines} == {"–"}
    page.keyboard.press("Enter")
    expect(table).to_be_hidden()


def test_a_link_to_a_claim_opens_its_fold(opened):
    page = opened("#claim-none")
    expect(page.locator("#claim-none table")).to_be_visible()
    expect(page.locator("#claim-all table")).to_be_hidden()
    # The keyboard goes on from there.
    page.keyboard.press("Tab")
    expect(page.locator("#claim-none :focus")).to_have_count(1)
    page.evaluate("window.location.hash = 'claim-all'")
    expect(page.locator("#claim-all table")).to_be_visible()


def test_the_search_finds_what_is_folded(opened):
    page = opened()
    page.locator("#claims").get_by_label("Search").fill("no run has a weekday")
    expect(page.locator(".verdicts > li:visible .id")).to_have_text(["unasked"])


def test_print_opens_every_fold_and_closes_it_again(opened):
    page = opened("#claim-none")
    open_now = "document.querySelectorAll('main details[open]:not(.chart details)').length"
    expect_open(page, 1)
    page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = {open_now}; }})")
    page.pdf()
    every = page.locator("main details:not(.chart details)").count()
    assert every == 5  # three claims, the experiment, and how to cite it
    assert page.evaluate("window.printed") == every
    expect_open(page, 1)


def test_rows_are_searched_chosen_and_cleared_by_keyboard(opened):
    page = opened()
    expect(rows(page, "cells")).to_have_count(18)
    expect_said(page, "cells", "18 rows")
    page.locator("#cells").get_by_label("Search").focus()
    page.keyboard.type("jain htcp")
    # Three with H-TCP first, three with H-TCP second, one of them both.
    expect(rows(page, "cells")).to_have_count(5)
    expect_said(page, "cells", "5 of 18 rows")
    page.keyboard.press("Tab")
    expect(page.locator("#cells select[name=first]")).to_be_focused()
    page.keyboard.type("cubic")  # a list takes what is typed
    expect_said(page, "cells", "1 of 18 rows")
    page.locator("#cells").get_by_role("button", name="Clear").focus()
    page.keyboard.press("Enter")
    expect_said(page, "cells", "18 rows")
    expect(page.locator("#cells").get_by_label("Search")).to_be_focused()
    # A reader hears the count: an output is a polite live region.
    assert page.locator("#cells").get_by_role("status").count() == 1


def test_verdicts_are_chosen(opened):
    page = opened()
    page.locator("#claims").get_by_label("verdict").select_option("refuted")
    expect(page.locator(".verdicts > li:visible .id")).to_have_text(["none"])
    expect_said(page, "claims", "1 of 3 claims")


def test_a_column_is_sorted_by_keyboard(opened, study):
    page = opened()
    head = page.locator("#cells thead th", has_text="measured")
    column = page.locator("#cells thead th").all_text_contents().index("measured")
    before = rows(page, "cells").all_text_contents()
    head.get_by_role("button").focus()
    for order, is_reversed in (("ascending", False), ("descending", True)):
        page.keyboard.press("Enter")
        expect(head).to_have_attribute("aria-sort", order)
        shown = page.locator(f"#cells tbody tr td:nth-child({column + 1})").all_text_contents()
        assert list(map(float, shown)) == sorted(map(float, shown), reverse=is_reversed)
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "none")
    assert rows(page, "cells").all_text_contents() == before


def test_a_claim_leads_to_its_cells_and_a_number_to_its_runs(opened, study):
    page = opened()
    page.locator("#claim-none summary").click()
    page.locator("#claim-none").get_by_text("3 cells").click()
    expect_said(page, "cells", "3 of 18 rows")
    number = rows(page, "cells").first.get_by_role("link")
    assert number.get_attribute("aria-label").endswith(", its runs")
    number.click()
    expect_said(page, "runs", "2 of 18 rows")
    texts = rows(page, "runs").all_text_contents()
    assert all(text.startswith("bicbic") for text in texts)
    # The address is one that can be sent: the same rows elsewhere.
    again = opened("#" + page.url.partition("#")[2])
    expect_said(again, "runs", "2 of 18 rows")
    assert rows(again, "runs").all_text_contents() == texts


def test_links_lead_to_files_and_the_command_repeats_the_number(opened, study, tmp_path):
    page = opened()
    links = page.locator("#runs tbody a").all()
    assert len(links) == 3 * 18
    directory = study.report.parent
    for link in links:
        path = unquote(urlparse(link.evaluate("a => a.href")).path)
        assert path.startswith(f"{directory}/points/")
        assert Path(path).read_text()
    # The first run again, as its command says, gives the number that is in the table.
    words = links[2].text_content().split()
    assert words[:2] == ["fairway", "run"]
    done = command("run", *words[2:], "--json", "--quiet", cwd=directory)
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    first = study.sweep.outcomes[0]
    assert metrics == first.summary["metrics"]
    heads = page.locator("#runs thead th").all_text_contents()
    cells = page.locator("#runs tbody tr").first.locator("th, td").all_text_contents()
    shown = dict(zip(heads, cells, strict=True))
    assert float(shown["asymmetry"]) == pytest.approx(metrics["asymmetry"], rel=1e-5)
    assert shown["seed"].replace(",", "") == str(first.summary["seed"])


def test_a_chart_gives_its_numbers(opened):
    page = opened()
    with page.expect_download() as download:
        page.get_by_role("button", name="jain_index: data as CSV").click()
    lines = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert len(lines) == 9
    assert {line["published"] for line in lines} == {"0.9"}
    # Of a series over time, what is drawn.
    with page.expect_download() as download:
        page.get_by_role("button", name="htcp, cubic: data as CSV").click()
    assert len(Path(download.value.path()).read_text().splitlines()) > 40


def test_a_narrow_screen_needs_no_sideways_scrolling(opened):
    page = opened(viewport={"width": 360, "height": 740})
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.marks").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("#cells .scroll")
    assert box.evaluate("e => e.scrollWidth > e.clientWidth")


def test_print_shows_every_row(opened):
    page = opened()
    box = page.locator("#cells .scroll")
    assert box.evaluate("e => e.scrollHeight > e.clientHeight")
    page.locator("#cells").get_by_label("Search").fill("htcp")
    page.emulate_media(media="print")
    expect(rows(page, "cells")).to_have_count(18)
    expect(page.locator("button:not(.sort):visible, .tools:visible")).to_have_count(0)
    assert box.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    # A heading that sorts is a heading still.
    heads = page.locator("#cells thead th").all()
    assert heads
    assert all(head.get_by_role("button").is_visible() for head in heads)


def test_everything_has_a_name_and_the_headings_an_order(opened):
    page = opened()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.locator(".chart").first.scroll_into_view_if_needed()
    page.locator(".chart svg.marks").first.wait_for()
    navigation = page.get_by_role("navigation")
    navigation.locator("summary").click()
    expect(navigation.get_by_role("link").first).to_be_visible()
    for role in ("button", "link", "combobox", "searchbox", "region", "table", "navigation"):
        places = page.get_by_role(role)
        assert places.count(), role
        # Each is found again by having a name.
        assert places.count() == page.get_by_role(role, name=re.compile(r"\w")).count(), role
    assert page.locator("table").count() == page.locator("table > caption").count()
    assert page.locator("thead th").count() == page.locator('thead th[scope="col"]').count()
    tags = page.locator("h1, h2, h3").evaluate_all("all => all.map(one => one.tagName)")
    levels = [int(tag[1]) for tag in tags]
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    ids = page.locator("[id]").evaluate_all("es => es.map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_contents_lead_to_sections(opened):
    page = opened()
    contents = page.get_by_role("navigation")
    assert contents.get_by_role("link").count() == 0
    contents.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(contents.get_by_role("link")).to_have_count(9)
    for link in contents.get_by_role("link").all():
        assert page.locator(link.get_attribute("href")).count() == 1


def test_the_words_of_a_study_are_no_script(pages, tmp_path):
    evil = "<script>window.injected = 1</script>"
    text = study_of(evil, keys=f'question = "{evil}"\nsummary = "{evil}"')
    claims = claim("bad", in_range("asymmetry", -1, 1), statement=evil)
    fairway.reproduce(str(write(tmp_path / "evil", text, claims)), tmp_path / "out")
    page = pages(tmp_path / "out" / "report.html")
    assert page.evaluate("window.injected || 0") == 0
    assert page.locator("h1").text_content() == evil
    assert page.locator(".question").text_content() == evil
    assert page.locator(".statement").first.text_content() == evil
