"""How many times as long one mechanism takes as another, wherever both were measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tallytree.reproduction.document import Verdict
from tallytree.reproduction.results import Summary
from tallytree.reproduction.wording import several

NEAR = 0.1
"""Two times closer than this share are taken for the same."""


@dataclass(frozen=True)
class Times:
    """The slower's seconds over the faster's, at one epsilon on one dataset."""

    where: str
    epsilon: str
    value: float
    is_bound: bool
    """The slower one was given up: it takes at least so much longer."""


def compare_times(summaries: Sequence[Summary], faster: str, slower: str) -> list[Times]:
    """By what is claimed: the label of the one that is said to be faster, and of the other."""
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
    """Whether the one is the faster: always, sometimes, never."""
    known = list(times)
    if not known:
        return Verdict.UNKNOWN
    faster = [each.value > 1 + NEAR for each in known]
    return Verdict.HOLDS if all(faster) else Verdict.PARTLY if any(faster) else Verdict.FAILS


def tell_times(times: Sequence[Times]) -> str:
    """Dataset by dataset: the least and the largest over epsilon."""
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
