"""Months, quarters and years, in UTC, and what may be spent in each of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, timedelta
from fractions import Fraction
from typing import Literal, Self, get_args

from tallytree.errors import LedgerError, name_choices, show

Per = Literal["month", "quarter", "year"]

COUNTS: dict[Per, int] = {"month": 12, "quarter": 4, "year": 1}
"""Periods of a year."""


@dataclass(frozen=True, order=True)
class Period:
    """One month, quarter or year.

    >>> period = Period.of("2026-11-18T20:23:57+00:00", "quarter")
    >>> str(period), str(period.next.begin)
    ('2026-Q4', '2027-01-01')
    """

    number: int
    """Counted from the year 0 on."""
    per: Per

    @classmethod
    def of(cls, time: str, per: Per) -> Self:
        """Return the period of an entry's time; refuse a time that is not one in UTC."""
        try:
            moment = datetime.fromisoformat(time)
        except ValueError:
            moment = None
        if moment is None or moment.utcoffset() != timedelta(0) or moment.year == MAXYEAR:
            raise LedgerError("Its time is not one in UTC.")
        count = COUNTS[per]
        return cls(moment.year * count + (moment.month - 1) * count // 12, per)

    @property
    def next(self) -> Self:
        """The period after this one."""
        return type(self)(self.number + 1, self.per)

    @property
    def begin(self) -> date:
        """The first day."""
        year, index = divmod(self.number, COUNTS[self.per])
        return date(year, 1 + index * 12 // COUNTS[self.per], 1)

    def __str__(self) -> str:
        year, index = divmod(self.number, COUNTS[self.per])
        return {
            "month": f"{year:04}-{index + 1:02}",
            "quarter": f"{year:04}-Q{index + 1}",
            "year": f"{year:04}",
        }[self.per]


@dataclass(frozen=True)
class Limit:
    """The most that may be spent on a dataset in each period. What is left of it is not carried over."""

    amount: Fraction
    per: Per

    def write(self) -> str:
        """Return what an entry says of it, besides the amount."""
        return f"per {self.per}"

    @classmethod
    def read(cls, amount: Fraction, text: str) -> Self:
        """Return the limit of an entry."""
        for per in COUNTS:
            if text == (limit := cls(amount, per)).write():
                return limit
        raise LedgerError("It does not say for which periods its amount is.")


def check_per(per: object) -> Per:
    """Return the kind of periods; refuse what is not one."""
    for known in COUNTS:
        if per == known:
            return known
    raise LedgerError(f"A limit is not per {show(per)}: {name_choices(per, get_args(Per))}")
