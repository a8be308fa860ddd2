"""Pages: colours that can be told apart, and what long tables carry."""

import itertools
import re
from importlib.resources import files

import numpy as np
import pytest

from fairway.plot.figures import PUBLISHED, SHAPES, group_encoding
from fairway.plot.page import COLOURS, Link, Section, Table, plain_html, render

STYLE = (files("fairway.plot") / "templates" / "report.css").read_text()
#: How linear RGB looks without one kind of cone: Machado, Oliveira and Fernandes, "A
#: Physiologically-based Model for Simulation of Color Vision Deficiency" (2009), severity 1.0.
VISION = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
    "all": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}  # fmt: skip


def linear(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """Contrast as WCAG 2.1 defines it: (lighter + 0.05) / (darker + 0.05)."""
    lights = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lab(rgb):
    """CIE L*a*b* of linear sRGB under D65."""
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def page_colours(theme):
    """The colours of the style sheet: name -> colour."""
    block = STYLE[STYLE.index(":root {") :] if theme == "light" else STYLE.split("dark) {")[1]
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", block.partition("}")[0]))


def test_contrast_by_hand():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    # The darkest grey that WCAG's own table calls enough for text: 4.54 : 1.
    assert contrast("#767676", "#fff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_can_be_seen(theme):
    colours = page_colours(theme)
    for name in ("ink", "soft", "good", "bad", "open", "link"):
        for under in ("page", "raised"):
            assert contrast(colours[name], colours[under]) >= 4.5, (name, under)
    for mark in [*COLOURS[theme], PUBLISHED]:
        assert contrast(mark, colours["page"]) >= 3, mark


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_groups_are_told_apart_by_every_eye(theme, vision):
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in COLOURS[theme]]
    # A difference of 2.3 is just noticed (Mahy, Van Eycken and Oosterlinck, 1994): four times that.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 9.2


def test_groups_are_told_apart_without_colour():
    assert len(set(SHAPES)) == 7
    groups = [str(number) for number in range(42)]
    shapes = group_encoding(groups)[1]["scale"]["range"]
    both = {(shape, index % len(COLOURS["light"])) for index, shape in enumerate(shapes)}
    assert len(both) == 42


def test_a_link_is_text_elsewhere():
    link = Link("0.5", "#runs", rows="pick=1", label="0.5, its runs")
    table = Table("T", ["a", "b"], [["x", link]])
    assert "<td" in plain_html(table)
    assert "href" not in plain_html(table)
    page = render("title", "lead", [Section("S", tables=[table])])
    assert '<a href="#runs" data-rows="pick=1" aria-label="0.5, its runs">0.5</a>' in page


def test_what_is_shown_is_escaped():
    evil = '"><script>alert(1)</script>'
    table = Table(evil, [evil], [[Link(evil, evil, rows=evil, label=evil)]] * 20, id="t",
                  facets=[0], tags={evil: [[evil]] * 20}, picks=[[evil]] * 20)  # fmt: skip
    page = render(evil, evil, [Section(evil, evil, tables=[table])], question=evil, contents=True)
    assert "<script>alert" not in page
