"""How closely the simulator follows golden traces, as tables and as a report."""

from __future__ import annotations

from fairway.compare.fidelity.data import FidelityData
from fairway.compare.fidelity.tables import tables
from fairway.plot.page import Table, plain_html


class Fidelity(FidelityData):
    """How closely the simulator follows golden traces."""

    def tables(self) -> list[Table]:
        """All numbers, simulated beside real, and what is out of tolerance."""
        return tables(self)

    def report(self) -> str:
        """The report as HTML."""
        from fairway.compare.fidelity.report import report

        return report(self)

    def _repr_html_(self) -> str:
        return "".join(plain_html(table) for table in self.tables())
