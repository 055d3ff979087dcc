"""What the paper says about scalability and runtime, compared with what was measured."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_qip import CumulativeQIP
from tallytree.mechanisms.cumulative_qp import CumulativeQP
from tallytree.mechanisms.direct_cp import DirectCP
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qip import DirectQIP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.mechanisms.topdown import TopDown
from tallytree.research.reproduction.document import Claim, Verdict, between, number, seconds, several
from tallytree.research.reproduction.paper_figures import CHAIN, CHAIN_TABLES, TABLES
from tallytree.research.reproduction.run_results import Outcome, Summary
from tallytree.research.reproduction.runs import Run
from tallytree.research.reproduction.study import Report, Series

# Ratios of the runtimes of two mechanisms, wherever both were measured.

NEAR = 0.1
"""Two runtimes that differ by less than this share are treated as equal."""


@dataclass(frozen=True)
class Times:
    """The slower's seconds over the faster's, at one epsilon on one dataset."""

    where: str
    epsilon: str
    value: float
    is_bound: bool
    """Whether the slower one was given up, so that the ratio is a lower bound."""


def compare_times(summaries: Sequence[Summary], faster: str, slower: str) -> list[Times]:
    """Compare the runtimes of two labels: the one that is claimed to be faster, and the other."""
    found = []
    for summary in summaries:
        for epsilon in sorted({result.epsilon for result in summary.results}, key=float):
            one, other = summary.find(faster, epsilon), summary.find(slower, epsilon)
            missing = summary.find_missing(slower, epsilon)
            title = summary.dataset.title
            if one and other:
                found.append(Times(title, epsilon, other.seconds.mean / one.seconds.mean, is_bound=False))
            elif one and missing and missing.timed_out:
                found.append(Times(title, epsilon, missing.limit / one.seconds.mean, is_bound=True))
    return found


def judge_times(times: Iterable[Times]) -> Verdict:
    """Judge whether the one is faster: always, sometimes, never."""
    known = list(times)
    if not known:
        return Verdict.UNKNOWN
    faster = [each.value > 1 + NEAR for each in known]
    return Verdict.HOLDS if all(faster) else Verdict.PARTLY if any(faster) else Verdict.FAILS


def tell_times(times: Sequence[Times]) -> str:
    """Describe the ratios dataset by dataset: the smallest and the largest over epsilon."""
    return several(
        f"{_tell_range([each for each in times if each.where == where])} on {where}"
        for where in dict.fromkeys(each.where for each in times)
    )


def _tell_range(times: Sequence[Times]) -> str:
    low, high = (pick(times, key=lambda each: each.value) for pick in (min, max))
    more = "more than " if any(each.is_bound for each in times) else ""
    shown = sorted({_write(low.value), _write(high.value)}, key=lambda text: float(text.replace(",", "")))
    return f"{more}{shown[0] if more else ' to '.join(shown)}"


def _write(value: float) -> str:
    return f"{value:.2f}" if value < 2 else f"{value:,.1f}" if value < 20 else f"{value:,.0f}"


EXACT = (DirectQIP.name, CumulativeQIP.name, DirectCP.name)
NO_TABLES = "There are no cost tables here: the same optimum is found without them."


def claim_scalability(report: Report) -> Claim:
    """Judge the claim about the exact models by general solvers."""
    series = {each.variant.label: each for each in report.list_series()}
    fast = series.get(DirectDP.name)
    told, slower = [], []
    for label in EXACT:
        if fast and label in series:
            text, times = _tell_end(series[label], fast)
            told.append(f"`{label}`: {text}")
            slower.append(times)
    known = [times for times in slower if times]
    verdict = Verdict.UNKNOWN
    if known:
        verdict = Verdict.HOLDS if min(known) > 10 else Verdict.FAILS
    return Claim(
        "Scalability",
        "The exact optimization models M_H and M_c, and M_dp^OP, are not competitive even for small N.",
        verdict,
        f"Beside `{DirectDP.name}`: {'; '.join(told)}." if told else "The synthetic data were not measured.",
    )


def _tell_end(series: Series, fast: Series) -> tuple[str, float | None]:
    """Describe how the slow series ends, and return how many times as long it takes there."""
    stop = series.stop
    if stop and (not stop.failure.timed_out or stop.sizes not in fast.seconds):
        return f"cannot do N = {stop.sizes} ({stop.failure.reason.rstrip('.')})", None
    if stop:
        times = stop.limit / fast.seconds[stop.sizes]
        return f"{stop.failure.reason} at N = {stop.sizes}, so more than {times:,.0f} times as long", times
    size = max(series.seconds)
    times = series.seconds[size] / fast.seconds[size]
    return f"{seconds(series.seconds[size])} at N = {size}, {times:,.0f} times as long", times


def claim_runtimes(report: Report) -> Iterator[Claim]:
    """Judge the six observations of the paper's section, in its order."""
    summaries = report.summaries
    chain = CHAIN["published"].label
    yield _compare(
        summaries,
        "Runtimes, 1",
        "The exact DP mechanism M_H^dp is faster than the relaxation M_H^r (the paper: up to 10 times).",
        (DirectDP.name, DirectQP.name),
    )
    yield _compare(
        summaries,
        "Runtimes, 1",
        "M_c^dp is faster than the relaxation M_c^r (the paper: up to 100 times).",
        (CumulativeDP.name, CumulativeQP.name),
    )
    yield claim_topdown(report)
    yield _compare(
        summaries,
        "Runtimes, 3",
        "M_c^r is consistently slower than M_H^r.",
        (DirectQP.name, CumulativeQP.name),
    )
    yield claim_epsilon(report)
    yield _compare(
        summaries,
        "Runtimes, 5",
        "M_c^dp is faster than M_H^dp, its noise and so its cost tables being smaller.",
        (CumulativeDP.name, DirectDP.name),
        f"{NO_TABLES} What is left is the work: `{CumulativeDP.name}` does all that `{DirectDP.name}` does, "
        "and an isotonic fit of every region before it.",
    )
    yield _compare(
        summaries, "Runtimes, 6", "M_c^ch is consistently faster than M_c^dp.", (chain, CumulativeDP.name)
    )


