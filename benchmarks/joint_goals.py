"""What was hoped for ``cumulative-joint``."""

from benchmarks.goals import judge_growth, judge_memory, judge_piqp
from benchmarks.report import JointReport
from benchmarks.variants import JOINT, PLAIN_JOINT
from tallytree.research.reproduction.document import Goal

PIQP_RATIO = 30.0
AGREEMENT = 1e-6
GAP = 1e-6
FITS_RATIO = 40.0
MEMORY = 4e9


def judge_joint(report: JointReport) -> list[Goal]:
    """Its speed, its growth, its memory, and that it is right."""
    return [
        judge_piqp(PLAIN_JOINT.label, report.piqp_runs, PIQP_RATIO),
        _judge_agreement(report),
        _judge_gap(report),
        _judge_fits(report),
        judge_growth(report.smoothed),
        judge_growth(report.plain),
        judge_memory(report.smoothed, MEMORY),
        judge_memory(report.plain, MEMORY),
    ]


def _judge_agreement(report: JointReport) -> Goal:
    """Either side could be off: so neither may be above the other by more."""
    statement = f"`{PLAIN_JOINT.label}`: its relaxed optimum is PIQP's, to a relative {AGREEMENT:g}"
    solved = [run for run in report.piqp if run.piqp.solved]
    if not solved:
        return Goal.open(statement)
    worst = max(solved, key=lambda run: abs(run.difference))
    return Goal(
        statement,
        f"{worst.difference:+.1e} at {worst.piqp.sizes:,} sizes, epsilon {worst.piqp.epsilon} "
        f"(the furthest of {len(solved)} runs)",
        abs(worst.difference) <= AGREEMENT,
    )


def _judge_gap(report: JointReport) -> Goal:
    """Both as the solver states it, and as measured where the model is the paper's."""
    statement = (
        f"`{JOINT.label}`: relative duality gap below {GAP:g} at {report.plain.largest:,} sizes, "
        "epsilon split evenly"
    )
    stated = [
        record.evidence.gap for growth in (report.smoothed, report.plain) for record in growth.at_largest
    ]
    measured = [point.gap for point in report.points]
    if not measured:
        return Goal.open(statement)
    return Goal(
        statement,
        f"{max(measured):.1e} measured (the largest of {len(measured)} runs), "
        f"{max(stated):.1e} stated (of {len(stated)})",
        max(*measured, *stated) < GAP,
    )


def _judge_fits(report: JointReport) -> Goal:
    """By SciPy's fits, which anyone has; ours are shown beside them."""
    statement = f"`{JOINT.label}`: less than {FITS_RATIO:.0f} times SciPy's isotonic fits of all rows"
    if not report.fits:
        return Goal.open(statement)
    worst = max(report.fits, key=lambda contest: contest.ratio_to_scipy)
    return Goal(
        f"{statement}, at {worst.sizes:,} sizes",
        f"{worst.ratio_to_scipy:.1f} times (the most of {len(report.fits)} runs); "
        f"{max(contest.ratio_to_ours for contest in report.fits):.1f} times the same fits by our own kernel, "
        "on all processors",
        worst.ratio_to_scipy < FITS_RATIO,
    )
