"""The settings of the planned release: a ``release.toml`` ready to run, and the flags of a command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tallytree.counts.group_counts import GroupCounts
from tallytree.privacy.budget import show_exact
from tallytree.privacy.neighbours import Bounds, Neighbours
from tallytree.sizes import state_sizes
from tallytree.words import PLAIN, Words

if TYPE_CHECKING:
    from tallytree.planning.advice import Advice

OUT = "release"
NAMES = {"title": "title", "group": "group_name", "member": "member_name"}
"""The settings that say what groups and their members are called."""
HEAD = (
    "# Written by `tallytree plan`, from public data: it never saw the sensitive ones.",
    "# Run it with: tallytree release --spec FILE",
)


def list_settings(
    stand_in: GroupCounts,
    *,
    data: str = "counts.parquet",
    columns: Mapping[str, str] | None = None,
    words: Words = PLAIN,
) -> dict[str, Any]:
    """Return the settings of a release of data like the stand-in, but for those that are planned.

    Of ``columns``, those with the default names are left out, since records of people have none.
    """
    levels = stand_in.hierarchy.levels
    return {
        "source": data,
        "out": OUT,
        "regions": list(levels[1:]),
        **state_sizes(stand_in.sizes),
        **{name: column for name, column in (columns or {}).items() if column != name},
        "root": stand_in.hierarchy.regions(0)[0][0],
        "root_level": levels[0],
        **{
            name: getattr(words, key)
            for key, name in NAMES.items()
            if getattr(words, key) != getattr(PLAIN, key)
        },
    }


def find_words(settings: Mapping[str, Any]) -> Words:
    """Return what groups and their members are called in a release with these settings."""
    return Words(**{key: settings[name] for key, name in NAMES.items() if name in settings})


def write_spec(advice: Advice, settings: Mapping[str, Any]) -> str:
    """Return a ``release.toml``: these settings, with the mechanism and the split that were found."""
    found: dict[str, Any] = {
        **settings,
        "protect": advice.neighbours.protect,
        "total": advice.neighbours.total,  # what a release would take it for depends on its source
        "epsilon": show_exact(advice.epsilon),
        "mechanism": advice.planned.mechanism,
    }
    if advice.delta is not None:
        found["delta"] = show_exact(advice.delta)
    if advice.public_totals is not None:
        found["public_totals"] = advice.public_totals
    if advice.neighbours.bounds != Bounds():  # the default ones need not be stated
        found |= state_bounds(advice.neighbours)
    lines = [
        *HEAD,
        *(write_line(name, value) for name, value in found.items()),
        "",
        "[budget]",
        *(f"{write_value(level)} = {share}" for level, share in advice.planned.budget.items()),
        "",
    ]
    return "\n".join(lines)


def write_line(name: str, value: object) -> str:
    """Write a setting as a line of TOML."""
    return f"{name} = {write_value(value)}"


def write_value(value: object) -> str:
    """Write texts, numbers and lists of them, which are in TOML as in JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def state_bounds(neighbours: Neighbours) -> dict[str, int]:
    """Return the bounds on a person: of no matter where whole groups are protected."""
    return asdict(neighbours.bounds) if neighbours.protect == "person" else {}


def list_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return the words of a ``tallytree release`` with these settings, as a list for a shell to quote."""
    words = [str(settings["source"])]
    for name, value in settings.items():
        if name == "source":
            continue
        flag = f"--{name.replace('_', '-')}"
        if name == "regions":
            words += [word for column in value for word in ("--region", column)]
        elif name == "sizes":
            words += [flag, f"{value[0]}:{value[1]}"]
        elif name == "classes":
            words += [flag, ",".join(map(str, value))]
        else:
            words += [flag, str(value)]
    return words
