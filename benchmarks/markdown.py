"""Tables and numbers as they are written in RESULTS.md."""

from collections.abc import Iterable, Sequence

from tallytree.research.reproduction.document import Goal


def write_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_seconds(value: float) -> str:
    """Tenths of a millisecond, or hundredths of a second where there are whole seconds."""
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def write_ratio(value: float) -> str:
    """Whole numbers, or one digit more where that matters."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def write_megabytes(value: int) -> str:
    """Whole megabytes."""
    return f"{value / 1e6:,.0f}"


def write_exponent(value: float | None) -> str:
    """A growth exponent, where there is one."""
    return "" if value is None else f"{value:.2f}"


def write_goals(goals: Sequence[Goal]) -> str:
    """A table."""
    rows = [(goal.statement, goal.measured, "yes" if goal.met else "**no**") for goal in goals]
    return write_table(("goal", "measured", "met"), rows)
