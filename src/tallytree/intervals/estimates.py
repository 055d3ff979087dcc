"""Estimates: numbers of a release with bias, standard error and interval, alone or combined.

The replicates of a release (``likely_ranges``) have errors of any number, of a combination of numbers too,
correlations included: so the interval of a combination is made like that of any other number.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tallytree.errors import IntervalsError
from tallytree.intervals.likely_ranges import Range, find_likely
from tallytree.intervals.selections import Selection
from tallytree.markup import tag, write_box, write_paragraph, write_table
from tallytree.privacy.budget import show_short
from tallytree.releases.flags import FLAGS, Flag, FlagLimits, Rounded, round_to_interval
from tallytree.releases.kept_replicates import KeptReplicates, Replicate
from tallytree.releases.release_columns import make_pandas, make_polars

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ANY = Range()
"""Of a number that may have any value."""

Origin = tuple[object, ...]
"""The release and the seed: numbers of different ones have no errors in common."""


@dataclass(frozen=True, eq=False)
class Draws:
    """A number and its replicates."""

    value: float
    known: Floats
    """The number in the counts that stand in for the true ones, for each replicate."""
    made: Floats
    """The number in what the mechanism made of them."""
    origin: Origin
    coverage: Fraction
    flags: FlagLimits
    range: Range = ANY
    is_public: bool = False
    """Whether the number is a public fact, and released as it is."""

    def combine(self, other: Draws, apply: Callable[[Any, Any], Any], range: Range) -> Draws:
        """Return the number that two numbers make, in the release and in each replicate."""
        if not len(self.made):
            raise IntervalsError(
                "The release is too large for replicates, so it is not known how the errors of two estimates "
                "are related. A share or a mean of one selection can be estimated."
            )
        if self.origin != other.origin:
            raise IntervalsError(
                "These estimates are not of one release, or not from the same replicates, so it is not known "
                "how their errors are related."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(apply(np.float64(self.value), np.float64(other.value)))
            known, made = apply(self.known, other.known), apply(self.made, other.made)
        is_public = self.is_public and other.is_public
        return replace(self, value=value, known=known, made=made, range=range, is_public=is_public)


@dataclass(frozen=True)
class Estimate:
    """A number of a release, with an interval: made by :meth:`tallytree.Release.estimate`.

    The difference of two estimates of one release is an estimate too, ``a - b``, and so are the ratio
    ``a / b`` and the sum ``a + b``. How their errors are related is known, and taken into account.
    """

    name: str
    """What it is of."""
    title: str
    """What it is."""
    value: float
    """The released number; NaN if there is none, such as the mean of no groups."""
    low: float
    """The true number is from here on..."""
    high: float
    """...to here, with probability ``coverage``."""
    bias: float
    """The mean error of replicates; NaN if there are none."""
    error: float
    """The standard error."""
    coverage: Fraction
    flag: Flag
    exact: bool
    """Whether the number is public, and released as it is."""
    draws: Draws = field(repr=False, compare=False)
    """The replicates."""

    @property
    def rounded(self) -> Rounded:
        """The number and its interval, with no more digits than are known."""
        return round_to_interval(self.value, self.low, self.high)

    def __sub__(self, other: object) -> Estimate:
        if not isinstance(other, Estimate):
            return NotImplemented
        one, two = self.draws.range, other.draws.range
        both = Range(one.least - two.most, one.most - two.least, one.is_whole and two.is_whole)
        return self._join(other, "minus", self.draws.combine(other.draws, operator.sub, both))

    def __add__(self, other: object) -> Estimate:
        if not isinstance(other, Estimate):
            return NotImplemented
        one, two = self.draws.range, other.draws.range
        both = Range(one.least + two.least, one.most + two.most, one.is_whole and two.is_whole)
        return self._join(other, "plus", self.draws.combine(other.draws, operator.add, both))

    def __truediv__(self, other: object) -> Estimate:
        if not isinstance(other, Estimate):
            return NotImplemented
        both = Range(0.0 if min(self.draws.range.least, other.draws.range.least) >= 0 else -math.inf)
        return self._join(other, "divided by", self.draws.combine(other.draws, operator.truediv, both))

    def _join(self, other: Estimate, how: str, draws: Draws) -> Estimate:
        second = other.name if self.title == other.title else f"{other.title.lower()}, {other.name}"
        return settle(f"{self.name} {how} {second}", self.title, draws)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as facts for a program; None where there is no number."""
        numbers = {name: getattr(self, name) for name in ("value", "low", "high", "bias", "error")}
        return {
            "name": self.name,
            "statistic": self.title,
            **{name: each if math.isfinite(each) else None for name, each in numbers.items()},
            "coverage": str(self.coverage),
            "flag": self.flag,
            "exact": self.exact,
        }

    def describe(self) -> str:
        """Describe the estimate in a line."""
        return f"{self.title}, {self.name}: {self.describe_number()}"

    def describe_number(self) -> str:
        """Describe the number, its interval and its flag."""
        if math.isnan(self.value):
            return "there is none, for no such groups were released"
        value, low, high = self.rounded
        if self.exact:
            return f"{value} (public, exact)"
        share = f"{show_short(100 * self.coverage)} % interval"
        return f"{value} ({share} {low or 'unknown'} to {high or 'unknown'}; {FLAGS[self.flag]})"

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        words = [write_paragraph(self.describe_number())]
        if not self.exact and math.isfinite(self.error):
            bias = f"Bias {self.bias:,.3g}, standard error" if math.isfinite(self.bias) else "Standard error"
            errors = f"{bias} {self.error:,.3g}."
            words += [write_paragraph(errors), write_paragraph(f"{self.draws.flags.describe()}.")]
        return write_box(tag("span", self.title, ", ", self.name), *words)


