"""The page for choosing epsilon: what it buys beside what it gives away, at all settings at once."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tallytree.files import write_whole
from tallytree.markup import Html, join, name, tag, write_json
from tallytree.mechanisms.registry import find_default, find_mechanism
from tallytree.planning.landscapes import SIGNED, SMOOTH, Family, Landscape, LevelSurfaces, explore
from tallytree.planning.outcomes import CELLS, QUANTILES, Places, Typical
from tallytree.planning.release_settings import (
    HEAD,
    find_words,
    list_flags,
    list_settings,
    state_bounds,
    write_line,
    write_value,
)
from tallytree.planning.response_surfaces import LARGE_SCALE, LEAST_VARIANCE, MOST_RATIO, TERMS, Surface
from tallytree.privacy.budget import LARGE_EPSILON, Budget, show_exact
from tallytree.privacy.neighbours import PROTECTED, TOTALS, Bounds, Neighbours, Protected
from tallytree.privacy.plan import Plan
from tallytree.privacy.zcdp import find_rho
from tallytree.progress import Progress
from tallytree.releases.statement import list_group_losses
from tallytree.releases.usefulness import WITHIN
from tallytree.report.offline_page import build_page, embed_text
from tallytree.report.report_sections import tabulate
from tallytree.sizes import Sizes, name_size, show_sizes
from tallytree.words import Words

if TYPE_CHECKING:
    from tallytree.planning.advice import Advice

STYLES = ("style.css", "plan.css")
SCRIPTS = ("numbers.js", "elements.js", "chart.js", "surfaces.js", "beliefs.js", "settings.js", "plan.js")
"""The parts of the script, in order."""

STEPS = tuple(map(Fraction, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
"""The epsilons of a decade that can be chosen."""
BELIEFS = (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))
"""What somebody may believe before the release."""
DIGITS = 6
"""The significant digits of numbers on the page."""

WITH_DELTA = (
    "The noise is Gaussian, at delta = {}. What may be believed afterwards is then bounded but for that "
    "probability: the logarithm of the odds rises by rho + 2 sqrt(rho ln(1 / delta)) at most. Over several "
    "releases rho adds up, so that this grows more slowly than their number."
)
WONDER = {
    "person": "Somebody wonders whether a certain person is in the data, or what is true of them, and has a "
    "belief already.",
    "group": "Somebody wonders about a certain group, and has a belief already.",
}
"""What may be found out of those who are protected."""

Floats = npt.NDArray[np.float64]


def write_page(
    advice: Advice,
    target: Path,
    *,
    source: str,
    settings: Mapping[str, Any] | None,
    progress: Progress,
) -> None:
    """Simulate what the page needs, and write it; an earlier one is replaced when the new one is complete."""
    landscape = explore(
        advice.stand_in,
        around=advice.epsilon,
        public_totals=advice.public_totals,
        planned=advice.neighbours,
        mechanism=advice.planned.mechanism,
        split=advice.planned.budget,
        delta=advice.delta,
        progress=progress,
    )
    given = list_settings(advice.stand_in) if settings is None else settings
    write_whole(target, draw_page(advice, landscape, source=source, settings=given).encode())


def draw_page(advice: Advice, landscape: Landscape, *, source: str, settings: Mapping[str, Any]) -> str:
    """Return the page."""
    root, words = advice.stand_in.hierarchy.regions(0)[0][0], find_words(settings)
    return build_page(
        "plan.html",
        {
            "title": tag("title", f"Choosing epsilon: {root[:100]}"),
            "root": name(words.title or root, 100),
            "source": tag("bdi", source),
            "facts": _list_origins(advice, landscape, words),
            "planned": _tabulate_plan(advice, words),
            "gaussian": tag("p", WITH_DELTA.format(show_exact(advice.delta))) if advice.delta else "",
            "sum_off": _name_sizes(advice, words),
            "data": embed_text(
                write_json(list_facts(advice, landscape, source=source, settings=settings)), "facts", "json"
            ),
        },
        styles=STYLES,
        scripts=SCRIPTS,
        home="tallytree.planning",
        reword=_find_speech(advice, words),
    )


def _find_speech(advice: Advice, words: Words) -> Callable[[str], str]:
    """Return how a text of ours is said in these words.

    Members are people where each adds one to the size of a group; else sizes count something that they have.
    """
    counts_people = advice.neighbours.bounds.max_quantity == 1
    return lambda text: words.name_people(words.say(text)) if counts_people else words.say(text)


def _name_sizes(advice: Advice, words: Words) -> str:
    """Return the name of what sizes add up to."""
    if words.member or advice.neighbours.bounds.max_quantity == 1:
        return words.name_people("People")
    return "Sum of sizes"


def _list_origins(advice: Advice, landscape: Landscape, words: Words) -> Html:
    stand_in = advice.stand_in
    regions = ", ".join(
        f"{count:,} at level {level!r}"
        for level, count in zip(stand_in.hierarchy.levels, stand_in.hierarchy.region_counts, strict=True)
    )
    groups = words.say("groups")
    times = "once" if landscape.runs == 1 else f"{landscape.runs} times"
    kinds = "; ".join(f"{each.mechanism}, {each.total} list of {groups}" for each in landscape.families)
    facts = [
        ("Regions", regions),
        ("Sizes", show_sizes(stand_in.sizes)),
        (words.say("Groups of the stand-in"), f"{stand_in.total:,}"),
        ("Simulated", f"up to {landscape.settings} settings, each {times}, of {kinds}"),
    ]
    return tag("dl", *(tag("div", tag("dt", a), tag("dd", b)) for a, b in facts), class_="source")


def _tabulate_plan(advice: Advice, words: Words) -> Html:
    """What is recommended, for those whose browser runs no script, and on paper."""
    planned = advice.planned
    return join(
        tag(
            "p",
            f"Planned: {planned.mechanism} at epsilon {show_exact(advice.epsilon)}, for the goal ",
            tag("bdi", str(advice.goal)),
            ". Simulated for this plan:",
        ),
        tabulate(
            "What the plan is expected to give",
            ["Level", "Regions", "Part of epsilon", "Error, mean of the regions", "L1 in all"],
            [
                [
                    level.level,
                    f"{level.regions:,}",
                    f"{planned.budget[level.level]} %",
                    f"{100 * level.relative:.2g} % of its {words.say('groups')}",
                    f"{level.l1:,.0f}",
                ]
                for level in planned.levels
            ],
        ),
    )


# The data of the page, for its script.


def list_facts(
    advice: Advice, landscape: Landscape, *, source: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the page knows: answers, risks, and the words of the settings."""
    stand_in, planned, words = advice.stand_in, advice.planned, find_words(settings)
    say = _find_speech(advice, words)
    levels = stand_in.hierarchy.levels
    epsilons = _list_epsilons(landscape.low, landscape.high, advice.epsilon)
    return {
        "root": stand_in.hierarchy.regions(0)[0][0],
        "total": stand_in.total,
        "levels": [
            {
                "name": level,
                "regions": stand_in.hierarchy.region_counts[index],
                "classes": [
                    {"name": kind.name, "count": len(kind.members), "least": kind.least, "most": kind.most}
                    for kind in landscape.places[index].classes
                ],
                "typical": [
                    _describe_typical(advice, index, typical) for typical in landscape.places[index].typical
                ],
            }
            for index, level in enumerate(levels)
        ],
        "epsilons": [_describe_epsilon(epsilon, advice.delta) for epsilon in epsilons],
        "delta": None
        if advice.delta is None
        else {"text": show_exact(advice.delta), "doubt": -math.log(advice.delta)},
        "planned": {
            "epsilon": epsilons.index(advice.epsilon),
            "split": [planned.budget[level] for level in levels],
            "protect": advice.neighbours.protect,
            "total": advice.neighbours.total,
            "mechanism": planned.mechanism,
        },
        "goal": {
            "text": str(advice.goal),
            "metric": advice.goal.metric,
            "level": levels.index(advice.goal.level) if advice.goal.level else None,
            "limit": advice.goal.limit if advice.goal.level else None,
            "limited": advice.goal.limited,
        },
        "words": {
            **{word: say(word) for word in ("groups", "Groups", "people")},
            "People": _name_sizes(advice, words),
            "size": words.size_axis if words.member else "Size",
            "wonder": {protect: say(text) for protect, text in WONDER.items()},
        },
        "families": [_describe_family(advice, landscape, family, say) for family in landscape.families],
        "columns": {"smooth": SMOOTH, "quantiles": _shorten(QUANTILES), "cells": CELLS, "signed": SIGNED},
        "noise": {
            "least": LEAST_VARIANCE,
            "far": math.log(MOST_RATIO),
            "large": LARGE_SCALE,
            "terms": TERMS,
            "isGaussian": advice.delta is not None,
            "within": WITHIN,
        },
        "beliefs": [float(belief) for belief in BELIEFS],
        "largeEpsilon": LARGE_EPSILON,
        "settings": _describe_settings(advice, settings),
        "source": source,
    }


