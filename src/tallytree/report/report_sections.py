"""The static parts of the page: they need no script, and print as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tallytree.ledger.receipts import read_receipt
from tallytree.markup import Html, join, name, tag
from tallytree.privacy.accuracy import LevelAccuracy, find_accuracy
from tallytree.privacy.budget import show_exact, show_short
from tallytree.privacy.plan import Plan
from tallytree.releases.flags import FLAGS, round_to_interval
from tallytree.releases.released import Released
from tallytree.releases.statement import (
    ENFORCED,
    describe_adjustment,
    describe_budget,
    describe_epsilon,
    describe_groups,
    describe_protection,
    describe_release,
    describe_safety,
    list_group_epsilons,
    list_public_facts,
    warn_of_epsilon,
)
from tallytree.releases.usefulness import warn_of_noise
from tallytree.report.report_content import PackedLevel
from tallytree.sizes import SizeClasses, count_sizes, get_ends
from tallytree.solvers.checks import Check, Verification

BAR = 1000
"""The width of the charts, in their own units."""


def write_lead(release: Released, verification: Verification) -> Html:
    """Write what was released, in a paragraph, and what is wrong with it, if anything."""
    plan, say = release.measurements.plan, release.words.say
    warning = warn_of_epsilon(plan.epsilon)
    return join(
        tag("p", say(describe_release(plan, _tell_total(release)[0])), class_="lead"),
        *([] if verification else [_warn()]),
        *_warn_of_levels(release),
        *([tag("p", warning, class_="failed banner")] if warning else []),
    )


def _tell_total(release: Released) -> tuple[str, str]:
    """Return the number of groups, with the digits that are known, and what it is."""
    if release.measurements.plan.has_public_total:
        return f"{release.total:,}", "the public total, exact"
    bounds = None if release.intervals is None else release.intervals.summaries[0]
    if bounds is None or "groups" not in bounds.names:
        return f"{release.total:,}", "an estimate"
    place = bounds.names.index("groups")
    shown = round_to_interval(release.total, *(float(ends[0, place]) for ends in (bounds.low, bounds.high)))
    return shown.value, f"an estimate: {shown.low} to {shown.high}"


def _warn_of_levels(release: Released) -> list[Html]:
    """Warn of levels whose counts are mostly noise; without intervals, of noise above the public total."""
    levels = [level.level for level in release.usefulness if level.verdict == "noise"]
    if release.usefulness and not levels:
        return []
    if levels:
        said: list[Html | str] = [
            tag("strong", "Mostly noise: "),
            f"the counts of level{'s'[: len(levels) > 1]} ",
            *_list_names(levels),
            ". Do not rely on them one by one: ",
            tag("a", "how useful each level is", href="#accuracy"),
            ".",
        ]
    else:
        drowned = warn_of_noise(release.measurements.plan, release.total)
        said = [release.words.say(drowned)] if drowned else []
    return [tag("p", *said, class_="failed banner")] if said else []


def _list_names(names: Sequence[str]) -> list[Html | str]:
    """Return names with commas between them, and 'and' before the last one."""
    between = ["", *[", "] * (len(names) - 2), " and "][: len(names)]
    return [piece for comma, each in zip(between, names, strict=True) for piece in (comma, name(each, 60))]


def write_figures(release: Released, verification: Verification) -> Html:
    """Write the release in a few figures."""
    plan, say = release.measurements.plan, release.words.say
    regions = sum(plan.shape(index)[0] for index in range(len(plan.levels)))
    low, high = get_ends(release.sizes)
    passed = sum(check.passed for check in verification.checks)
    figures = [
        (say("Groups"), *_tell_total(release)),
        ("Regions", f"{regions:,}", f"on {len(plan.levels)} level{'s'[: len(plan.levels) > 1]}"),
        (
            ("Classes", f"{count_sizes(plan.sizes)}", f"of sizes, from {low:,} to {high:,} and more")
            if isinstance(plan.sizes, SizeClasses)
            else ("Sizes", f"{low:,} to {high:,}", say(f"larger groups count at {high:,}"))
        ),
        ("Epsilon", show_short(plan.epsilon), describe_epsilon(plan)),
        *_judge_levels(release),
        (
            "Checks",
            f"{passed} of {len(verification.checks)}",
            _describe_checks(verification),
        ),
    ]
    return tag(
        "dl",
        *(
            tag("div", tag("dt", what), tag("dd", tag("b", value), " ", tag("span", note)))
            for what, value, note in figures
        ),
        class_="figures",
    )


def _judge_levels(release: Released) -> list[tuple[str, str, str]]:
    """Return the worst verdict on a level, and how many levels have it; nothing without intervals."""
    verdicts = [level.verdict for level in release.usefulness]
    if not verdicts:
        return []
    worst = max(verdicts, key=list(FLAGS).index)
    many = f"the counts of {verdicts.count(worst)} of {len(verdicts)} levels"
    return [("Usefulness", FLAGS[worst], "the counts of all levels" if len(set(verdicts)) == 1 else many)]


def _describe_checks(verification: Verification) -> str:
    failed, skipped = sum(check.failed for check in verification.checks), len(verification.skipped)
    if failed:
        return f"passed: {failed} FAILED, see below"
    return f"passed; {skipped} not made, see below" if skipped else "passed"


def _warn() -> Html:
    return tag(
        "p",
        tag("strong", "This release failed its checks."),
        " Do not rely on these counts.",
        class_="failed banner",
    )


def write_privacy(release: Released) -> Html:
    """Write who is protected, how strongly, and at what cost at each level."""
    plan, manifest, say = release.measurements.plan, release.manifest, release.words.say
    has_frame = manifest["data"].get("frame")
    frame = has_frame if isinstance(has_frame, bool) else None
    receipt = read_receipt(manifest)
    privacy = manifest["privacy"]
    enforced = privacy.get("bounds") == ENFORCED
    assumed = privacy.get("assumed")
    notes = [str(note) for note in assumed] if isinstance(assumed, list) else []
    words = [
        tag("h3", "For whom it is safe"),
        *(tag("p", say(text)) for text in describe_safety(plan)),
        *_tabulate_whole_groups(plan, say),
        tag("h3", "What it does not hide"),
        tag("p", "These facts are taken as known to everyone, and are not protected:"),
        tag("ul", *(tag("li", say(fact)) for fact in list_public_facts(plan, release.total))),
        tag("p", say(describe_groups(plan, frame, enforced))),
        *([tag("h3", "Notes"), tag("ul", *(tag("li", note) for note in notes))] if notes else []),
    ]
    numbers = [
        tag("h3", "How the budget is spent"),
        tag("p", describe_budget(plan)),
        draw_budget(plan),
        _tabulate_budget(plan),
        tag("h3", "The statement, word for word"),
        tag("blockquote", tag("p", say(describe_protection(plan, has_frame=frame, enforced=enforced)))),
        tag("p", str(privacy.get("ledger")) if receipt is None else receipt.describe(), class_="quiet"),
    ]
    return tag("div", tag("div", *words), tag("div", *numbers), class_="columns")


def _tabulate_whole_groups(plan: Plan, say: Callable[[str], str]) -> list[Html]:
    """What a release for persons gives whole groups; nothing where groups are what is protected."""
    found = list_group_epsilons(plan)
    if not found:
        return []
    event = "of which size a group is" if plan.has_public_total else "whether a group exists, and its size"
    at = "" if plan.delta is None else f" at delta = {show_short(plan.delta)}"
    return [
        tabulate(
            say(f"The epsilon{at} that hides {event}"),
            [say("Size of the group, up to"), "Epsilon"],
            [[size, show_short(epsilon)] for size, epsilon in found],
        )
    ]


def draw_budget(plan: Plan) -> Html:
    """Draw the levels' parts of the budget, as one bar."""
    whole = sum((level.loss for level in plan.levels), plan.levels[0].loss * 0)
    parts, start = [], 0.0
    for index, level in enumerate(plan.levels):
        share = float(level.loss / whole)
        width = max(share * BAR - 3, 1)
        parts.append(
            tag(
                "rect",
                x=f"{start:.1f}",
                y=0,
                width=f"{width:.1f}",
                height=44,
                class_=f"part part-{index % 4}",
            )
        )
        start += share * BAR
    spoken = ", ".join(
        f"{float(level.loss / whole):.0%} at level {level.name[:200]}" for level in plan.levels
    )
    return tag(
        "figure",
        tag(
            "svg",
            *parts,
            viewBox=f"0 0 {BAR} 44",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"The budget by level: {spoken}",
            class_="budget",
        ),
        tag(
            "figcaption",
            *(
                tag(
                    "span",
                    tag("i", class_=f"key part-{index % 4}"),
                    name(level.name, 60),
                    tag("b", f" {float(level.loss / whole):.0%}"),
                    class_="legend",
                )
                for index, level in enumerate(plan.levels)
            ),
        ),
    )


