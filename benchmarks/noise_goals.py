"""What was hoped for exact noise."""

from benchmarks.markdown import write_seconds
from benchmarks.noise_measuring import CENSUS_SIZES, NoiseReport
from tallytree.research.reproduction.document import Goal

LEAST_RATIO = 40
MOST_SECONDS = 1.0


def judge_noise(report: NoiseReport | None) -> list[Goal]:
    """Beside OpenDP, and for the whole hierarchy."""
    draw = f"Noise: a draw on one processor at least {LEAST_RATIO} times as fast as OpenDP's"
    whole = f"Noise for the Census hierarchy, {CENSUS_SIZES:,} sizes, within {MOST_SECONDS:.0f} s"
    if report is None:
        return [Goal.open(draw), Goal.open(whole)]
    ratio = min(single.ratio for single in report.draws)
    largest = report.hierarchies[-1]
    smaller = "" if largest.sizes >= CENSUS_SIZES else f" at {largest.sizes:,} sizes only"
    return [
        Goal(draw, f"{ratio:,.0f} times at least", ratio >= LEAST_RATIO),
        Goal(
            whole,
            f"{write_seconds(largest.ours.seconds)} s{smaller}",
            largest.ours.seconds <= MOST_SECONDS and not smaller,
        ),
    ]
