"""The audit of all mechanisms that there are, with controls that it must catch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tallytree.auditing.audits import EPSILON, Audit, audit
from tallytree.auditing.verdicts import Verdict
from tallytree.errors import MechanismError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import list_mechanisms, mechanism
from tallytree.privacy.budget import Exact
from tallytree.progress import Progress, no_progress


def list_controls() -> list[Mechanism]:
    """What an audit must catch: as the paper calibrates it, the chain has too little noise.

    An audit that finds nothing has shown something only if it can find what is there.
    """
    return [mechanism("cumulative-chain", calibration="published")]


@dataclass(frozen=True, eq=False)
class AuditOfAll:
    """All mechanisms, and the controls, which must be caught."""

    audits: Sequence[Audit]
    controls: Sequence[Audit]
    skipped: Mapping[str, str]
    """Mechanisms that cannot run here, and why."""

    @property
    def is_passed(self) -> bool:
        """Whether every mechanism holds and every control was caught, by both parts."""
        holds = all(audit.verdict == Verdict.HOLDS for audit in self.audits)
        return holds and all(audit.is_caught_by_both for audit in self.controls)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "passed": self.is_passed,
            "mechanisms": [audit.to_dict() for audit in self.audits],
            "controls": [audit.to_dict() for audit in self.controls],
            "skipped": dict(self.skipped),
        }


def audit_all(
    *,
    epsilon: Exact = EPSILON,
    runs: int | None = None,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> AuditOfAll:
    """Audit every mechanism with its usual options; one whose solver is not installed is skipped."""
    audits, skipped = [], {}
    for name in list_mechanisms():
        try:
            mechanism(name).require()
        except MechanismError as error:
            skipped[name] = str(error)
            continue
        audits.append(audit(name, epsilon=epsilon, runs=runs, seed=seed, progress=progress))
    controls = [
        audit(control, epsilon=epsilon, runs=runs, seed=seed, progress=progress)
        for control in list_controls()
    ]
    return AuditOfAll(audits, controls, skipped)