@dataclass(frozen=True)
class Estimates(Sequence[Estimate]):
    """Estimates of several areas: a sequence that is displayed as a table."""

    items: tuple[Estimate, ...]

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Estimate: ...
    @overload
    def __getitem__(self, place: slice) -> Estimates: ...
    def __getitem__(self, place: int | slice) -> Estimate | Estimates:
        return Estimates(self.items[place]) if isinstance(place, slice) else self.items[place]

    @property
    def columns(self) -> list[str]:
        """The names of the columns of :attr:`rows`."""
        title = self.items[0].title if self.items else "Value"
        share = f"{show_short(100 * self.items[0].coverage)} % interval" if self.items else "interval"
        return ["Area", title, share, "flag"]

    @property
    def rows(self) -> list[list[str]]:
        """The estimates, rounded to what is known."""
        return [[each.name, *write_cells(each)] for each in self.items]

    def to_arrow(self) -> pa.Table:
        """Return the estimates as a table; numbers that are not known are null."""
        told = [each.to_dict() for each in self.items]
        return pa.table(
            {
                name: pa.array([each[name] for each in told], kind)
                for name, kind in (
                    *((name, pa.string()) for name in ("name", "statistic")),
                    *((name, pa.float64()) for name in ("value", "low", "high", "bias", "error")),
                    *(("coverage", pa.string()), ("flag", pa.string()), ("exact", pa.bool_())),
                )
            }
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the estimates as a pandas data frame."""
        return make_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """Return the estimates as a Polars data frame."""
        return make_polars(self.to_arrow())

    def _repr_html_(self) -> str:
        about = [write_paragraph(f"{each.draws.flags.describe()}.") for each in self.items[:1]]
        return write_box(tag("span", "Estimates"), write_table(self.columns, self.rows), *about)


def write_cells(estimate: Estimate) -> list[str]:
    """Return the number, its interval and its flag as cells of a table."""
    value, low, high = estimate.rounded
    if math.isnan(estimate.value):
        return ["", "", ""]
    interval = "public, exact" if estimate.exact else f"{low} to {high}"
    return [value, interval, FLAGS[estimate.flag]]


def estimate_selection(
    selection: Selection,
    counts: Sequence[Ints],
    kept: KeptReplicates,
    *,
    origin: Origin,
    coverage: Fraction,
    flags: FlagLimits,
) -> Estimate:
    """Estimate what is selected from the released counts and the replicates of these regions."""
    released = selection.add_up(counts)
    known, made = selection.replay(kept, released)
    measure = selection.measure
    within = Range.of(measure.kind, measure.limits, selection.own_sizes)
    value = float(selection.find(released)[0])
    draws = Draws(value, known, made, origin, coverage, flags, within, selection.is_public)
    return settle(selection.name, measure.title, draws)


def estimate_function(
    function: Callable[[Sequence[Ints]], object],
    counts: Sequence[Ints],
    replicates: Iterable[Replicate],
    *,
    origin: Origin,
    coverage: Fraction,
    flags: FlagLimits,
) -> Estimate:
    """Estimate any number that a function finds in counts by level, root first."""
    value = _call(function, counts)
    pairs = [(_call(function, each.known), _call(function, each.made)) for each in replicates]
    known, made = np.array(pairs, dtype=np.float64).T
    name = getattr(function, "__name__", "")
    title = "A function of the release" if name in ("", "<lambda>") else name
    return settle("the whole release", title, Draws(value, known, made, origin, coverage, flags))


def _call(function: Callable[[Sequence[Ints]], object], counts: Sequence[Ints]) -> float:
    found = np.asarray(function(counts))
    if found.size != 1 or found.dtype.kind not in "biuf":
        raise IntervalsError("The function of an estimate must return one number.")
    return float(found.reshape(-1)[0])


def settle(name: str, title: str, draws: Draws) -> Estimate:
    """Make the estimate of a number from its replicates."""
    with np.errstate(invalid="ignore"):  # of a ratio, both may be infinite: such a replicate has no error
        errors = draws.made - draws.known
    bias, error, low, high = 0.0, 0.0, draws.value, draws.value
    if not draws.is_public:
        found = find_likely(np.array(draws.value), errors, draws.coverage, draws.range)
        low, high, bias, error = map(float, found)
    value = draws.value
    if math.isnan(value):  # no groups of these sizes were released, which does not say that there are none
        low, high = draws.range.least, draws.range.most
    if draws.range.is_whole:
        value, low, high = map(_as_whole, (value, low, high))
    flag = draws.flags.flag(value, low, high) if math.isfinite(value) else "noise"
    return Estimate(name, title, value, low, high, bias, error, draws.coverage, flag, draws.is_public, draws)


def _as_whole(number: float) -> float:
    return int(number) if math.isfinite(number) else number
