"""What a plan leaves behind: a ``release.toml`` ready to run, and a picture of accuracy against epsilon."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tallytree.charts import Line, draw_lines
from tallytree.pictures import Picture
from tallytree.planning.advice import Advice
from tallytree.privacy.budget import show_exact
from tallytree.privacy.neighbours import Bounds

LEAST = 0.5
"""Errors below this, which a logarithmic axis cannot show, are drawn here."""


def write_spec(advice: Advice, settings: Mapping[str, Any]) -> str:
    """A ``release.toml``: these settings, with the mechanism and the split that were found."""
    found: dict[str, Any] = {
        **settings,
        "epsilon": show_exact(advice.epsilon),
        "mechanism": advice.planned.mechanism,
    }
    if advice.delta is not None:
        found["delta"] = show_exact(advice.delta)
    if advice.public_totals is not None:
        found["public_totals"] = advice.public_totals
    if advice.bounds != Bounds():  # the ordinary ones go without saying
        found |= asdict(advice.bounds)
    lines = [
        "# Written by `tallytree plan`, from public data: it never saw the sensitive ones.",
        "# Run it with: tallytree release --spec FILE",
        *(f"{name} = {_write(value)}" for name, value in found.items()),
        "",
        "[budget]",
        *(f"{_write(level)} = {share}" for level, share in advice.planned.budget.items()),
        "",
    ]
    return "\n".join(lines)


def _write(value: object) -> str:
    """Texts, numbers and lists of them are in TOML as in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def draw_trade_off(advice: Advice) -> Picture:
    """L1 error at each level against epsilon."""
    lines = [
        Line(
            error.level,
            [(float(case.epsilon), max(LEAST, case.levels[place].l1)) for case in advice.trade_off],
        )
        for place, error in enumerate(advice.planned.levels)
    ]
    title = f"Expected error of {advice.planned.mechanism}, by level"
    return draw_lines(title, lines, x="epsilon", y="L1 error, in groups")
