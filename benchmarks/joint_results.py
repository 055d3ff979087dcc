"""``cumulative-joint`` in words and tables: growth, accuracy, memory, peers, and its weak side."""

from benchmarks.comparison import CALLS, LONG_SECONDS
from benchmarks.evidence import Evidence
from benchmarks.fit_results import write_fit_table
from benchmarks.growth_results import (
    draw_growth,
    list_piqp_points,
    write_growth_table,
    write_memory_table,
    write_piqp_times,
)
from benchmarks.joint_goals import AGREEMENT
from benchmarks.markdown import write_seconds, write_table
from benchmarks.report import JointReport
from benchmarks.variants import JOINT, PLAIN_JOINT
from tallytree.solvers.joint.joint_relaxation import GAP, MOST_STEPS

EFFORTS = ("newton_steps", "fits", "inner_steps")


def draw_joint(report: JointReport) -> str:
    """Time against cells, ``cumulative-joint`` with its defaults, PIQP, and the bare fits."""
    contests = [contest for contest in report.fits if contest.mechanism == JOINT.label]
    fits = {
        f"SciPy's fits, eps {contest.epsilon}": [(float(contest.points), contest.scipy.seconds)]
        for contest in contests
    }
    piqp = list_piqp_points([run for run in report.piqp_runs if run.form.leaves_only])
    return draw_growth(report.smoothed, {**piqp, **fits})


def write_joint(report: JointReport, plot: str | None) -> str:
    """All of it; ``plot`` is the picture's file name."""
    sections = [
        _write_growth(report, plot),
        _write_accuracy(report),
        f"### Memory\n\n{write_memory_table(report.smoothed)}",
        _write_fits(report),
        _write_piqp(report),
        _write_splits(report),
    ]
    return "\n\n".join(sections)


def _write_growth(report: JointReport, plot: str | None) -> str:
    picture = f"\n\n![Time against cells, both logarithmic]({plot})" if plot else ""
    return f"""## `cumulative-joint`

It solves the relaxed Model M_c by Newton's method on the dual, until the duality gap is at most {GAP:g} of
the bound, and rounds; all of that is in its times. There is no proof of how many Newton steps that takes,
so growth and epsilon are a matter of measuring. By default, each region's answers are smoothed first;
`{PLAIN_JOINT.label}` is the paper's model, for the noisy answers as they are.

### Growth, and epsilon

The best of {report.plain.repeats} calls each; all sizes and epsilons took turns. *Newton steps* are in the
order of the epsilons.

`{report.smoothed.mechanism}`:

{write_growth_table(report.smoothed, "newton_steps")}{picture}

`{report.plain.mechanism}`:

{write_growth_table(report.plain, "newton_steps")}"""


def _write_accuracy(report: JointReport) -> str:
    points = {point.epsilon: point for point in report.points}
    plain = {record.epsilon: record.evidence for record in report.plain.at_largest}
    rows = []
    for growth in (report.smoothed, report.plain):
        for record in growth.at_largest:
            point = points.get(record.epsilon) if growth is report.plain else None
            measured = (f"{point.gap:.1e}", f"{point.missed:.0e}") if point else ("", "")
            above = f"{record.evidence.above(plain[record.epsilon]):.1e}"
            effort = _write_effort(record.evidence)
            stated = f"{record.evidence.gap:.1e}"
            rows.append((f"`{growth.mechanism}`", record.epsilon, *effort, stated, *measured, above))
    header = (
        "mechanism", "epsilon", "Newton steps", "fits of all leaves", "inner steps", "gap stated",
        "gap measured", "total missed by", "whole numbers above the bound",
    )  # fmt: skip
    return f"""### Accuracy at {report.plain.largest:,} sizes

The solver states a gap between its relaxed point and a lower bound. For the paper's model it is also
measured: the leaves' fits are made to meet the total (*missed by* so many groups before) and added up to the
regions above, the objective is worked out there, and compared with the bound; below about 1e-11 that is
rounding. *Whole numbers above the bound* is the objective (of the noisy answers) of what is released, against
the bound of the paper's model: for that model, an upper limit of what rounding costs, and of how far it is
from the best whole numbers; for the smoothed answers, of what smoothing gives up in this objective as well.
Inner steps are those of conjugate gradients.

{write_table(header, rows)}"""


