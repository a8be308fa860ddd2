"""What `fairway analyze` writes: a run directory, its report, and files for xplot.org."""

import os
import re
import shutil
import socket
import struct
import subprocess

import polars as pl
import pytest

import fairway
import made_capture
from conftest import SMALL, command
from fairway.capture.analysis.series import CAPTURE_SERIES_SCHEMA, PACKET_SCHEMA
from fairway.ground import result_schema
from waiting import PATIENCE_S, until

SCHEMAS = {
    "packets.parquet": PACKET_SCHEMA,
    "capture.parquet": CAPTURE_SERIES_SCHEMA,
    "series.parquet": result_schema.frame("series"),
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A capture, and what was written of it."""
    place = tmp_path_factory.mktemp("analyzed")
    made_capture.write(place / "made.pcap")
    done = command("analyze", str(place / "made.pcap"), "--out", str(place / "run"),
                   "--figures", "svg", "--xplot", str(place / "xplot"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place


def test_the_tables_are_in_the_one_schema(directory):
    for name, schema in SCHEMAS.items():
        assert pl.read_parquet_schema(directory / "run" / name) == pl.Schema(schema), name


def test_a_run_like_any_other(directory):
    run = fairway.load(directory / "run")
    assert (run.backend, run.title) == ("capture", "made.pcap")
    flow = run.summary["flows"][0]
    assert (flow["id"], flow["sent_segments"], flow["retransmitted_segments"]) == ("1", 11, 1)
    # 10,000 bytes in 0.3501 s.
    assert flow["goodput_bps"] == pytest.approx(80_000 / 0.3501)
    assert flow["mean_srtt_s"] == pytest.approx(0.05, rel=0.01)
    # In flight at the most: ten segments of 1000 bytes.
    assert run.series["pipe_segments"].max() == 10
    packets = run.packets
    assert packets.filter(pl.col("what") == "retransmission")["packet"].to_list() == [23]


def test_it_stands_beside_a_simulated_run(directory, tmp_path):
    fairway.run(SMALL, tmp_path / "sim")
    out = tmp_path / "both.html"
    done = command("compare", str(directory / "run"), str(tmp_path / "sim"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "goodput" in done.stdout
    assert out.stat().st_size > 100_000


def test_the_report_is_written_again(directory):
    report = directory / "run" / "report.html"
    before = report.read_text("utf-8")
    done = command("report", str(directory / "run"))
    assert done.returncode == 0, done.stderr
    assert report.read_text("utf-8") == before


def test_the_same_capture_gives_the_same_bytes(directory, tmp_path):
    command("analyze", str(directory / "made.pcap"), "--out", str(tmp_path / "again"))
    # The list in the other directory has its figures, too.
    files = [path for path in (tmp_path / "again").iterdir() if path.name != ".fairway"]
    assert files
    for file in files:
        assert file.read_bytes() == (directory / "run" / file.name).read_bytes(), file.name


def test_figures_are_named_after_the_connection(directory):
    names = {path.name for path in (directory / "run" / "figures").iterdir()}
    assert {"1-time-sequence.svg", "1-windows.svg", "1-rates.svg", "1-rtt.svg"} <= names


def test_the_report_in_a_browser(directory, pages):
    page = pages(directory / "run" / "report.html", viewport={"width": 1000, "height": 900})
    assert "1 TCP connection" in page.text_content("main")
    charts = page.locator(".chart")
    for chart in charts.all():
        chart.scroll_into_view_if_needed()
        chart.locator("svg.marks, canvas.marks").wait_for()
    # Thousands of marks are drawn as pixels.
    diagram = page.locator("figure", has_text="Time–sequence diagram").locator("canvas")
    diagram.scroll_into_view_if_needed()
    before = diagram.evaluate("canvas => canvas.toDataURL()")
    box = diagram.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Shift")
    for _ in range(5):
        page.mouse.wheel(0, -400)
    page.keyboard.up("Shift")
    drawing = diagram.element_handle()
    page.wait_for_function("([c, before]) => c.toDataURL() !== before", arg=[drawing, before])


def test_the_commands_of_xplot_are_those_of_tcptrace(directory, tmp_path):
    if shutil.which("tcptrace") is None:
        pytest.skip("no tcptrace here (Debian package tcptrace) to hold the files against")
    subprocess.run(["tcptrace", "-n", "-G", str(directory / "made.pcap")], cwd=tmp_path,
                   capture_output=True, check=True)  # fmt: skip

    def commands(path):
        words = re.findall(r"^([a-z]+) [\d.]+ ", path.read_text(), re.M)
        return {word: words.count(word) for word in set(words)}

    own = commands(directory / "xplot" / "1_tsg.xpl")
    theirs = commands(tmp_path / "a2b_tsg.xpl")
    # One "darrow" for each segment, "htick" for each end of a SACK's block, "dtick" and "utick" for
    # acknowledgements and windows that stay where they are. tcptrace draws pushed segments with a
    # diamond in place of the arrow, and the SYN as a segment.
    assert own["htick"] == theirs["htick"] == 2 * 6
    assert own["darrow"] + 1 >= theirs["darrow"] - 1
    assert own["dtick"] == theirs["dtick"]
    own_rtt = re.findall(r"^dot [\d.]+ ([\d.]+)", (directory / "xplot/1_rtt.xpl").read_text(), re.M)
    assert {float(ms) for ms in own_rtt} == {50.0}


@pytest.mark.parametrize("kind", ["tsg", "rtt", "owin", "tput"])
def test_xplot_reads_the_files(directory, kind):
    xplot, server = shutil.which("xplot.org"), shutil.which("Xvfb")
    if xplot is None or server is None:
        pytest.skip("no xplot.org or no Xvfb here (Debian packages xplot-xplot.org and xvfb)")
    read_end, write_end = os.pipe()
    display = subprocess.Popen(
        [server, "-displayfd", str(write_end), "-noreset", "-screen", "0", "640x480x24"],
        pass_fds=[write_end], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(write_end)
    try:
        with os.fdopen(read_end) as said:
            number = said.readline().strip()
        shown = subprocess.Popen(
            [xplot, str(directory / "xplot" / f"1_{kind}.xpl")],
            env={**os.environ, "DISPLAY": f":{number}"}, stderr=subprocess.PIPE,
        )  # fmt: skip
        # It shows the diagram until it is ended; of a file that it cannot read it says so and ends.
        until(lambda: windows(number) > 0, shown)
        shown.terminate()
        shown.communicate(timeout=PATIENCE_S)
    finally:
        display.terminate()
        display.wait(timeout=PATIENCE_S)


def windows(display):
    """How many windows programs have made at a display.

    By the X Window System Protocol (X11R7.7): section 8, "Connection Setup", and QueryTree of
    section 9 and appendix B.
    """
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(f"/tmp/.X11-unix/X{display}")
        replies = server.makefile("rb")
        server.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
        is_let_in, length = struct.unpack("<BxxxxxH", replies.read(8))
        setup = replies.read(4 * length)
        assert is_let_in == 1, setup
        vendor_bytes, formats = struct.unpack_from("<H3xB", setup, 16)
        (root,) = struct.unpack_from("<I", setup, 32 + (vendor_bytes + 3) // 4 * 4 + 8 * formats)
        server.sendall(struct.pack("<BxHI", 15, 2, root))
        return struct.unpack_from("<H", replies.read(32), 16)[0]