def _compare(
    summaries: Sequence[Summary], where: str, claim: str, pair: tuple[str, str], why_not: str = ""
) -> Claim:
    faster, slower = pair
    times = compare_times(summaries, faster, slower)
    verdict = judge_times(times)
    if verdict == Verdict.UNKNOWN:
        return Claim(where, claim, verdict, "They were not both measured.")
    evidence = f"The time of `{slower}` as a multiple of that of `{faster}`: {tell_times(times)}."
    return Claim(where, claim, verdict, evidence, "" if verdict == Verdict.HOLDS else why_not)


def claim_topdown(report: Report) -> Claim:
    """Judge whether the DP mechanisms are always faster than TopDown."""
    claim = "The DP mechanisms are always faster than TopDown, by up to two orders of magnitude."
    labels = (DirectDP.name, CumulativeDP.name, CHAIN["published"].label)
    pairs = {label: compare_times(report.summaries, label, TopDown.name) for label in labels}
    known = {label: times for label, times in pairs.items() if times}
    if not known:
        return Claim("Runtimes, 2", claim, Verdict.UNKNOWN, "They were not both measured.")
    told = "; ".join(f"of that of `{label}`, {tell_times(times)}" for label, times in known.items())
    every = [each for times in known.values() for each in times]
    verdict = judge_times(every)
    evidence = f"The time of `{TopDown.name}` as a multiple: {told}.{_compare_tables(report)}"
    values = between(each.value for each in every)
    short = (
        f"DP is always faster than TopDown: **{verdict.value}**. TopDown takes {values} times as long as "
        "the DP mechanisms here, all by our own solvers."
    )
    why = (
        "The paper solved TopDown's two levels at a time with a general solver (Gurobi). They are a "
        "problem of the same kind as Model M_H, and solved here by the same method as that: TopDown has "
        "the least to do. What was slow was the solver."
    )
    return Claim("Runtimes, 2", claim, verdict, evidence, "" if verdict == Verdict.HOLDS else why, short)


def _compare_tables(report: Report) -> str:
    series = {each.variant.label: each for each in report.list_series()}
    tables, top = series.get(TABLES.label), series.get(TopDown.name)
    common = sorted(set(tables.seconds) & set(top.seconds)) if tables and top else []
    if not tables or not top or not common:
        return ""
    size = common[-1]
    return (
        f" With its cost tables, as in the paper, M_H^dp takes {seconds(tables.seconds[size])} on the "
        f"synthetic data at N = {size}, where `{TopDown.name}` takes {seconds(top.seconds[size])}."
    )


def claim_epsilon(report: Report) -> Claim:
    """Judge whether time falls as epsilon grows, by our solvers and by the paper's tables."""
    claim = (
        "The runtime of the DP mechanisms decreases as epsilon increases, with the size of the cost tables."
    )
    told, falls = [], []
    for variant in (TABLES, CHAIN_TABLES):
        known = _find_epsilons(variant.label, report.synthetic)
        if len(known) > 1:
            (high, least), (low, most) = known[0], known[-1]
            falls.append(least < most / (1 + NEAR))
            told.append(
                f"`{variant.label}` takes {seconds(most)} at epsilon {low} and {seconds(least)} at epsilon "
                f"{high} (N = {min(report.settings.synthetic_sizes)})"
            )
    text = f"With the tables it is so: {several(told)}. " if falls and all(falls) else ""
    ours = [
        (summary.dataset.title, label, slow.seconds.mean / fast.seconds.mean)
        for summary in report.summaries
        for label in (DirectDP.name, CumulativeDP.name)
        for slow, fast in [
            (
                summary.find(label, report.settings.epsilons[0]),
                summary.find(label, report.settings.epsilons[-1]),
            )
        ]
        if slow and fast
    ]
    if ours:
        values = [value for _, _, value in ours]
        text += (
            f"By our solvers, `{DirectDP.name}` and `{CumulativeDP.name}` take {number(min(values))} to "
            f"{number(max(values))} times as long at epsilon {report.settings.epsilons[0]} as at "
            f"{report.settings.epsilons[-1]}."
        )
    if not falls and not ours:
        return Claim("Runtimes, 4", claim, Verdict.UNKNOWN, "That was not measured.")
    still = bool(ours) and all(value > 1 + NEAR for _, _, value in ours)
    holds = (all(falls) if falls else True) and (still or not ours)
    verdict = Verdict.HOLDS if holds else Verdict.PARTLY if any(falls) or still else Verdict.FAILS
    return Claim("Runtimes, 4", claim, verdict, text.strip(), "" if holds else NO_TABLES)


def _find_epsilons(label: str, outcomes: Sequence[Outcome]) -> list[tuple[str, float]]:
    """Return epsilon and seconds on the fewest sizes, the largest epsilon first."""
    least = min((outcome.job.sizes for outcome in outcomes), default=0)
    runs = [
        (outcome.job.epsilon, outcome.result.seconds)
        for outcome in outcomes
        if outcome.job.variant.label == label
        and outcome.job.sizes == least
        and isinstance(outcome.result, Run)
    ]
    return sorted(runs, key=lambda each: float(each[0]), reverse=True)
