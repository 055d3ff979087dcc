"""The audit of a mechanism: its exact losses on small hierarchies, and attacks on it as a black box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from tallytree.errors import InputError, MechanismError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_mechanism, list_mechanisms, mechanism
from tallytree.privacy.budget import Exact, parse_exact
from tallytree.progress import Progress, no_progress
from tallytree.research.auditing.attack import ERROR, Attack, prepare_attacks
from tallytree.research.auditing.exact_losses import CASES, Case, Enumeration, Verdict, enumerate_losses
from tallytree.sizes import find_whole, state_sizes

EPSILON = "2"
"""Large enough for an attack to succeed despite the noise. The scales are in proportion to 1 / epsilon."""

MEASURED_RUNS, RUNS, SMALL_RUNS = 20_000, 5_000, 1_000
"""Runs of each attack: on the measurements alone, on a whole mechanism, and on one for small problems."""

LEAST_RUNS, MOST_RUNS = 10, 10_000_000


@dataclass(frozen=True, eq=False)
class Audit:
    """What was found about a mechanism."""

    mechanism: str
    """Its name, and its options that are not the defaults."""
    asked: Fraction
    enumerations: Sequence[Enumeration]
    attacks: Sequence[Attack]

    @property
    def worst(self) -> Enumeration:
        """The case with the largest loss."""
        return max(self.enumerations, key=lambda found: (found.verdict, found.worst.rank))

    @property
    def exact_verdict(self) -> Verdict:
        """The verdict on the exact losses."""
        return max(found.verdict for found in self.enumerations)

    @property
    def attack_verdict(self) -> Verdict:
        """The verdict on the attacks."""
        return max(attack.verdict for attack in self.attacks)

    @property
    def verdict(self) -> Verdict:
        """The worse of the two."""
        return max(self.exact_verdict, self.attack_verdict)

    @property
    def is_caught_by_both(self) -> bool:
        """Whether both the losses and the attacks show that the requested epsilon is not kept."""
        return min(self.exact_verdict, self.attack_verdict) > Verdict.HOLDS

    def to_dict(self) -> dict[str, Any]:
        """Return the audit for programs: fractions are text, so that they stay exact."""
        return {
            "mechanism": self.mechanism,
            "epsilon_asked": str(self.asked),
            "verdict": str(self.verdict),
            "enumerations": [_list_enumeration(found) for found in self.enumerations],
            "attacks": [_list_attack(found) for found in self.attacks],
        }


def audit(
    mechanism: str | Mechanism,
    *,
    epsilon: Exact = EPSILON,
    runs: int | None = None,
    seed: int | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Try all neighbours on small hierarchies, and attack the mechanism in twice ``runs`` runs.

    Uses invented counts only. Noise is drawn as for a release, so that nobody can repeat it; with a seed the
    same sampler runs on repeatable bytes, and the same seed gives the same result.
    """
    method = find_mechanism(mechanism)
    asked = parse_exact(epsilon, "epsilon")
    if seed is not None:
        _check_number(seed, "seed", 0)
    if runs is not None:
        _check_number(runs, "runs", LEAST_RUNS)
    whole = runs or (SMALL_RUNS if method.small else RUNS)
    measured = runs or MEASURED_RUNS
    method.require()
    name = describe_mechanism(method)
    settings = [(case, totals) for case in CASES for totals in _list_totals(method, case)]
    attackers = prepare_attacks(method, epsilon=asked, measured_runs=measured, runs=whole, seed=seed)
    report = progress(f"Auditing {name}", len(settings) + sum(each.all_runs for each in attackers))
    enumerations = []
    for case, totals in settings:
        enumerations.append(enumerate_losses(method, case, epsilon=asked, public_totals=totals))
        report(1)
    error = ERROR / len(attackers)
    attacks = [each.attack(asked=asked, error=error, report=report) for each in attackers]
    return Audit(name, asked, enumerations, attacks)


def describe_mechanism(method: Mechanism) -> str:
    """Return the name, and the options that are not the defaults."""
    options = [
        f"{field.name}={getattr(method, field.name)}"
        for field in fields(method)
        if getattr(method, field.name) != field.default
    ]
    return f"{method.name} ({', '.join(options)})" if options else method.name


def _check_number(value: Any, what: str, least: int) -> None:
    number = find_whole(value)
    if number is None or not least <= number <= MOST_RUNS:
        raise InputError(f"{what} must be a whole number from {least} to {MOST_RUNS}.")


def _list_totals(method: Mechanism, case: Case) -> list[str | None]:
    """List the levels of public totals that a mechanism accepts: all of them are tried."""
    return [None, case.hierarchy.levels[-1]] if method.region_totals == "optional" else [None]


def _list_enumeration(found: Enumeration) -> dict[str, Any]:
    return {
        "regions": found.case.regions,
        **state_sizes(found.case.sizes),
        "max_records": found.case.bounds.max_records,
        "max_quantity": found.case.bounds.max_quantity,
        "weights": list(found.case.weights) if found.case.weights else None,
        "public_totals": found.public_totals,
        "pairs": found.pairs,
        "epsilon_stated": str(found.stated),
        "worst_loss": None if found.worst.loss is None else str(found.worst.loss),
        "worst_pair": [found.worst.counts.leaf.tolist(), found.worst.neighbour.leaf.tolist()],
        "verdict": str(found.verdict),
    }


def _list_attack(found: Attack) -> dict[str, Any]:
    evidence = found.evidence
    return {
        "seen": found.seen,
        "pairs": found.tried,
        "pair": [found.pair.counts.leaf.tolist(), found.pair.neighbour.leaf.tolist()],
        "epsilon_stated": str(found.stated),
        "epsilon_at_least": evidence.bound,
        "epsilon_shown_at_most": evidence.most,
        "confidence": 1 - ERROR,
        "event": evidence.event,
        "hits": evidence.hits,
        "other_hits": evidence.other_hits,
        "runs": evidence.runs,
        "verdict": str(found.verdict),
    }


# The audit of all mechanisms, with controls that it must catch.


def list_controls() -> list[Mechanism]:
    """Return what an audit must catch: as the paper calibrates it, the chain has too little noise.

    An audit that finds nothing is evidence only if it finds known violations.
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
        """Return the audit for programs."""
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