def _tabulate_budget(plan: Plan) -> Html:
    unit = plan.unit.name
    return tabulate(
        f"The budget of each level, in {unit}, and the noise that it buys",
        ["Level", "Regions", unit.capitalize(), "Sensitivity", "Noise scale"],
        [
            [
                name(level.name),
                f"{plan.shape(index)[0]:,}",
                show_short(level.loss),
                show_exact(level.sensitivity),
                show_short(level.scale),
            ]
            for index, level in enumerate(plan.levels)
        ],
    )


def write_accuracy(release: Released, packed: Sequence[PackedLevel]) -> Html:
    """Write the noise of each level, beside the size of its regions."""
    plan, say = release.measurements.plan, release.words.say
    found = find_accuracy(plan)
    mechanism = str(_read(release.manifest, "mechanism", "name"))
    typical = [float(np.median(level.groups)) for level in packed]
    rows = [
        [
            name(level.name),
            say(level.answer),
            _show_deviation(level),
            f"±\N{NO-BREAK SPACE}{level.reach:,}",
            f"about {float(f'{typical[index]:.2g}'):,.0f}" if index < len(typical) else "not on this page",
        ]
        for index, level in enumerate(found)
    ]
    words = [
        tag(
            "p",
            "Every measured count carries noise of a size that is known in advance and is the same for "
            "small and large regions: a count of a million is off by about as much as a count of ten. "
            "Very small counts should not be relied on one by one.",
        ),
        *_write_usefulness(release),
        tag("p", describe_adjustment(mechanism)),
    ]
    numbers = [
        _draw_deviations(
            found, say("Standard deviation of the noise of one measured count, in groups, by level")
        ),
        tabulate(
            "The noise of one measured count",
            [
                "Level",
                "What was measured",
                "Standard deviation",
                "95 % within",
                say("Groups, typical region"),
            ],
            rows,
            left=2,
        ),
    ]
    return tag("div", tag("div", *words), tag("div", *numbers), class_="columns")


