"""``cumulative-joint``: growth, accuracy, memory, its peer PIQP, and its weak side, uneven splits."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.fits import FitContest, compare_rows, write_fit_table
from benchmarks.growth import (
    Growth,
    draw_growth,
    judge_growth,
    judge_memory,
    measure_growth,
    write_growth_table,
    write_memory_table,
)
from benchmarks.instances import (
    CALLS,
    JOINT,
    LONG_SECONDS,
    PLAIN_JOINT,
    Evidence,
    make_nation,
    measure_counts,
    time_instances,
)
from benchmarks.markdown import write_seconds, write_table
from benchmarks.piqp_contests import PiqpRun, judge_piqp, list_piqp_points, run_piqp, write_piqp_times
from benchmarks.programs import JOINT_FORMS, Form
from benchmarks.relaxations import RelaxedPoint, find_point
from benchmarks.settings import Settings
from benchmarks.timing import Missing, Timing, attempt_all
from tallytree.research.reproduction.document import Goal
from tallytree.research.reproduction.paper_figures import Variant
from tallytree.solvers.joint.joint_relaxation import GAP, MOST_STEPS


@dataclass(frozen=True)
class JointPiqpRun:
    """What PIQP did with one instance, and the relaxation that ``cumulative-joint`` rounds."""

    piqp: PiqpRun
    ours: RelaxedPoint

    @property
    def difference(self) -> float:
        """How far our relaxed objective is above PIQP's, relatively; below, if negative."""
        return self.ours.objective / self.piqp.objective - 1

    @property
    def above_bound(self) -> float:
        """How far PIQP's is above our lower bound, relatively; if below, it missed a condition."""
        return self.piqp.objective / self.ours.bound - 1


def run_joint_piqp(sizes: int, epsilon: str, form: Form, rounds: int) -> JointPiqpRun:
    """To be called in a fresh process."""
    run = run_piqp(PLAIN_JOINT, sizes, epsilon, form, rounds)
    return JointPiqpRun(run, find_point(sizes, epsilon))


@dataclass(frozen=True)
class SplitRun:
    """One split of epsilon: the best time, and the solution's evidence."""

    variant: Variant
    split: tuple[int, ...]
    """The levels' parts of epsilon, root first, in proportion."""
    epsilon: str
    timing: Timing
    evidence: Evidence

    @property
    def label(self) -> str:
        """The split as it is written."""
        return " : ".join(str(part) for part in self.split)


def run_splits(
    variants: Sequence[Variant], sizes: int, epsilon: str, splits: Sequence[tuple[int, ...]], rounds: int
) -> list[SplitRun]:
    """The invented nation, with each of the splits. To be called in a fresh process."""
    counts = make_nation(sizes)
    cases = [(variant, split) for split in splits for variant in variants]
    instances = [
        measure_counts(
            variant.make(), counts, epsilon, dict(zip(counts.hierarchy.levels, split, strict=True))
        )
        for variant, split in cases
    ]
    return [
        SplitRun(variant, split, epsilon, timing, evidence)
        for (variant, split), (timing, evidence) in zip(cases, time_instances(instances, rounds), strict=True)
    ]


@dataclass(frozen=True)
class JointReport:
    """``cumulative-joint``, its peers, and the optimum that it rounds."""

    smoothed: Growth
    """With its defaults."""
    plain: Growth
    """For the noisy answers as they are: the paper's model."""
    rounds: int
    fit_rounds: int
    piqp: Sequence[JointPiqpRun]
    """Both sides for the plain model."""
    points: Sequence[RelaxedPoint]
    """Of the plain model, at the largest number of sizes."""
    fits: Sequence[FitContest]
    splits: Sequence[SplitRun]

    @property
    def piqp_runs(self) -> Sequence[PiqpRun]:
        """PIQP's side."""
        return [run.piqp for run in self.piqp]


VARIANTS = (JOINT, PLAIN_JOINT)


def measure_joint(settings: Settings, missing: list[Missing]) -> JointReport:
    """Its growth, its memory, its peers, its accuracy, and its weak side."""
    sizes, epsilons = settings.largest, settings.scaling_epsilons
    return JointReport(
        smoothed=measure_growth(JOINT, settings, settings.joint_repeats, missing),
        plain=measure_growth(PLAIN_JOINT, settings, settings.joint_repeats, missing),
        rounds=settings.rounds,
        fit_rounds=settings.fit_rounds,
        piqp=_measure_piqp(settings, missing),
        points=attempt_all(
            [
                (f"relaxed optimum, {sizes} sizes, epsilon {epsilon}", partial(find_point, sizes, epsilon))
                for epsilon in epsilons
            ],
            missing,
        ),
        fits=attempt_all(
            [
                (
                    f"{variant.label} and isotonic fits of rows, {sizes} sizes, epsilon {epsilon}",
                    partial(compare_rows, variant, sizes, epsilon, settings.fit_rounds),
                )
                for variant in VARIANTS
                for epsilon in epsilons
            ],
            missing,
        ),
        splits=_measure_splits(settings, missing),
    )


def _measure_piqp(settings: Settings, missing: list[Missing]) -> list[JointPiqpRun]:
    return attempt_all(
        [
            (
                f"PIQP on Model M_c ({form.label}), {sizes} sizes, epsilon {epsilon}",
                partial(run_joint_piqp, sizes, epsilon, form, settings.rounds),
            )
            for sizes in settings.joint_piqp_sizes
            for epsilon in settings.peer_epsilons
            for form in JOINT_FORMS
        ],
        missing,
    )


def _measure_splits(settings: Settings, missing: list[Missing]) -> list[SplitRun]:
    found = attempt_all(
        [
            (
                f"{JOINT.label}, splits of epsilon {epsilon}, {settings.largest} sizes",
                partial(run_splits, VARIANTS, settings.largest, epsilon, settings.splits, settings.rounds),
            )
            for epsilon in settings.peer_epsilons
        ],
        missing,
    )
    return [run for runs in found for run in runs]


PIQP_RATIO = 30.0
AGREEMENT = 1e-6
MOST_GAP = 1e-6
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
        f"`{JOINT.label}`: relative duality gap below {MOST_GAP:g} at {report.plain.largest:,} sizes, "
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
        max(*measured, *stated) < MOST_GAP,
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
