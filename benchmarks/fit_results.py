"""Mechanisms beside bare isotonic fits, in a table."""

from collections.abc import Sequence

from benchmarks.fits import FitContest
from benchmarks.markdown import write_seconds, write_table


def write_fit_table(contests: Sequence[FitContest]) -> str:
    """What each took, and the ratios."""
    rows = [
        (
            f"`{contest.mechanism}`",
            f"{contest.sizes:,}",
            contest.epsilon,
            f"{contest.fits:,}",
            f"{contest.points:,}",
            write_seconds(contest.whole.seconds),
            write_seconds(contest.ours.seconds),
            write_seconds(contest.scipy.seconds),
            f"**{contest.ratio_to_ours:.2f}**",
            f"**{contest.ratio_to_scipy:.2f}**",
        )
        for contest in contests
    ]
    header = (
        "mechanism", "sizes", "epsilon", "fits", "points", "whole s", "our fits s", "SciPy's fits s",
        "whole / our fits", "whole / SciPy's",
    )  # fmt: skip
    return write_table(header, rows)
