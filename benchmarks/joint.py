"""``cumulative-joint``: growth, accuracy, memory, its peer PIQP, and its weak side, uneven splits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from benchmarks.fits import FITS, FitContest, compare_rows
from benchmarks.growth import (
    Growth,
    draw_growth,
    judge_growth,
    judge_memory,
    measure_growth,
    record_growth,
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
from benchmarks.piqp_contests import TIMES, PiqpRun, judge_piqp, list_piqp_points, run_piqp
from benchmarks.programs import JOINT_FORMS, Form
from benchmarks.records import Data, Table, write_seconds
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


def measure(settings: Settings, missing: list[Missing]) -> JointReport:
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


PLOT = "joint.svg"
PIQP_RATIO = 30.0
AGREEMENT = 1e-6
MOST_GAP = 1e-6
FITS_RATIO = 40.0
MEMORY = 4e9


def judge(report: JointReport) -> list[Goal]:
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


def draw(report: JointReport) -> str:
    """Time against cells, ``cumulative-joint`` with its defaults, PIQP, and the bare fits."""
    contests = [contest for contest in report.fits if contest.mechanism == JOINT.label]
    fits = {
        f"SciPy's fits, eps {contest.epsilon}": [(float(contest.points), contest.scipy.seconds)]
        for contest in contests
    }
    piqp = list_piqp_points([run for run in report.piqp_runs if run.form.leaves_only])
    return draw_growth(report.smoothed, {**piqp, **fits})


EFFORT = (("Newton steps", "newton_steps"), ("fits of all leaves", "fits"), ("inner steps", "inner_steps"))
OBJECTIVES = Table[JointPiqpRun](
    ("sizes", lambda run: run.piqp.sizes, "{:,}"),
    ("epsilon", lambda run: run.piqp.epsilon, "{}"),
    ("form", lambda run: run.piqp.form.label, "{}"),
    ("PIQP (relaxed)", lambda run: run.piqp.objective, "{:,.4f}"),
    ("ours (relaxed)", lambda run: run.ours.objective, "{:,.4f}"),
    ("ours above PIQP's", lambda run: run.difference, "{:+.1e}"),
    ("PIQP's above our bound", lambda run: run.above_bound, "{:+.1e}"),
    ("ours above our bound", lambda run: run.ours.gap, "{:+.1e}"),
    ("PIQP misses a condition by", lambda run: run.piqp.violation, "{:.0e}"),
)


@dataclass(frozen=True)
class Solved:
    """A solution, and that of the paper's model for the same noisy answers, with its bound."""

    mechanism: str
    epsilon: str
    evidence: Evidence
    plain: Evidence
    point: RelaxedPoint | None = None
    split: SplitRun | None = None


def _count_effort(name: str) -> Callable[[Solved], int]:
    return lambda solved: solved.evidence.effort[name]


ACCURACY = Table[Solved](
    ("mechanism", lambda solved: solved.mechanism, "`{}`"),
    ("epsilon", lambda solved: solved.epsilon, "{}"),
    *((title, _count_effort(name), "{:,}") for title, name in EFFORT),
    ("gap stated", lambda solved: solved.evidence.gap, "{:.1e}"),
    ("gap measured", lambda solved: solved.point and solved.point.gap, "{:.1e}"),
    ("total missed by", lambda solved: solved.point and solved.point.missed, "{:.0e}"),
    ("whole numbers above the bound", lambda solved: solved.evidence.above(solved.plain), "{:.1e}"),
)
SPLITS = Table[Solved](
    ("nation : state : county", lambda solved: solved.split and solved.split.label, "{}"),
    ("epsilon", lambda solved: solved.epsilon, "{}"),
    ("mechanism", lambda solved: solved.mechanism, "`{}`"),
    ("s", lambda solved: solved.split and solved.split.timing.seconds, write_seconds),
    *((title, _count_effort(name), "{:,}") for title, name in EFFORT),
    ("gap stated", lambda solved: solved.evidence.gap, "{:.1e}"),
    ("accuracy reached", lambda solved: solved.evidence.gap <= GAP, lambda met: "yes" if met else "**no**"),
    ("whole numbers above the bound", lambda solved: solved.evidence.above(solved.plain), "{:.1e}"),
)


def record(report: JointReport) -> Data:
    """The data."""
    return {
        "smoothed": record_growth(report.smoothed, "newton_steps"),
        "plain": record_growth(report.plain, "newton_steps"),
        "gap asked for": GAP,
        "most steps": MOST_STEPS,
        "rounds": report.rounds,
        "fit rounds": report.fit_rounds,
        "accuracy": ACCURACY.record(_list_largest(report)),
        "fits": FITS.record(report.fits),
        "PIQP": TIMES.record(report.piqp_runs),
        "PIQP's objectives": OBJECTIVES.record(report.piqp),
        "splits": SPLITS.record(_list_splits(report)),
    }


