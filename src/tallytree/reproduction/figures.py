"""The paper's figures, from what was measured."""

from collections.abc import Sequence

from tallytree.reproduction.curves import Curve, draw
from tallytree.reproduction.document import Figure
from tallytree.reproduction.dots import Mark, Panel, draw_dots
from tallytree.reproduction.published import find_figures
from tallytree.reproduction.report import Report
from tallytree.reproduction.results import Summary

SECONDS = (" ms", " s", " ks", " Ms", " Gs")
SIGNS = (
    "† The noise is too small for the stated epsilon: the true one is in the table. ¹ It is told every "
    "region's number of groups."
)
GROUPS = ("", "k", "M", "G", "T")
"""Errors are in thousands: a thousandth of that is one group."""


def draw_scalability(report: Report) -> Figure:
    """Runtime against N, time logarithmic; a cross where a mechanism was given up."""
    curves = []
    limit = report.synthetic_limit
    for series in report.list_series():
        points = [(float(size), found) for size, found in series.seconds.items()]
        stop = series.stop
        if stop and stop.failure.timed_out:
            name = f"{series.variant.label}, none at {stop.sizes}"
            curves.append(Curve(name, points, given_up=(stop.sizes, stop.limit)))
        elif points:
            curves.append(Curve(series.variant.label, points))
    return Figure(
        "scalability",
        draw(curves, "N, the number of sizes", linear=True, limit=limit),
        "The paper's figure *Runtime at varying of the number of group sizes N*: seconds of the "
        "post-processing, logarithmic, on the synthetic data. A cross is a mechanism that was given up "
        "there.",
    )


def draw_runtimes(report: Report) -> Figure:
    """By mechanism and epsilon, a panel for each dataset."""
    panels = [
        Panel(f"{summary.dataset.title}: time", _mark_times(summary, report.settings.epsilons))
        for summary in report.summaries
    ]
    return Figure(
        "runtime",
        draw_dots("Runtime by mechanism and epsilon", panels, report.settings.epsilons, SECONDS),
        "The paper's figure *The Runtime for the mechanisms*: the post-processing, mean and standard "
        "deviation, logarithmic. A cross is where a mechanism was given up; one that refused the problem "
        "as too large has no mark. The paper's own times are in its picture only.",
    )


def draw_totals(report: Report) -> Figure:
    """Total L1 error by mechanism and epsilon, a panel for each dataset."""
    panels = [
        Panel(f"{summary.dataset.title}: L1, all levels", _mark_totals(summary, report.settings.epsilons))
        for summary in report.summaries
    ]
    return Figure(
        "l1",
        draw_dots("Total L1 error by mechanism and epsilon", panels, report.settings.epsilons, GROUPS),
        "The paper's figure *The L1 errors for the algorithms*: the sum over all levels, mean and standard "
        f"deviation, logarithmic. A diamond is the sum of the paper's figures in its table. {SIGNS}",
    )


def draw_levels(summary: Summary, epsilons: Sequence[str]) -> Figure:
    """L1 error by mechanism and epsilon, a panel for each level."""
    panels = [
        Panel(
            f"L1, {level}",
            [
                Mark(
                    result.label,
                    result.epsilon,
                    result.l1[place].mean,
                    result.l1[place].deviation,
                    result.paper.l1[place] if result.paper else None,
                )
                for result in summary.results
            ],
        )
        for place, level in enumerate(summary.dataset.facts.levels)
    ]
    title = f"L1 error by mechanism, level and epsilon: {summary.dataset.title}"
    return Figure(
        f"levels-{summary.dataset.name}",
        draw_dots(title, panels, epsilons, GROUPS),
        f"{title}. Mean and standard deviation, logarithmic; a diamond is the paper's figure, where it is "
        f"not 0. {SIGNS}",
    )


def _mark_times(summary: Summary, epsilons: Sequence[str]) -> list[Mark]:
    done = [
        Mark(result.label, result.epsilon, result.seconds.mean, result.seconds.deviation)
        for result in summary.timed
    ]
    given_up = [
        Mark(missing.variant.label, epsilon, None, limit=missing.limit if missing.timed_out else None)
        for missing in summary.missing
        for epsilon in missing.epsilons
        if epsilon in epsilons
    ]
    return done + given_up


def _mark_totals(summary: Summary, epsilons: Sequence[str]) -> list[Mark]:
    ours = [
        Mark(
            result.label,
            result.epsilon,
            result.total.mean,
            result.total.deviation,
            result.paper.total if result.paper else None,
        )
        for result in summary.results
    ]
    only_theirs = [
        Mark(missing.variant.label, epsilon, None, paper=figures.total)
        for missing in summary.missing
        for epsilon in missing.epsilons
        if epsilon in epsilons
        if (figures := find_figures(missing.variant, epsilon, summary.dataset.published))
    ]
    return ours + only_theirs
