"""The part of the benchmarks that is about ``cumulative-joint``."""

from functools import partial

from benchmarks.attempts import Missing, attempt_all
from benchmarks.fits import compare_rows
from benchmarks.growth_measuring import measure_growth
from benchmarks.joint_peer import JointPiqpRun, run_joint_piqp
from benchmarks.programs import JOINT_FORMS
from benchmarks.relaxed_points import find_point
from benchmarks.report import JointReport
from benchmarks.settings import Settings
from benchmarks.splits import SplitRun, run_splits
from benchmarks.variants import JOINT, PLAIN_JOINT

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
