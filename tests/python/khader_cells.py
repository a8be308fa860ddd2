"""Which numbers of tables C-1 to C-10 of Khader 2020 the study meets to the printed digit.

`python tests/python/khader_cells.py DIRECTORY`, with that of `fairway reproduce khader2020`, prints
how many of each table are met and those that are not.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from fairway.study.files import find

#: The parts that are single runs, as the tables are.
PARTS = ("tables", "rows")
MONITOR = "flow.0.flow_monitor."
RATE = "topology.bottleneck.loss.probability"
#: Metric -> its table; those of tables C-7 to C-10 have it in the title of their row.
TABLES = {
    "tx_kbps": "C-1",
    "packet_delivery_ratio": "C-2",
    "lost_of_sent": "C-3",
    "nai_1024_per_s": "C-4",
    "mean_delay_ms": "C-5",
    "ctt_s": "C-6",
}


@dataclass(frozen=True)
class Printed:
    """A number of a table beside what is measured.

    Attributes:
        table: Its table.
        place: Its row, algorithm and metric.
        reading: How DCM+ is read; "ns-3's own" of other algorithms.
        text: As it is printed.
        measured: What is measured, in the unit of the table.
        slack: Share that it may be off for being worked out from another printed number.
    """

    table: str
    place: str
    reading: str
    text: str
    measured: float
    slack: float = 0.0

    @property
    def is_met(self) -> bool:
        """Whether the measured number, rounded to the printed digits, is the printed one."""
        printed, unit = Decimal(self.text), half_unit(self.text) * 2
        if self.slack:
            apart = abs(Decimal(self.measured) - printed)
            return apart <= unit / 2 + Decimal(self.slack) * abs(printed)
        return (Decimal(self.measured) / unit).quantize(Decimal(1)) * unit == printed


def half_unit(text: str) -> Decimal:
    """Half of the last printed digit.

    >>> half_unit("85424.7"), half_unit("7.29E+09")
    (Decimal('0.05'), Decimal('5E+6'))
    """
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return Decimal(5).scaleb(exponent - 1)


def table_of(point, metric: str) -> str:
    title = point.get("title")
    return title.split(":")[0] if title else TABLES[metric.removeprefix(MONITOR)]


def texts(study, part: str, point) -> dict[str, tuple[str, float]]:
    """Metric -> how a point's number is printed, and its unit in that of the metric."""
    found = {}
    for column in study.parts[part].compared:
        text = column.row(point).get(column.column_of(point))
        if text and column.covers(point):
            found[column.metric] = (text, column.scale)
    return found


def slack(metric: str, printed: dict[str, tuple[str, float]]) -> float:
    """The index is worked out from the throughput as printed: half of its last digit."""
    if not metric.startswith(MONITOR + "nai"):
        return 0.0
    text = printed[MONITOR + "tx_kbps"][0]
    return float(half_unit(text) / Decimal(text))


def numbers(study, cells) -> list[Printed]:
    """Every number of tables C-1 to C-10 beside a measured cell of `reproduction.json`."""
    found = []
    for cell in cells:
        part, point, metric = cell["part"], cell["point"], cell["metric"]
        if part not in PARTS or cell["measured"] is None:
            continue
        printed = texts(study, part, point)
        # Drops of the window that the text counts are in no table.
        if metric not in printed or not metric.startswith(MONITOR):
            continue
        text, unit = printed[metric]
        place = ", ".join(
            [
                str(point.get("title") or f"{point[RATE]:g}"),
                point["flow.0.cc"],
                metric.removeprefix(MONITOR),
            ]
        )
        found.append(
            Printed(
                table_of(point, metric),
                place,
                point["scenario"],
                text,
                cell["measured"] / unit,
                slack(metric, printed),
            )
        )
    return found


def main() -> None:
    cells = json.loads((Path(sys.argv[1]) / "reproduction.json").read_text())["cells"]
    every = numbers(find("khader2020"), cells)
    total, met = Counter(), Counter()
    for one in every:
        total[one.table, one.reading] += 1
        met[one.table, one.reading] += one.is_met
    for key, count in total.items():
        sys.stdout.write(f"{key[0]:5} {key[1]:27} {met[key]} of {count}\n")
    for one in every:
        if not one.is_met and one.reading in ("ns-3's own", "frozen window"):
            line = f"{one.table}: {one.place}, {one.reading}: {one.text}, here {one.measured:.8g}\n"
            sys.stdout.write(line)


if __name__ == "__main__":
    main()
