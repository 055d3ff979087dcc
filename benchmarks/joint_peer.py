"""PIQP on the relaxed Model M_c, beside ``cumulative-joint``: time, and how good both relaxations are.

The model is for the noisy answers as they are: nothing is smoothed on either side.
"""

from dataclasses import dataclass

from benchmarks.piqp_peer import PiqpRun, run_piqp
from benchmarks.programs import Form
from benchmarks.relaxed_points import RelaxedPoint, find_point
from benchmarks.variants import PLAIN_JOINT


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
