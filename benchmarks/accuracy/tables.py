"""The tables of one epsilon. Columns of the paper are there only if it has figures on the same data."""

from collections.abc import Iterator, Sequence

from benchmarks.accuracy.contenders import find_figures
from benchmarks.accuracy.published import Figures
from benchmarks.accuracy.report import Report
from benchmarks.accuracy.results import Result, rank, select
from benchmarks.accuracy.wording import number, with_deviation
from benchmarks.markdown import write_table


def write_epsilon(report: Report, epsilon: str) -> str:
    """L1 errors, EMD and the ranking; nothing if nothing was measured."""
    results = select(report.results, epsilon)
    if not results:
        return ""
    return f"""## Epsilon {epsilon}

{_write_errors(report, results)}

{_write_distances(report, results)}

### Ranking at epsilon {epsilon}, by total L1 error

{_write_ranking(report, epsilon)}"""


def _write_errors(report: Report, results: Sequence[Result]) -> str:
    levels = report.levels
    header = ["mechanism", "real epsilon", "seeds", *(f"L1, {level}" for level in levels), "violations"]
    rows = [
        [
            f"`{result.label}`",
            _write_real_epsilon(result),
            str(result.total.runs),
            *map(with_deviation, result.l1),
            number(result.violations.mean) if result.violations.mean else "0",
        ]
        for result in results
    ]
    if report.published:
        header += ["in the paper", *(f"paper: {level}" for level in levels), "paper: violations"]
        for row, result in zip(rows, results, strict=True):
            row += _write_paper(result, len(levels))
    return write_table(header, rows)


def _write_paper(result: Result, levels: int) -> list[str]:
    paper = result.paper
    if not paper:
        return [""] * (levels + 2)
    return [result.variant.make().symbol, *map(str, paper.l1), f"{paper.violations:,}"]


def _write_distances(report: Report, results: Sequence[Result]) -> str:
    levels = report.levels
    header = ["mechanism", *(f"EMD, {level}" for level in levels)]
    rows = [[f"`{result.label}`", *map(with_deviation, result.emd)] for result in results]
    if report.published:
        header += [f"L1, {levels[-1]}, sizes 1 to 7", f"paper: L1, {levels[-1]}, all sizes"]
        for row, result in zip(rows, results, strict=True):
            row += [with_deviation(result.leaf_to_seven), str(result.paper.l1[-1]) if result.paper else ""]
    return write_table(header, rows)


def _write_ranking(report: Report, epsilon: str) -> str:
    header = ["place", "mechanism", "total L1", "real epsilon"]
    if report.published:
        header += ["place in the paper", "paper: total L1"]
    return write_table(header, _list_places(report, epsilon))


def _list_places(report: Report, epsilon: str) -> Iterator[Sequence[str]]:
    """The mechanisms of the paper that were not measured come last, with their place in the paper."""
    published = sorted(figures.total for figures in report.published.get(epsilon, {}).values())
    for place, result in enumerate(rank(select(report.results, epsilon)), start=1):
        row = [str(place), f"`{result.label}`", with_deviation(result.total), _write_real_epsilon(result)]
        yield row + (_write_place(result.paper, published) if report.published else [])
    for missing in report.missing:
        figures = find_figures(missing.variant, epsilon, report.published)
        if figures:
            yield ["", f"`{missing.variant.label}`", "not measured", "", *_write_place(figures, published)]


def _write_place(figures: Figures | None, published: Sequence[float]) -> list[str]:
    return [str(published.index(figures.total) + 1), number(figures.total)] if figures else ["", ""]


def _write_real_epsilon(result: Result) -> str:
    return result.epsilon if result.is_private else f"**{float(result.real_epsilon):,.1f}**"
