"""An experiment on several backends: its comparison as tables and as a report."""

from __future__ import annotations

from fairway.compare.agree.data import AgreementData
from fairway.compare.agree.tables import remarks, tables
from fairway.plot.page import Table, plain_html


class Agreement(AgreementData):
    """An experiment on several backends."""

    def tables(self) -> list[Table]:
        """All numbers of a single experiment, or a line for each point of a sweep."""
        return tables(self)

    def remarks(self) -> list[str]:
        """What has to be said beside the tables."""
        return remarks(self)

    def report(self) -> str:
        """The report as HTML."""
        from fairway.compare.agree.report import report

        return report(self)

    def _repr_html_(self) -> str:
        return "".join(plain_html(table) for table in self.tables())