def _show_deviation(level: LevelAccuracy) -> str:
    return f"{level.deviation:,.3g}" if level.deviation < 1000 else f"{level.deviation:,.0f}"


def _write_usefulness(release: Released) -> list[Html]:
    """Write how useful the numbers of each level are, if that is known."""
    if not release.usefulness:
        return []
    levels = [
        tag("li", tag("b", name(level.level)), ": ", release.words.say(level.describe()))
        for level in release.usefulness
    ]
    return [tag("p", "How useful the released numbers are, by level:"), tag("ul", *levels)]


def _draw_deviations(found: Sequence[LevelAccuracy], caption: str) -> Html:
    most = max(level.deviation for level in found) or 1.0
    rows = [
        tag(
            "div",
            tag("span", name(level.name, 60), class_="what"),
            tag(
                "svg",
                tag(
                    "rect",
                    x=0,
                    y=0,
                    width=f"{max(BAR * level.deviation / most, 2):.1f}",
                    height=20,
                    class_="amount",
                ),
                viewBox=f"0 0 {BAR} 20",
                preserveAspectRatio="none",
                aria_hidden="true",
            ),
            tag("span", f"±\N{NO-BREAK SPACE}{_show_deviation(level)}", class_="much"),
            class_="row",
        )
        for level in found
    ]
    return tag(
        "figure",
        tag("div", *rows, class_="deviations"),
        tag("figcaption", caption),
    )


def write_checks(verification: Verification) -> Html:
    """Write each condition and whether it holds."""
    return join(
        tag(
            "p",
            "Every check below was recomputed from the release files when this page was written, except "
            "those marked 'not made'. Repeating the whole computation takes longer: ",
            tag("code", "tallytree verify"),
            " on the folder does that as well.",
        ),
        tag("ul", *map(_write_check, verification.checks), class_="checks"),
    )


def _write_check(check: Check) -> Html:
    often = "once" if check.violations == 1 else f"{check.violations:,} times"
    times = f" Violated {often}, for example: {check.example}." if check.failed else ""
    outcome = "Failed" if check.failed else "Passed" if check.made else "Not made"
    return tag(
        "li",
        tag("span", outcome, class_="mark"),
        tag("b", check.name[:1].upper() + check.name[1:]),
        tag("span", check.statement[:1].upper() + check.statement[1:] + "." + times),
        class_=outcome.lower().replace(" ", "-"),
    )


def write_source(release: Released) -> Html:
    """Write where the numbers come from."""
    manifest = release.manifest
    files = manifest.get("files")
    facts = [
        ("Made", str(manifest.get("created", "not known"))),
        ("Method", str(_read(manifest, "mechanism", "name"))),
        ("Noise", str(_read(manifest, "privacy", "noise"))),
        ("Software", f"tallytree {_read(manifest, 'software', 'tallytree')}"),
        *(
            (f"SHA-256 of {str(file)[:80]}", str(digest)[:80])
            for file, digest in (files.items() if isinstance(files, dict) else ())
        ),
    ]
    return join(
        tag(
            "p",
            "This page was made from the files of the release and holds nothing beyond them. It is derived "
            "from them, so the manifest does not list its hash: ",
            tag("code", "tallytree report"),
            " on the folder makes it again.",
        ),
        tag("dl", *(tag("div", tag("dt", a), tag("dd", b)) for a, b in facts), class_="source"),
    )


def tabulate(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Html:
    """Write a table whose first column names the row; the first ``left`` columns are text."""
    head = [
        tag("th", column, scope="col", class_="text" if index < left else "number")
        for index, column in enumerate(columns)
    ]
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", cell, class_="text" if index < left else "number")
                for index, cell in enumerate(row[1:], start=1)
            ),
        )
        for row in rows
    ]
    return tag(
        "div",
        tag("table", tag("caption", caption), tag("thead", tag("tr", *head)), tag("tbody", *body)),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def _read(manifest: Mapping[str, Any], part: str, key: str) -> Any:
    facts = manifest.get(part)
    return facts.get(key, "not known") if isinstance(facts, dict) else "not known"
