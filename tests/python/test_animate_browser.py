"""Animations in a real browser: played, stepped, sought, read on a phone."""

import re

import pytest
from playwright.sync_api import expect

import fairway
from test_animate import ONE, TWO_WAYS

EXPERIMENT = ONE + TWO_WAYS + 'start = "0.2 s"\n'

#: A segment of 12 ms and 10 ms of delay is half of the way 11 ms after its transmission began: the
#: first data is sent at 20.96 ms + 0.416 ms (test_animate has the arithmetic).
HALF_WAY_S = 0.021376 + 0.011
#: Seven of the first ten segments find the queue full, when the handshake ends.
FIRST_DROPS = 7


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("animation") / "page.html"
    path.write_text(fairway.animate(EXPERIMENT, end="0.5 s"))
    return path


@pytest.fixture
def opened(pages, page_file):
    """A function that opens the animation, at an address on it."""
    return lambda at="", **options: pages(page_file, at, **options)


def time_of(page):
    """Nanoseconds since the beginning of the animation."""
    return int(page.locator("body").get_attribute("data-now"))


def expect_time(page, seconds):
    expect(page.locator("body")).to_have_attribute("data-now", str(round(seconds * 1e9)))


def inked(page, canvas):
    """How many pixels of a canvas are drawn."""
    return page.evaluate(
        "id => { const c = document.querySelector(id);"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " return d.filter((v, k) => k % 4 === 3 && v > 0).length; }",
        canvas,
    )


def test_it_opens_paused_at_the_beginning_or_where_the_address_says(opened):
    page = opened()
    expect(page.locator("#play")).to_have_text("Play")
    expect_time(page, 0)
    expect(page.locator("#now")).to_have_text("0.00000 s")
    # The SYN.
    expect(page.locator("#counts")).to_have_text("On links 1, waiting 0; so far dropped 0, lost 0.")
    assert inked(page, "#stage") > 1000
    page = opened("#t=0.03")
    expect_time(page, 0.03)
    expect(page.locator("#counts")).to_contain_text(f"so far dropped {FIRST_DROPS}, lost 0.")


def test_it_plays_to_the_end_and_begins_again(opened):
    page = opened("#t=0.499")
    page.locator("#speed").select_option(label="1/10")
    page.locator("#play").click()
    expect_time(page, 0.5)
    expect(page.locator("#play")).to_have_text("Play")
    page.locator("#speed").select_option(label="1/1,000")
    page.locator("#play").click()
    expect(page.locator("#play")).to_have_text("Pause")
    page.wait_for_function("() => Number(document.body.dataset.now) > 0")
    page.locator("#play").click()
    assert 0 < time_of(page) < 0.5e9


def test_losses_are_found_by_button_and_by_key(opened):
    page = opened()
    page.locator("#next").click()
    # At the end of the handshake, 2 * (10 ms + 0.48 ms).
    expect_time(page, 0.02096)
    expect(page.locator("#said")).to_have_text(
        re.compile(r"0\.02096 s, only: data from byte \d+, 1500 bytes with headers; "
                   r"bottleneck from left to right, dropped by the queue\.")
    )  # fmt: skip
    page.keyboard.press("n")
    page.wait_for_function("() => Number(document.body.dataset.now) > 20960000")
    page.keyboard.press("p")
    expect_time(page, 0.02096)
    page.keyboard.press("p")
    expect(page.locator("#said")).to_have_text("No earlier loss in this animation.")


def test_keys_step_seek_and_change_the_speed(opened):
    page = opened("#t=0.1")
    before = time_of(page)
    page.keyboard.press("ArrowRight")
    frame = time_of(page) - before
    assert frame > 0
    page.keyboard.press("Shift+ArrowLeft")
    assert time_of(page) == pytest.approx(before - 9 * frame, abs=10)
    speed = page.locator("#speed")
    value = float(speed.input_value())
    page.keyboard.press("+")
    assert value < float(speed.input_value()) <= 2.5 * value
    page.keyboard.press("End")
    expect_time(page, 0.5)
    page.keyboard.press("Home")
    expect_time(page, 0)
    page.keyboard.press(" ")
    expect(page.locator("#play")).to_have_text("Pause")
    page.keyboard.press(" ")
    expect(page.locator("#play")).to_have_text("Play")


def test_the_slider_and_a_chart_seek(opened):
    page = opened()
    page.locator("#time").fill("5000")
    expect_time(page, 0.25)
    chart = page.locator(".sender canvas").first
    box = chart.bounding_box()
    # The chart begins 30 pixels from the left and ends 4 from the right.
    chart.click(position={"x": 30 + (box["width"] - 34) / 5, "y": 20})
    assert time_of(page) == pytest.approx(0.1e9, rel=0.05)


def test_a_packet_says_what_it_is(opened):
    page = opened(f"#t={HALF_WAY_S}")
    box = page.locator("#stage").bounding_box()
    # Half of the way between the routers, which are in the middle.
    page.locator("#stage").click(position={"x": box["width"] / 2, "y": box["height"] / 2 + 6})
    expect(page.locator("#said")).to_have_text(
        "only: data from byte 0, 1500 bytes with headers; bottleneck from left to right."
    )


def test_senders_show_their_numbers(opened):
    page = opened("#t=0.4")
    names = page.locator(".sender h2")
    expect(names).to_have_text(["only", "back, datagrams"])
    first = page.locator(".sender").first
    for name in ("cwnd", "ssthresh", "flight"):
        assert float(first.locator(f"[data-of={name}]").text_content()) >= 1
    assert re.fullmatch(r"[\d.]+ ms", first.locator("[data-of=srtt_ms]").text_content())
    assert int(first.locator("[data-of=losses]").text_content()) >= FIRST_DROPS
    assert page.locator(".sender").nth(1).locator("canvas").count() == 0


@pytest.mark.parametrize(("width", "height"), [(320, 640), (390, 844), (1400, 900)])
def test_nothing_is_wider_than_the_screen(opened, width, height):
    page = opened("#t=0.1", viewport={"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert inked(page, "#stage") > 1000


def test_the_theme_is_chosen_and_drawn(opened):
    page = opened("#t=0.1", color_scheme="light")
    picture = "() => document.querySelector('#stage').toDataURL()"
    light = page.evaluate(picture)
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("Theme: light")
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("Theme: dark")
    assert page.evaluate(picture) != light