def _list_epsilons(low: Fraction, high: Fraction, asked: Fraction) -> list[Fraction]:
    """List the epsilons that can be chosen, of which the one that was asked for is one."""
    first = math.floor(math.log10(low)) - 1
    decades = range(first, math.ceil(math.log10(high)) + 1)
    some = {step * Fraction(10) ** power for power in decades for step in STEPS}
    return sorted({asked, low, high, *(epsilon for epsilon in some if low < epsilon < high)})


def _describe_epsilon(epsilon: Fraction, delta: Fraction | None) -> dict[str, Any]:
    """Return an epsilon and the loss that the levels share: itself or, with a delta, its rho."""
    loss = epsilon if delta is None else find_rho(epsilon, delta)
    return {"text": show_exact(epsilon), "value": float(epsilon), "loss": float(loss)}


def _describe_typical(advice: Advice, level: int, typical: Typical) -> dict[str, Any]:
    path = advice.stand_in.hierarchy.regions(level)[typical.region]
    return {
        "kind": typical.name,
        "name": path[-1],
        "groups": list(typical.groups),
        "bars": _name_bars(advice.stand_in.sizes, typical.starts),
    }


def _name_bars(sizes: Sizes, starts: tuple[int, ...]) -> list[str]:
    """Name the bars by the sizes that they hold; the last also holds all that are larger."""
    ends = [*(start - 1 for start in starts[1:]), starts[-1]]
    names = [
        name_size(sizes, start) if start == end else f"{name_size(sizes, start)}-{name_size(sizes, end)}"
        for start, end in zip(starts, ends, strict=True)
    ]
    return [*names[:-1], f"{names[-1].removesuffix('+')}+"]


