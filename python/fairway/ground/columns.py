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

    Numbers = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]
    Floats = npt.NDArray[np.float64]

#: Kind of a column, as `fairway.ground.result_schema` has it -> the type of its array.
_TYPES: dict[str, type[np.generic]] = {
    "number": np.float64, "count": np.uint64, "integer": np.int64, "flag": np.bool_,
}  # fmt: skip


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


@dataclass(frozen=True)
class Sparse:
    """A column of counts, whole numbers or flags of which some are missing.

    Attributes:
        values: One for each row, also for those without a value.
        present: Which rows have one.
    """

    values: Numbers
    present: Mask

    def __len__(self) -> int:
        return len(self.values)


if TYPE_CHECKING:
    #: Real numbers that are missing are NaN.
    Column = Numbers | Sparse | Text


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
        if isinstance(column, Sparse):
            return np.where(column.present, column.values.astype(np.float64), np.nan)
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
                found[name] = Sparse(values, present)
        return Columns(found)


def column_of(kind: str, values: Sequence[Any]) -> Column:
    """A column of plain values, None where there is none."""
    if kind == "text":
        return Text.of(values)
    dtype = _TYPES.get(kind, np.float64)
    if dtype is np.float64:
        return np.array([np.nan if one is None else one for one in values], dtype=dtype)
    present = np.array([one is not None for one in values], dtype=np.bool_)
    filled = np.array([0 if one is None else one for one in values], dtype=dtype)
    return filled if present.all() else Sparse(filled, present)


def _kind(column: Column) -> str:
    if isinstance(column, Text):
        return "text"
    values = column.values if isinstance(column, Sparse) else column
    # Of 32 bits are the numbers of repetitions in tables of sweeps.
    return next((kind for kind, dtype in _TYPES.items() if values.dtype == dtype), "small count")


def _chosen(column: Column, rows: npt.NDArray[Any]) -> Column:
    if isinstance(column, Text):
        return Text(column.codes[rows], column.names, column.is_ordered)
    if isinstance(column, Sparse):
        return Sparse(column.values[rows], column.present[rows])
    chosen: Numbers = column[rows]
    return chosen


def _same(one: Column, other: Column) -> bool:
    """Whether two columns of one kind have the same values."""
    if isinstance(one, Text) and isinstance(other, Text):
        return one.tolist() == other.tolist()
    _, values, present, _ = _packed("", one)
    _, others, also, _ = _packed("", other)
    if present is None or also is None:
        is_real = values.dtype == np.float64
        return present is also and np.array_equal(values, others, equal_nan=is_real)
    return np.array_equal(present, also) and np.array_equal(values[present], others[present])


def _packed(name: str, column: Column) -> tuple[str, Numbers, Mask | None, list[str] | None]:
    """A column as the compiled module takes it."""
    if isinstance(column, Text):
        codes = np.ascontiguousarray(column.codes, dtype=np.int32)
        return name, codes, None, list(column.names)
    if isinstance(column, Sparse):
        return name, np.ascontiguousarray(column.values), column.present, None
    return name, np.ascontiguousarray(column), None, None


def _series(name: str, column: Column) -> pl.Series:
    import polars as pl

    if isinstance(column, Text):
        places = pl.Series(column.codes).cast(pl.Int64)
        names = pl.Series(list(column.names), dtype=pl.String)
        return names.gather(places.set(places < 0, None)).alias(name)
    if isinstance(column, Sparse):
        return pl.Series(name, column.values).set(pl.Series(~column.present), None)
    return pl.Series(name, column, nan_to_null=True)


def _of_series(series: pl.Series) -> Column:
    import polars as pl

    if isinstance(series.dtype, pl.Enum):
        codes = series.to_physical().cast(pl.Int32).fill_null(-1)
        return Text(codes.to_numpy(), series.dtype.categories.to_list(), is_ordered=True)
    if series.dtype == pl.String:
        names = series.drop_nulls().unique(maintain_order=True)
        codes = series.cast(pl.Enum(names)).to_physical().cast(pl.Int32).fill_null(-1)
        return Text(codes.to_numpy(), names.to_list())
    if series.dtype.is_float() or series.dtype == pl.Null:
        return series.cast(pl.Float64).to_numpy()
    kept = series.fill_null(value=False) if series.dtype == pl.Boolean else series.fill_null(0)
    if series.dtype not in (pl.Boolean, pl.UInt64, pl.UInt32):
        kept = kept.cast(pl.Int64)
    present = series.is_not_null().to_numpy()
    return kept.to_numpy() if present.all() else Sparse(kept.to_numpy(), present)
