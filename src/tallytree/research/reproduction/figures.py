"""The paper's figures, from what was measured."""

from collections.abc import Iterator, Sequence

from tallytree.drawing.charts import Curve, Key, Mark, Panel, draw, draw_dots
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cyclic_laplace import CyclicLaplace
from tallytree.research.reproduction.document import Figure, Table, number, seconds, with_deviation
from tallytree.research.reproduction.paper_figures import (
    CHAIN,
    CHAIN_TABLES,
    Figures,
    Variant,
    find_figures,
    find_variants,
)
from tallytree.research.reproduction.run_results import Missing, Result, Summary, rank, select
from tallytree.research.reproduction.study import Report, Series

# The tables: the paper's main table with our figures beside it, EMD, rankings, times.

PUBLIC = "¹"
"""Marks mechanisms that know every region's number of groups."""


def write_errors(summary: Summary, epsilons: Sequence[str]) -> Table:
    """Write L1 per level and violations, the paper's figures beside ours, with the true epsilon."""
    levels = summary.dataset.facts.levels
    published = bool(summary.dataset.published)
    header = ["epsilon", "mechanism", *(["paper"] if published else []), "true epsilon", "runs"]
    for level in levels:
        header += [f"L1, {level}", *(["paper"] if published else [])]
    header += ["violations", *(["paper"] if published else [])]
    variants = find_variants(
        [result.label for result in summary.results] + [one.variant.label for one in summary.missing]
    )
    rows = [
        row
        for epsilon in epsilons
        for variant in variants
        if (row := _write_line(summary, variant, epsilon, published=published))
    ]
    return Table(header, rows, left=3 if published else 2)


def _write_line(summary: Summary, variant: Variant, epsilon: str, *, published: bool) -> list[str] | None:
    """Write a line; a mechanism without results here has one only if the paper has figures for it."""
    result = summary.find(variant.label, epsilon)
    figures = find_figures(variant, epsilon, summary.dataset.published)
    missing = summary.find_missing(variant.label, epsilon)
    levels = range(len(summary.dataset.facts.levels))
    if result and "solver" not in variant.options:
        row = [epsilon, name(result), write_real_epsilon(result), str(result.total.runs)]
        errors = [with_deviation(result.l1[place]) for place in levels]
        broken = number(result.violations.mean) if result.violations.mean else "0"
    elif figures and missing:
        row = [epsilon, f"`{variant.label}`", "", "0"]
        errors = [_give_up(missing) for _ in levels]
        broken = ""
    else:
        return None
    if not published:
        return [*row, *errors, broken]
    row.insert(2, variant.make().symbol if figures else "")
    for place in levels:
        row += [errors[place], _write(figures, place)]
    return [*row, broken, f"{figures.violations:,}" if figures else ""]


def _give_up(missing: Missing) -> str:
    return f"> {missing.limit:.0f} s" if missing.timed_out else "cannot"


def write_distances(summary: Summary, epsilons: Sequence[str]) -> Table:
    """Write EMD per level, and how much of the last level's L1 error is in small sizes."""
    facts = summary.dataset.facts
    header = [
        "epsilon", "mechanism", *(f"EMD, {level}" for level in facts.levels),
        f"L1, {facts.levels[-1]}, sizes up to {facts.small:,}", f"of L1, {facts.levels[-1]}",
    ]  # fmt: skip
    rows = [
        [
            epsilon,
            name(result),
            *map(with_deviation, result.emd),
            with_deviation(result.small_leaf),
            f"{100 * result.small_share:.0f} %",
        ]
        for epsilon in epsilons
        for result in select(summary.results, epsilon)
    ]
    return Table(header, rows, left=2)


def write_ranking(summary: Summary, epsilons: Sequence[str]) -> Table:
    """Write the ranking by total L1 error, with the rank in the paper."""
    published = bool(summary.dataset.published)
    header = ["epsilon", "place", "mechanism", "total L1", "true epsilon"]
    header += ["place in the paper", "paper: total L1"] if published else []
    rows = [row for epsilon in epsilons for row in _list_places(summary, epsilon, published=published)]
    return Table(header, rows, left=3)


def _list_places(summary: Summary, epsilon: str, *, published: bool) -> Iterator[list[str]]:
    totals = sorted(figures.total for figures in summary.dataset.published.get(epsilon, {}).values())
    for place, result in enumerate(rank(select(summary.results, epsilon)), start=1):
        row = [epsilon, str(place), name(result), with_deviation(result.total), write_real_epsilon(result)]
        yield row + (_write_place(result.paper, totals) if published else [])
    for missing in summary.missing:
        figures = find_figures(missing.variant, epsilon, summary.dataset.published)
        if figures and epsilon in missing.epsilons:
            row = [epsilon, "", f"`{missing.variant.label}`", "not measured", ""]
            yield row + _write_place(figures, totals)


def write_seconds(summary: Summary, epsilons: Sequence[str]) -> Table:
    """Write the seconds of each mechanism's post-processing, or why there are none."""
    labels = [result.label for result in summary.timed] + [one.variant.label for one in summary.missing]
    rows = [
        [f"`{variant.label}`", *(_write_time(summary, variant.label, epsilon) for epsilon in epsilons)]
        for variant in find_variants(labels)
    ]
    return Table(["mechanism", *(f"epsilon {epsilon}" for epsilon in epsilons)], rows)


