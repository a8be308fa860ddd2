"""Tables as columns of NumPy: what runs measure, before anything else is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway import _core
from fairway.ground import extras

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    #: Numbers, counts or flags. Real numbers are NaN, and others masked, where there is none.
    Numbers = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float64]

#: Kind of a column, as `fairway.ground.result_schema` has it -> the type of its array.
_TYPES: dict[str, type[np.generic]] = {
    "number": np.float64, "count": np.uint64, "integer": np.int64, "flag": np.bool_,
}  # fmt: skip
#: Types of arrays that a Parquet file keeps besides: numbers of repetitions.
_SMALL_COUNT = np.dtype(np.uint32)


@dataclass(frozen=True)
class Text:
    """A column of text, each different one once.

    Attributes:
        codes: Of each row the place of its text in `names`; -1 where there is none.
        is_ordered: Whether `names` stand in an order of their own.
    """

    codes: npt.NDArray[np.int32]
    names: Sequence[str]
    is_ordered: bool = False

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def of(values: Iterable[str | None]) -> Text:
        """A column of these."""
        known: dict[str, int] = {}
        codes = [-1 if one is None else known.setdefault(one, len(known)) for one in values]
        return Text(np.array(codes, dtype=np.int32), list(known))

    def tolist(self) -> list[str | None]:
        """The text of each row."""
        names = [*self.names, None]  # -1 is the last
        return [names[code] for code in self.codes.tolist()]

    @property
    def present(self) -> list[str]:
        """Each different text in the order in which it comes."""
        codes, first = np.unique(self.codes, return_index=True)
        return [self.names[code] for code in codes[np.argsort(first)].tolist() if code >= 0]

    def equals(self, name: str) -> Mask:
        """Which rows have that text."""
        return self.is_in([name])

    def is_in(self, names: Iterable[str]) -> Mask:
        """Which rows have one of these texts."""
        wanted = set(names)
        found = np.array([*(name in wanted for name in self.names), False])
        return found[self.codes]

    @property
    def ranks(self) -> npt.NDArray[np.int64]:
        """Numbers by which rows are in the order of their text."""
        if self.is_ordered:
            return self.codes.astype(np.int64)
        order = np.argsort(np.array(self.names, dtype=object), kind="stable")
        places = np.empty(len(self.names) + 1, dtype=np.int64)
        places[order], places[-1] = np.arange(len(self.names)), -1
        return places[self.codes]


if TYPE_CHECKING:
    Column = Numbers | Text


class Columns(Mapping[str, "Column"]):
    """A table: its columns by their names, each as long as the others."""

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = dict(columns)

    @staticmethod
    def of(table: Columns | pl.DataFrame) -> Columns:
        """The same table; a data frame's columns."""
        if isinstance(table, Columns):
            return table
        return Columns({series.name: _of_series(series) for series in table.iter_columns()})

    @staticmethod
    def empty(kinds: Mapping[str, str]) -> Columns:
        """A table without rows."""
        return Columns({name: column_of(kind, []) for name, kind in kinds.items()})

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """How many columns there are."""
        return len(self._columns)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return next((len(column) for column in self._columns.values()), 0)

    def text(self, name: str) -> Text:
        """A column of text."""
        column = self._columns[name]
        assert isinstance(column, Text), name
        return column

    def numbers(self, name: str) -> Floats:
        """A column as real numbers; NaN where there is none."""
        column = self._columns[name]
        assert not isinstance(column, Text), name
        if isinstance(column, np.ma.MaskedArray):
            return np.ma.filled(column.astype(np.float64), np.nan)
        return column.astype(np.float64, copy=False)

    def known(self, name: str) -> Mask:
        """Which rows have a number in a column."""
        return ~np.isnan(self.numbers(name))

    def keep(self, rows: npt.NDArray[Any]) -> Columns:
        """The rows that a mask or places choose."""
        return Columns({name: _chosen(column, rows) for name, column in self.items()})

    def replace(self, **columns: Column) -> Columns:
        """The same with other columns, or more."""
        return Columns({**self._columns, **columns})

    @property
    def kinds(self) -> dict[str, str]:
        """What each column holds, as `fairway.ground.result_schema.kinds` has it."""
        return {name: _kind(column) for name, column in self.items()}

    def equals(self, other: Columns) -> bool:
        """Whether both have the same columns with the same values, and none at the same rows."""
        return self.kinds == other.kinds and all(
            _same(column, other[name]) for name, column in self.items()
        )

    def frame(self) -> pl.DataFrame:
        """The same as a data frame, with null where there is no value."""
        with extras.needed("a data frame"):
            import polars as pl

        return pl.DataFrame([_series(name, column) for name, column in self.items()])

    def parquet(self) -> bytes:
        """The same as a Parquet file; the same table gives the same bytes."""
        return _core.write_parquet([_packed(name, column) for name, column in self.items()])

    @staticmethod
    def from_parquet(file: bytes) -> Columns:
        """Read such a file.

        Raises:
            ValueError: If it is damaged, or none that Fairway writes; its text says how.
        """
        found: dict[str, Column] = {}
        for name, values, present, names in _core.read_parquet(file):
            if names is not None:
                found[name] = Text(values, names)
            elif present is None or values.dtype == np.float64:
                found[name] = values
            else:
                found[name] = np.ma.MaskedArray(values, mask=~present)
        return Columns(found)