def _describe_family(
    advice: Advice, landscape: Landscape, family: Family, say: Callable[[str], str]
) -> dict[str, Any]:
    return {
        "mechanism": family.mechanism,
        "total": family.total,
        "sensitivities": family.sensitivities,
        "groups": {
            protect: [
                {"name": say(words), "times": times} for words, times in _list_losses(advice, family, protect)
            ]
            for protect in family.sensitivities
        },
        "levels": [
            _describe_surfaces(surfaces, here)
            for surfaces, here in zip(family.levels, landscape.places, strict=True)
        ],
    }


def _list_losses(advice: Advice, family: Family, protect: Protected) -> list[tuple[str, float]]:
    """List who might be looked for, and how many times the loss says how much is given away of them.

    For two together it is twice the epsilon, or four times the rho (Bun and Steinke, 2016, proposition 1.9).
    """
    plan = _plan_one(advice, family, protect)
    double = 2.0 if advice.delta is None else 4.0
    if protect == "group":
        # One that changes its size is one less and one more, which changes two answers of the sizes query.
        is_double = family.total == "private" and plan.levels[0].query == "sizes"
        another = [("another size of one group", 2.0)] if is_double else []
        return [("one whole group", 1.0), *another, ("two groups together", double)]
    whole = sum((level.loss for level in plan.levels), Fraction(0))
    return [
        ("one person", 1.0),
        ("two people together", double),
        *((f"a whole group of size {size}", float(loss / whole)) for size, loss in list_group_losses(plan)),
    ]


def _plan_one(advice: Advice, family: Family, protect: Protected) -> Plan:
    """A plan at epsilon 1."""
    budget = Budget(
        epsilon=1,
        delta=advice.delta,
        public_totals=advice.public_totals,
        protect=protect,
        total=family.total,
    )
    stand_in = advice.stand_in
    return find_mechanism(family.mechanism).plan_within(
        budget,
        stand_in.hierarchy,
        sizes=stand_in.sizes,
        bounds=stand_in.bounds if protect == "person" else Bounds(),
    )


def _describe_surfaces(surfaces: LevelSurfaces, here: Places) -> dict[str, Any]:
    return {
        "smooth": _describe_surface(surfaces.smooth),
        "floors": _shorten(surfaces.floors),
        "rough": _describe_surface(surfaces.rough),
        "roughFloors": _shorten(surfaces.rough_floors),
        "raised": _shorten(surfaces.raised),
        "bars": [len(typical.starts) for typical in here.typical],
    }


def _describe_surface(surface: Surface) -> dict[str, Any]:
    return {
        "kinds": surface.kinds.tolist(),
        "reaches": _shorten(surface.reaches),
        "points": _shorten(surface.points),
        "coefficients": _shorten(surface.coefficients),
    }


def _shorten(values: Floats) -> Any:
    """Return the numbers for JSON, in as many digits as can be seen."""
    if values.ndim > 1:
        return [_shorten(row) for row in values]
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def _describe_settings(advice: Advice, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words of the settings, which the page completes by what is chosen on it."""
    levels = advice.stand_in.hierarchy.levels
    kinds = advice.neighbours
    bounds = state_bounds(kinds) if kinds.bounds != Bounds() else {}
    totals = {} if advice.public_totals is None else {"public_totals": advice.public_totals}
    noise = {} if advice.delta is None else {"delta": show_exact(advice.delta)}
    can_flag = not any(set(level) & set("=,") or level != level.strip() for level in levels)
    return {
        "head": [*HEAD, *(write_line(*each) for each in settings.items())],
        "public": [write_line(*each) for each in {**noise, **totals}.items()],
        "bounds": [write_line(*each) for each in bounds.items()],
        "levels": [write_value(level) for level in levels],
        "command": shlex.join(["tallytree", "release", *list_flags({**settings, **noise, **totals})]),
        "commandBounds": shlex.join(list_flags({"source": "", **bounds})[1:]),
        "budget": [shlex.quote(level) for level in levels] if can_flag else None,
        "defaults": _list_defaults(advice),
    }


def _list_defaults(advice: Advice) -> dict[str, str]:
    """Return the mechanism to begin with, for each unit and kind of total."""
    found = {}
    for protect in PROTECTED:
        for total in TOTALS:
            kinds = Neighbours(
                protect=protect,
                total=total,
                bounds=advice.neighbours.bounds if protect == advice.neighbours.protect else Bounds(),
            )
            found[f"{protect} {total}"] = find_default(kinds, advice.stand_in.sizes)
    found[f"{advice.neighbours.protect} {advice.neighbours.total}"] = advice.planned.mechanism
    return found