def _write_time(summary: Summary, label: str, epsilon: str) -> str:
    if result := summary.find(label, epsilon):
        deviation = f" ± {seconds(result.seconds.deviation)}" if result.seconds.runs > 1 else ""
        return f"{seconds(result.seconds.mean)}{deviation}"
    missing = summary.find_missing(label, epsilon)
    return _give_up(missing) if missing else ""


def write_series(series: Sequence[Series], sizes: Sequence[int]) -> Table:
    """Write the numbers of the first figure."""
    rows = []
    for each in series:
        cells = {size: seconds(found) for size, found in each.seconds.items()}
        if each.stop:
            cells[each.stop.sizes] = f"> {each.stop.limit:.0f} s" if each.stop.failure.timed_out else "cannot"
        symbol = each.variant.make().symbol
        rows.append([f"`{each.variant.label}`", symbol, *(cells.get(size, "") for size in sizes)])
    return Table(["mechanism", "in the paper", *(f"N = {size}" for size in sizes)], rows, left=2)


def name(result: Result) -> str:
    """Return the mechanism's name, marked where its privacy is not comparable."""
    return f"`{result.label}`{PUBLIC if result.is_told_more else ''}"


def write_real_epsilon(result: Result) -> str:
    """Write the real epsilon, in bold where it is not the requested one."""
    return result.epsilon if result.is_private else f"**{float(result.real_epsilon):,.1f}**"


def _write(figures: Figures | None, place: int) -> str:
    return f"{figures.l1[place]:,.{figures.decimals}f}" if figures else ""


def _write_place(figures: Figures | None, totals: Sequence[float]) -> list[str]:
    return [str(totals.index(figures.total) + 1), number(figures.total)] if figures else ["", ""]


SECONDS = (" ms", " s", " ks", " Ms", " Gs")
SIGNS = (
    "† The noise is too small for the stated epsilon: the true one is in the table. ¹ It is told every "
    "region's number of groups."
)
SIGN_OF = {
    **{each.label: " †" for each in (CHAIN["published"], CHAIN_TABLES)},
    **{each.name: " ¹" for each in (CountOfCounts, CyclicLaplace)},
}
GROUPS = ("", "k", "M", "G", "T")
"""Names of units: errors are in thousands, so that a thousandth is one group."""


def draw_scalability(report: Report) -> Figure:
    """Draw runtime against N, with a logarithmic time axis; a cross where a mechanism was given up."""
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
    """Draw runtimes by mechanism and epsilon, a panel for each dataset."""
    panels = [
        Panel(f"{summary.dataset.title}: time", _mark_times(summary, report.settings.epsilons))
        for summary in report.summaries
    ]
    return Figure(
        "runtime",
        _draw_dots("Runtime by mechanism and epsilon", panels, report.settings.epsilons, SECONDS),
        "The paper's figure *The Runtime for the mechanisms*: the post-processing, mean and standard "
        "deviation, logarithmic. A cross is where a mechanism was given up; one that refused the problem "
        "as too large has no mark. The paper's own times are in its picture only.",
    )


def draw_totals(report: Report) -> Figure:
    """Draw the total L1 error by mechanism and epsilon, a panel for each dataset."""
    panels = [
        Panel(f"{summary.dataset.title}: L1, all levels", _mark_totals(summary, report.settings.epsilons))
        for summary in report.summaries
    ]
    return Figure(
        "l1",
        _draw_dots("Total L1 error by mechanism and epsilon", panels, report.settings.epsilons, GROUPS),
        "The paper's figure *The L1 errors for the algorithms*: the sum over all levels, mean and standard "
        f"deviation, logarithmic. A diamond is the sum of the paper's figures in its table. {SIGNS}",
    )


def draw_levels(summary: Summary, epsilons: Sequence[str]) -> Figure:
    """Draw the L1 error by mechanism and epsilon, a panel for each level."""
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
        _draw_dots(title, panels, epsilons, GROUPS),
        f"{title}. Mean and standard deviation, logarithmic; a diamond is the paper's figure, where it is "
        f"not 0. {SIGNS}",
    )


def _draw_dots(title: str, panels: Sequence[Panel], epsilons: Sequence[str], units: Sequence[str]) -> str:
    """Draw a row for each mechanism, with its signs, and in it a line for each epsilon."""
    labels = [
        variant.label for variant in find_variants(mark.row for panel in panels for mark in panel.marks)
    ]
    rows = {label: label + SIGN_OF.get(label, "") for label in labels}
    series = {epsilon: f"epsilon {epsilon}" for epsilon in epsilons}
    return draw_dots(title, panels, Key(rows, series, "in the paper", units))


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
        Mark(missing.variant.label, epsilon, None, reference=figures.total)
        for missing in summary.missing
        for epsilon in missing.epsilons
        if epsilon in epsilons
        if (figures := find_figures(missing.variant, epsilon, summary.dataset.published))
    ]
    return ours + only_theirs