def column_of(kind: str, values: Sequence[Any]) -> Column:
    """A column of plain values, None where there is none."""
    if kind == "text":
        return Text.of(values)
    dtype = _TYPES.get(kind, np.float64)
    if dtype is np.float64:
        return np.array([np.nan if one is None else one for one in values], dtype=dtype)
    missing = [one is None for one in values]
    filled = np.array([0 if one is None else one for one in values], dtype=dtype)
    return np.ma.MaskedArray(filled, mask=missing) if any(missing) else filled


def _kind(column: Column) -> str:
    if isinstance(column, Text):
        return "text"
    return next((kind for kind, dtype in _TYPES.items() if column.dtype == dtype), "small count")


def _chosen(column: Column, rows: npt.NDArray[Any]) -> Column:
    if isinstance(column, Text):
        return Text(column.codes[rows], column.names, column.is_ordered)
    chosen: Numbers = column[rows]
    return chosen


def _same(one: Column, other: Column) -> bool:
    if isinstance(one, Text) or isinstance(other, Text):
        return isinstance(one, Text) and isinstance(other, Text) and one.tolist() == other.tolist()
    masks = np.ma.getmaskarray(one), np.ma.getmaskarray(other)
    if not np.array_equal(*masks):
        return False
    return np.array_equal(
        np.ma.getdata(one)[~masks[0]], np.ma.getdata(other)[~masks[0]],
        equal_nan=one.dtype == np.float64,
    )  # fmt: skip


def _packed(name: str, column: Column) -> tuple[str, Numbers, Mask | None, list[str] | None]:
    """A column as the compiled module takes it."""
    if isinstance(column, Text):
        codes = np.ascontiguousarray(column.codes, dtype=np.int32)
        return name, codes, None, list(column.names)
    present = None
    if isinstance(column, np.ma.MaskedArray):
        present = ~np.ma.getmaskarray(column)
    return name, np.ascontiguousarray(np.ma.getdata(column)), present, None


def _series(name: str, column: Column) -> pl.Series:
    import polars as pl

    if isinstance(column, Text):
        places = pl.Series(column.codes).cast(pl.Int64)
        names = pl.Series(list(column.names), dtype=pl.String)
        return names.gather(places.set(places < 0, None)).alias(name)
    if isinstance(column, np.ma.MaskedArray):
        series = pl.Series(name, np.ma.getdata(column))
        return series.set(pl.Series(np.ma.getmaskarray(column)), None)
    return pl.Series(name, column, nan_to_null=True)


def _of_series(series: pl.Series) -> Column:
    import polars as pl

    if series.dtype in (pl.String, pl.Enum, pl.Categorical):
        is_ordered = series.dtype == pl.Enum
        names = series.cat.get_categories() if is_ordered else series.drop_nulls().unique(
            maintain_order=True
        ).cast(pl.String)  # fmt: skip
        codes = series.cast(pl.Enum(names)).to_physical().cast(pl.Int32).fill_null(-1)
        return Text(codes.to_numpy(), names.to_list(), is_ordered)
    if series.dtype.is_float() or series.dtype == pl.Null:
        return series.cast(pl.Float64).to_numpy()
    if series.dtype == pl.Boolean:
        missing, kept = series.is_null().to_numpy(), series.fill_null(value=False)
    else:
        kinds = {pl.UInt64: pl.UInt64, pl.UInt32: pl.UInt32}
        missing = series.is_null().to_numpy()
        kept = series.fill_null(0).cast(kinds.get(series.dtype.base_type(), pl.Int64))
    values = kept.to_numpy()
    return np.ma.MaskedArray(values, mask=missing) if missing.any() else values
