"""The audit of a mechanism: its exact losses on small hierarchies, and attacks on it as a black box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

from tallytree.errors import InputError, MechanismError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_mechanism, list_mechanisms, mechanism
from tallytree.privacy.budget import Exact, parse_exact
from tallytree.privacy.neighbours import Protected, TotalKind
from tallytree.progress import Progress, no_progress
from tallytree.research.auditing.attack import ERROR, Attack, prepare_attacks
from tallytree.research.auditing.exact_losses import (
    Case,
    Enumeration,
    Promise,
    Verdict,
    enumerate_losses,
    list_cases,
    list_promises,
)
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
    def promises(self) -> list[Promise]:
        """The promises that were tried."""
        return list(dict.fromkeys(found.case.promise for found in self.enumerations))

    def under(self, promise: Promise) -> Audit:
        """Return what was found about one promise."""
        return replace(
            self,
            enumerations=[found for found in self.enumerations if found.case.promise == promise],
            attacks=[found for found in self.attacks if found.case.promise == promise],
        )

    @property
    def worst(self) -> Enumeration:
        """The case with the largest loss."""
        return max(self.enumerations, key=lambda found: (found.verdict, found.worst.rank))

    def find_strongest(self, seen: str | None = None) -> Attack:
        """Return the attack that showed most: of all, or of those that look at the same."""
        attacks = [attack for attack in self.attacks if seen in (None, attack.seen)]
        return max(attacks, key=lambda attack: (attack.verdict, attack.evidence.bound))

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
            "promises": [
                {**_state_promise(promise), "verdict": str(self.under(promise).verdict)}
                for promise in self.promises
            ],
            "enumerations": [_list_enumeration(found) for found in self.enumerations],
            "attacks": [_list_attack(found) for found in self.attacks],
        }


def audit(
    mechanism: str | Mechanism,
    *,
    epsilon: Exact = EPSILON,
    runs: int | None = None,
    seed: int | None = None,
    protect: Protected | None = None,
    total: TotalKind | None = None,
    progress: Progress = no_progress,
) -> Audit:
    """Try all neighbours on small hierarchies, and attack the mechanism in twice ``runs`` runs.

    Does so for every promise that the mechanism offers: to persons and to whole groups, with a public and
    with a private total. ``protect`` and ``total`` choose among them; each promise has attacks of its own.

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
    promises = list_promises(method, protect=protect, total=total)
    settings = [
        (case, totals)
        for promise in promises
        for case in list_cases(*promise)
        for totals in _list_totals(method, case)
    ]
    attackers = [
        attacker
        for promise in promises
        for attacker in prepare_attacks(
            method, promise, epsilon=asked, measured_runs=measured, runs=whole, seed=seed
        )
    ]
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
    is_choice = method.region_totals == "optional" and case.neighbours.has_public_total
    return [None, case.hierarchy.levels[-1]] if is_choice else [None]


def _state_promise(promise: Promise) -> dict[str, str]:
    protect, total = promise
    return {"protect": protect, "total": total}


def _state_case(case: Case) -> dict[str, Any]:
    return {
        **_state_promise(case.promise),
        "regions": case.regions,
        **state_sizes(case.sizes),
        "max_records": case.bounds.max_records,
        "max_quantity": case.bounds.max_quantity,
        "weights": list(case.weights) if case.weights else None,
    }


def _list_enumeration(found: Enumeration) -> dict[str, Any]:
    return {
        **_state_case(found.case),
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
        **_state_case(found.case),
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
    protect: Protected | None = None,
    total: TotalKind | None = None,
    progress: Progress = no_progress,
) -> AuditOfAll:
    """Audit every mechanism with its usual options, as :func:`audit` does.

    One whose solver is not installed is skipped, and so is one that needs a public total if ``total`` is
    private. The controls have a public total whatever is asked for.
    """
    audits, skipped = [], {}
    run = partial(audit, epsilon=epsilon, runs=runs, seed=seed, protect=protect, progress=progress)
    for name in list_mechanisms():
        try:
            mechanism(name).require()
            mechanism(name).find_query(total)
        except MechanismError as error:
            skipped[name] = str(error)
            continue
        audits.append(run(name, total=total))
    controls = [run(control) for control in list_controls()]
    return AuditOfAll(audits, controls, skipped)
