"""The details of each dataset: figures by level, findings, EMD, rankings, our default, what is missing."""

from collections.abc import Iterator, Sequence

from tallytree.reproduction.census_findings import find_census, judge_census
from tallytree.reproduction.comparisons import compare_violations
from tallytree.reproduction.datasets import CENSUS, KUO
from tallytree.reproduction.document import Block, Heading, Items, Paragraph, Table
from tallytree.reproduction.duels import find_duels, judge_l1, write_duels
from tallytree.reproduction.explanations import explain_chain, name_best
from tallytree.reproduction.figures import draw_levels
from tallytree.reproduction.findings import Finding
from tallytree.reproduction.kuo import find_kuo, find_matched, judge_kuo, write_kuo
from tallytree.reproduction.published import KUO_EPSILON
from tallytree.reproduction.report import Report
from tallytree.reproduction.results import Spread, Summary, select
from tallytree.reproduction.shared_noise import measure_shared_noise
from tallytree.reproduction.tables import write_distances, write_ranking


def write_details(report: Report) -> Iterator[Block]:
    """A section for each dataset, and what is to be known about the mechanisms."""
    for summary in report.summaries:
        if summary.results:
            yield from _write_dataset(summary, report.settings.epsilons)
    yield from _write_caveats(report)
    yield from _write_missing(report)


def _write_dataset(summary: Summary, epsilons: Sequence[str]) -> Iterator[Block]:
    yield Heading(2, f"{summary.dataset.title} in detail")
    yield draw_levels(summary, epsilons)
    shared = _share_noise(summary)
    yield from _write_findings(_find(summary, epsilons, shared))
    if summary.dataset.name == KUO:
        yield from write_kuo(summary, shared)
    yield Heading(3, f"EMD, and errors in small sizes: {summary.dataset.title}")
    yield Paragraph(
        "EMD is the mean over a level's regions of the groups times the steps that they were moved along "
        "the sizes."
    )
    yield write_distances(summary, epsilons)
    yield Heading(3, f"Ranking by total L1 error: {summary.dataset.title}")
    yield write_ranking(summary, epsilons)
    levels = summary.dataset.facts.levels
    duels = find_duels(summary.results)
    judges = {CENSUS: judge_census, KUO: judge_kuo}
    judge = judges.get(summary.dataset.name)
    yield from write_duels(duels, judge(duels, levels) if judge else list(judge_l1(duels, levels)), levels)


def _share_noise(summary: Summary) -> list[Spread]:
    matched = find_matched(summary) if summary.dataset.name == KUO else None
    if not matched:
        return []
    return measure_shared_noise(summary.dataset.counts, KUO_EPSILON, matched.total.runs)


def _find(summary: Summary, epsilons: Sequence[str], shared: Sequence[Spread]) -> list[Finding]:
    if summary.dataset.name == CENSUS:
        return list(find_census(summary, epsilons))
    if summary.dataset.name == KUO:
        return list(find_kuo(summary, epsilons, shared))
    tables = [select(summary.results, epsilon) for epsilon in epsilons]
    plain = [result for table in tables for result in table if not result.paper]
    return [
        *compare_violations(plain),
        *explain_chain(summary.results),
        *name_best(tables, summary.dataset.facts.levels),
    ]


def _write_findings(findings: Sequence[Finding]) -> Iterator[Block]:
    for title, agrees in (
        ("It agrees", True),
        ("It does not agree", False),
        ("Why, and what follows", None),
    ):
        texts = [finding.text for finding in findings if finding.agrees is agrees]
        if texts:
            yield Heading(3, title)
            yield Items(texts)


def _write_caveats(report: Report) -> Iterator[Block]:
    variants = [result.variant for summary in report.summaries for result in summary.results]
    caveats = {variant.mechanism: variant.make().caveat for variant in variants}
    rows = [(f"`{name}`", caveat) for name, caveat in caveats.items() if caveat]
    if rows:
        yield Heading(2, "To be known about the mechanisms")
        yield Table(("mechanism", "what"), rows, left=2)


def _write_missing(report: Report) -> Iterator[Block]:
    rows = [
        (summary.dataset.title, f"`{missing.variant.label}`", ", ".join(missing.epsilons), missing.reason)
        for summary in report.summaries
        for missing in summary.missing
    ]
    if rows:
        yield Heading(2, "What gave no result")
        yield Table(("dataset", "mechanism", "epsilon", "why"), rows, left=4)