def _write_fits(report: JointReport) -> str:
    return f"""### Beside bare isotonic fits

An isotonic fit of every row once, whatever the hierarchy says, is the least that anyone would do with
cumulative answers. Here by SciPy (`scipy.optimize.isotonic_regression`, in floats, on one processor) and by
our own kernel (`fit_isotonic_rows`, on all processors). The three took turns, {report.fit_rounds} times.

{write_fit_table(report.fits)}"""


def _write_piqp(report: JointReport) -> str:
    rows = [
        (
            f"{run.piqp.sizes:,}",
            run.piqp.epsilon,
            run.piqp.form.label,
            f"{run.piqp.objective:,.4f}",
            f"{run.ours.objective:,.4f}",
            f"{run.difference:+.1e}",
            f"{run.above_bound:+.1e}",
            f"{run.ours.gap:+.1e}",
            f"{run.piqp.violation:.0e}",
        )
        for run in report.piqp
    ]
    header = (
        "sizes", "epsilon", "form", "PIQP (relaxed)", "ours (relaxed)", "ours above PIQP's",
        "PIQP's above our bound", "ours above our bound", "PIQP misses a condition by",
    )  # fmt: skip
    return f"""### Against PIQP

PIQP solves the paper's model, relaxed and centred, with its defaults; its set-up and solve are timed, and it
does no rounding. Ours does. *All regions* is the model as written: no region's cumulative counts decrease.
*Leaves only* tells only the leaves so, which is enough and makes the program smaller. The two sides took
turns, {report.rounds} times: {CALLS} calls of ours on all processors, {CALLS} on one, and one of PIQP; where
that took more than {LONG_SECONDS:.0f} s, once.

{write_piqp_times(PLAIN_JOINT.label, report.piqp_runs)}

The relaxed objectives on the same instances, ours measured as above.{_compare_accuracies(report)}

{write_table(header, rows)}"""


def _compare_accuracies(report: JointReport) -> str:
    """Whose error the difference is."""
    if not report.piqp:
        return ""
    worst = max(report.piqp, key=lambda run: abs(run.difference))
    within = "within" if abs(worst.difference) <= AGREEMENT else "**not** within"
    limit = "PIQP's" if abs(worst.above_bound) > abs(worst.ours.gap) else "our"
    return f""" They differ by at most
{abs(worst.difference):.1e} of their value, {within} {AGREEMENT:g}; where they differ most, {limit} accuracy
is the limit (whose value is further from our bound)."""


def _write_splits(report: JointReport) -> str:
    plain = {(run.split, run.epsilon): run.evidence for run in report.splits if run.variant == PLAIN_JOINT}
    rows = [
        (
            run.label,
            run.epsilon,
            f"`{run.variant.label}`",
            write_seconds(run.timing.seconds),
            *_write_effort(run.evidence),
            f"{run.evidence.gap:.1e}",
            "yes" if run.evidence.gap <= GAP else "**no**",
            f"{run.evidence.above(plain[run.split, run.epsilon]):.1e}",
        )
        for run in report.splits
    ]
    header = (
        "nation : state : county", "epsilon", "mechanism", "s", "Newton steps", "fits of all leaves",
        "inner steps", "gap stated", "accuracy reached", "whole numbers above the bound",
    )  # fmt: skip
    reached = sum(run.evidence.gap <= GAP for run in report.splits)
    return f"""### Uneven splits

Epsilon split over the levels other than evenly, at {report.plain.largest:,} sizes; each the best of
{report.rounds} calls. A level weighs with the square of its part, so at 98 : 1 : 1 the nation weighs about
10,000 times as much as a county, and there Newton's method has a hard time: after {MOST_STEPS} steps in a
stage, or when a step gains nothing, it gives up. It reached its accuracy, {GAP:g}, in {reached} of
{len(rows)} cases.
In the others, the relaxed point is off by the gap stated. What is released is rounded from the root down, and
the last column says how far that is from the bound, as above.

{write_table(header, rows)}"""


def _write_effort(evidence: Evidence) -> list[str]:
    return [f"{evidence.effort[name]:,}" for name in EFFORTS]
