"""What was measured, as data: kept in ``results.json`` beside the pages, which are written from it."""

import argparse
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from benchmarks.timing import find_growth
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.measuring import describe_machine

T = TypeVar("T")
Data = dict[str, Any]
"""As JSON has it: what was measured about a topic, or a row of one of its tables."""
FOLDER = Path(__file__).parent
FILE = "results.json"


def write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


class Table(Generic[T]):
    """A table as data and on a page.

    A column has a title, which names the value in the data too; what it is of an item; and how it is shown:
    a format, or a function. A value that there is not (None) is shown as nothing.
    """

    def __init__(self, *columns: tuple[str, Callable[[T], Any], str | Callable[[Any], str]]) -> None:
        self.columns = columns

    def record(self, items: Iterable[T]) -> list[Data]:
        """The values of all items."""
        return [{title: find(item) for title, find, _ in self.columns} for item in items]

    def write(self, records: Iterable[Data], growth: Mapping[str, float] | None = None) -> str:
        """The table; ``growth``: exponents for some of its columns, as the last row."""
        rows = [[_show(record[title], show) for title, _, show in self.columns] for record in records]
        titles = [title for title, _, _ in self.columns]
        if growth:
            exponents = [_show(growth.get(title), "{:.2f}") for title in titles[1:]]
            rows.append(["growth exponent", *exponents])
        return write_table(titles, rows)


def _show(value: Any, show: str | Callable[[Any], str]) -> str:
    if value is None:
        return ""
    return show.format(value) if isinstance(show, str) else show(value)


def find_exponents(records: Sequence[Data], amount: str, *times: str) -> dict[str, float]:
    """How columns of times grow with the column ``amount``, where there are enough rows to say."""
    amounts = [record[amount] for record in records]
    found = {time: find_growth(amounts, [record[time] for record in records]) for time in times}
    return {time: exponent for time, exponent in found.items() if exponent is not None}


GOALS = Table[Goal](
    ("goal", lambda goal: goal.statement, "{}"),
    ("measured", lambda goal: goal.measured, "{}"),
    ("met", lambda goal: goal.met, lambda met: "yes" if met else "**no**"),
)


# Numbers as they are shown.


def write_seconds(value: float) -> str:
    """Tenths of a millisecond, or hundredths of a second where there are whole seconds."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def write_ratio(value: float) -> str:
    """Whole numbers, or one digit more where that matters."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def write_megabytes(value: float) -> str:
    """Whole megabytes."""
    return f"{value / 1e6:,.0f}"


def write_gigabytes(value: float) -> str:
    """Tenths of gigabytes."""
    return f"{value / 1e9:.1f} GB"


# Whole pages.


def list_facts(command: str, packages: Sequence[str] = ()) -> dict[str, str]:
    """When, on what and by which command something is measured; to be called first, for the load's sake."""
    return {"Date": str(date.today()), **describe_machine(packages), "Command": f"`{command}`"}


def write_facts(data: Data) -> str:
    """The same on a page."""
    return write_table(("", ""), data["facts"].items())


def join_parts(*parts: str) -> str:
    """A page of the parts that there are."""
    return "\n\n".join(part for part in parts if part) + "\n"


def make_parser(module: str, page: str, about: str | None) -> argparse.ArgumentParser:
    """The options of ``python -m benchmarks.MODULE``; it may have more."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=about)
    where = f"where to write (default: {page}); the data go beside it, into {FILE}"
    parser.add_argument("--out", type=Path, default=FOLDER / page, help=where)
    return parser


def publish(topic: str, data: Data, write: Callable[[Data], str], out: Path) -> None:
    """Keep what was measured, and write the page ``out`` from it."""
    file = out.with_name(FILE)
    kept = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(_lay_out({**kept, topic: _make_plain(data)}) + "\n", encoding="utf-8")
    out.write_text(write(read_data(topic, file)), encoding="utf-8")


def read_data(topic: str, file: Path = FOLDER / FILE) -> Data:
    """What was measured last."""
    data: Data = json.loads(file.read_text(encoding="utf-8"))[topic]
    return data


def _make_plain(value: Any) -> Any:
    """As JSON has it: what is not finite is None. A long run must not fail at its end, for such a number."""
    if isinstance(value, dict):
        return {key: _make_plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_make_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lay_out(value: Any, indent: str = "\n") -> str:
    """JSON with a line for each row of a table, so that a difference between two runs can be read."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(part, dict | list) for part in parts) or len(json.dumps(value)) < 100:
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(key, ensure_ascii=False)}: {_lay_out(value[key], deeper)}" for key in value]
        return "{" + deeper + f",{deeper}".join(lines) + indent + "}"
    return "[" + deeper + f",{deeper}".join(_lay_out(part, deeper) for part in value) + indent + "]"