def _list_largest(report: JointReport) -> list[Solved]:
    points = {point.epsilon: point for point in report.points}
    plain = {record.epsilon: record.evidence for record in report.plain.at_largest}
    return [
        Solved(
            growth.mechanism,
            record.epsilon,
            record.evidence,
            plain[record.epsilon],
            points.get(record.epsilon) if growth is report.plain else None,
        )
        for growth in (report.smoothed, report.plain)
        for record in growth.at_largest
    ]


def _list_splits(report: JointReport) -> list[Solved]:
    plain = {(run.split, run.epsilon): run.evidence for run in report.splits if run.variant == PLAIN_JOINT}
    return [
        Solved(run.variant.label, run.epsilon, run.evidence, plain[run.split, run.epsilon], split=run)
        for run in report.splits
    ]


def write(data: Data) -> str:
    """The section about it."""
    largest, splits = data["plain"]["rows"][-1]["sizes"], data["splits"]
    gap, steps = data["gap asked for"], data["most steps"]
    reached = sum(run["accuracy reached"] for run in splits)
    return f"""## `cumulative-joint`

It solves the relaxed Model M_c by Newton's method on the dual, until the duality gap is at most {gap:g} of
the bound, and rounds; all of that is in its times. There is no proof of how many Newton steps that takes,
so growth and epsilon are a matter of measuring. By default, each region's answers are smoothed first;
`{PLAIN_JOINT.label}` is the paper's model, for the noisy answers as they are.

### Growth, and epsilon

The best of {data["plain"]["calls"]} calls each; all sizes and epsilons took turns. *Newton steps* are in the
order of the epsilons.

`{data["smoothed"]["mechanism"]}`:

{write_growth_table(data["smoothed"])}

![Time against cells, both logarithmic]({PLOT})

`{data["plain"]["mechanism"]}`:

{write_growth_table(data["plain"])}

### Accuracy at {largest:,} sizes

The solver states a gap between its relaxed point and a lower bound. For the paper's model it is also
measured: the leaves' fits are made to meet the total (*missed by* so many groups before) and added up to the
regions above, the objective is worked out there, and compared with the bound; below about 1e-11 that is
rounding. *Whole numbers above the bound* is the objective (of the noisy answers) of what is released, against
the bound of the paper's model: for that model, an upper limit of what rounding costs, and of how far it is
from the best whole numbers; for the smoothed answers, of what smoothing gives up in this objective as well.
Inner steps are those of conjugate gradients.

{ACCURACY.write(data["accuracy"])}

### Memory

{write_memory_table(data["smoothed"])}

### Beside bare isotonic fits

An isotonic fit of every row once, whatever the hierarchy says, is the least that anyone would do with
cumulative answers. Here by SciPy (`scipy.optimize.isotonic_regression`, in floats, on one processor) and by
our own kernel (`fit_isotonic_rows`, on all processors). The three took turns, {data["fit rounds"]} times.

{FITS.write(data["fits"])}

### Against PIQP

PIQP solves the paper's model, relaxed and centred, with its defaults; its set-up and solve are timed, and it
does no rounding. Ours does. *All regions* is the model as written: no region's cumulative counts decrease.
*Leaves only* tells only the leaves so, which is enough and makes the program smaller. The two sides took
turns, {data["rounds"]} times: {CALLS} calls of ours on all processors, {CALLS} on one, and one of PIQP; where
that took more than {LONG_SECONDS:.0f} s, once.

{TIMES.write(data["PIQP"])}

The relaxed objectives on the same instances, ours measured as above.{_compare_accuracies(data)}

{OBJECTIVES.write(data["PIQP's objectives"])}

### Uneven splits

Epsilon split over the levels other than evenly, at {largest:,} sizes; each the best of
{data["rounds"]} calls. A level weighs with the square of its part, so at 98 : 1 : 1 the nation weighs about
10,000 times as much as a county, and there Newton's method has a hard time: after {steps} steps in a
stage, or when a step gains nothing, it gives up. It reached its accuracy, {gap:g}, in {reached} of
{len(splits)} cases.
In the others, the relaxed point is off by the gap stated. What is released is rounded from the root down, and
the last column says how far that is from the bound, as above.

{SPLITS.write(splits)}"""


def _compare_accuracies(data: Data) -> str:
    """Whose error the difference is."""
    if not data["PIQP's objectives"]:
        return ""
    worst = max(data["PIQP's objectives"], key=lambda run: abs(run["ours above PIQP's"]))
    difference = abs(worst["ours above PIQP's"])
    within = "within" if difference <= AGREEMENT else "**not** within"
    limit = "PIQP's" if abs(worst["PIQP's above our bound"]) > abs(worst["ours above our bound"]) else "our"
    return f""" They differ by at most
{difference:.1e} of their value, {within} {AGREEMENT:g}; where they differ most, {limit} accuracy
is the limit (whose value is further from our bound)."""
