"""Attacks on a whole mechanism as a black box: lower bounds on epsilon from many runs on neighbours.

The neighbours are those of a promise: one person more, one group more, or one group of another size, in
every region and at every size. Half of the runs serve to choose among them, and to choose an event that
distinguishes them; the other half to estimate how much likelier the event is with one dataset than with the
other. That gives a lower bound on the mechanism's real epsilon.
Nothing about the mechanism is taken on trust, and it measures by the code of releases with their sampler, so
this also finds what no enumeration of answers can: noise that differs from the plan, is missing somewhere or
is shared by cells, or a release that reveals more than the measurements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tallytree.counts.group_counts import GroupCounts
from tallytree.mechanisms.base import Mechanism
from tallytree.privacy.digits import DigitNoise, Take
from tallytree.privacy.door import find_noise, measure, measure_with_seed
from tallytree.privacy.measurements import Measurements
from tallytree.privacy.neighbours import enumerate_additions
from tallytree.privacy.noise import SeededNoise
from tallytree.privacy.plan import Plan
from tallytree.progress import one_processor
from tallytree.research.auditing.events import (
    BOLD,
    CAREFUL,
    Event,
    Evidence,
    Targets,
    choose_event,
    estimate,
    flatten,
    target_counts,
    target_measurements,
)
from tallytree.research.auditing.exact_losses import (
    ATTACKED,
    ATTACKED_SMALL,
    ATTACKED_WIDE,
    Case,
    Pair,
    Promise,
    Verdict,
    compare,
    judge,
    plan_case,
)
from tallytree.sizes import count_sizes, name_size

# Many runs of a mechanism on the same counts, by the code that makes releases.

Ints = npt.NDArray[np.int64]

Measure = Callable[[Plan, GroupCounts], Measurements]
"""Measure counts with fresh noise."""

Look = Callable[[GroupCounts], Ints]
"""Runs on these counts with fresh noise; returns what an attacker sees, as one row of cells."""


def measure_as_released(plan: Plan, counts: GroupCounts) -> Measurements:
    """Measure as a release does, with the same sampler, so that any error there shows here."""
    return measure(plan, counts, noise=find_noise(None, delta=None))


class SeededDigits(DigitNoise, SeededNoise):
    """The sampler of releases on bytes that can be repeated.

    Everything but the bytes is the code of releases. ``measure`` refuses it, as it refuses all seeded noise.
    """

    def open_stream(self) -> Take:
        """Return the source of the next bytes."""
        return self._generator.bytes


def measure_with(seed: int | None) -> Measure:
    """Return how to measure: as a release does; with a seed, in the same way but repeatably."""
    if seed is None:
        return measure_as_released
    noise = SeededDigits(seed)
    return lambda plan, counts: measure_with_seed(plan, counts, noise=noise)


def look_at_measurements(plan: Plan, measure: Measure) -> Look:
    """Return a function that shows the noisy answers."""
    return lambda counts: flatten(measure(plan, counts).values)


def look_at_counts(method: Mechanism, plan: Plan, measure: Measure) -> Look:
    """Return a function that shows what is released: the counts after post-processing."""

    def look(counts: GroupCounts) -> Ints:
        return flatten(method.postprocess(measure(plan, counts), total=plan.hide_total(counts.total)).counts)

    return look


def repeat(look: Look, counts: GroupCounts, *, runs: int, report: Callable[[int], None]) -> Ints:
    """Return what is seen in ``runs`` runs, a row each."""
    rows = []
    with one_processor():
        for _ in range(runs):
            rows.append(look(counts))
            report(1)
    return np.array(rows)


ERROR = 0.01
"""The largest probability that any bound of an audit is wrong: the attacks share it (Bonferroni)."""

CONFIDENCE = f"{100 * (1 - ERROR):g} %"

BACKGROUND = 2
"""Groups in every cell, of which one moves: zeros alone would hide much."""

BARE = slice(1, 2)
"""The region without groups, so that its first one may appear; it has one where their list is public."""

SHARE = Fraction(1, 2)
"""Neighbours are attacked whose loss is at least this share of the worst: on the sizes query, a group that
appears changes half as much as one that moves."""

KEPT = 4
"""After each round of choosing, one in this many neighbours is kept."""

LEAST = 4
"""The fewest runs of a round on each dataset: two to fit a line to, and two to test it on."""


@dataclass(frozen=True)
class Attack:
    """What was attacked, and the result."""

    seen: str
    """What the attacker looks at: the measurements, or the counts that are released."""
    case: Case
    asked: Fraction
    stated: Fraction
    """The epsilon that the plan of the attacked case states."""
    pair: Pair
    """The neighbours that were chosen."""
    tried: int
    """How many pairs they were chosen from."""
    evidence: Evidence

    @property
    def verdict(self) -> Verdict:
        """The verdict on the lower bound."""
        return judge(self.evidence.bound, stated=self.stated, asked=self.asked)

    @property
    def moved(self) -> str:
        """The region whose group moves, and its sizes before and after: nothing if it appears."""
        counts = self.pair.counts
        change = self.pair.neighbour.leaf - counts.leaf
        (region, after), gone = np.argwhere(change > 0)[0], np.argwhere(change < 0)
        before = name_size(counts.sizes, int(gone[0][1])) if len(gone) else "nothing"
        return f"{counts.hierarchy.leaves[region][-1]}: {before} to {name_size(counts.sizes, int(after))}"


def find_targets(case: Case, plan: Plan) -> list[Pair]:
    """Return the pairs to attack, the worst first: the same counts, with all neighbours that lose much."""
    leaf = np.full((case.hierarchy.leaf_count, count_sizes(case.sizes)), BACKGROUND)
    leaf[BARE] = 0
    leaf[BARE, 0] = case.neighbours.has_public_total
    counts = GroupCounts(case.hierarchy, case.sizes, leaf, bounds=case.bounds)
    pairs = [compare(plan, counts, neighbour) for neighbour in enumerate_additions(counts, case.neighbours)]
    worst = max(pair.loss or Fraction(0) for pair in pairs)
    kept = [pair for pair in pairs if pair.loss is None or pair.loss >= SHARE * worst]
    return sorted(kept, key=lambda pair: pair.rank, reverse=True)


@dataclass(frozen=True, eq=False)
class Attacker:
    """An attacker who sees the outcomes on neighbours of the same counts, and tries to tell them apart."""

    seen: str
    case: Case
    stated: Fraction
    look: Look
    pairs: Sequence[Pair]
    targets: Sequence[Targets]
    """What each pair would show without noise."""
    runs: int
    """Twice as many runs are made: half of them to choose, and the other half to estimate."""

    @property
    def all_runs(self) -> int:
        """How many runs the attack takes."""
        return sum((pairs + 1) * each for pairs, each in self._list_rounds()) + 2 * (self.runs // 2)

    def attack(self, *, asked: Fraction, error: float, report: Callable[[int], None]) -> Attack:
        """Choose neighbours and an event, and estimate epsilon from fresh runs."""
        place, event = self._choose(report)
        pair = self.pairs[place]
        first, second = (
            repeat(self.look, counts, runs=self.runs // 2, report=report)
            for counts in (pair.counts, pair.neighbour)
        )
        evidence = estimate(event, first, second, error=error)
        return Attack(self.seen, self.case, asked, self.stated, pair, len(self.pairs), evidence)

    def _choose(self, report: Callable[[int], None]) -> tuple[int, Event]:
        """Choose the neighbours easiest to tell apart, and an event: few runs on all, then more on the best.

        All pairs have the same counts on one side, so that the runs on these serve every pair.
        """
        first: Ints | None = None
        left: dict[int, Ints | None] = dict.fromkeys(range(len(self.pairs)))
        for kept, runs in self._list_rounds():
            first = self._run_more(first, self.pairs[0].counts, runs, report)
            deviations = BOLD if kept > 1 else CAREFUL
            ranked = []
            for place, earlier in list(left.items())[:kept]:
                second = self._run_more(earlier, self.pairs[place].neighbour, runs, report)
                guess, event = choose_event(self.targets[place], first, second, deviations=deviations)
                ranked.append((guess, place, event, second))
            ranked.sort(key=lambda each: -each[0])
            left = {place: second for _, place, _, second in ranked}
        _, place, event, _ = ranked[0]
        return place, event

    def _run_more(
        self, earlier: Ints | None, counts: GroupCounts, runs: int, report: Callable[[int], None]
    ) -> Ints:
        rows = repeat(self.look, counts, runs=runs, report=report)
        return rows if earlier is None else np.concatenate([earlier, rows])

    def _list_rounds(self) -> list[tuple[int, int]]:
        """Return how many neighbours are tried in each round, and how many more runs on each dataset."""
        kept = [len(self.pairs)]
        while kept[-1] > 1:
            kept.append(max(1, kept[-1] // KEPT))
        return [(pairs, max(LEAST, self.runs // (len(kept) * (pairs + 1)))) for pairs in kept]


def prepare_attacks(
    method: Mechanism,
    promise: Promise,
    *,
    epsilon: Fraction,
    measured_runs: int,
    runs: int,
    seed: int | None,
) -> list[Attacker]:
    """Prepare attacks on the measurements, and on the counts that are computed from them.

    Post-processing can only hide information (``exact_losses.py``), so those on measurements are stronger;
    the last is on what people get to see. If the solver is slow, it is on a smaller case.
    """
    measure = measure_with(seed)
    protect, total = promise
    aims = [("measurements", ATTACKED), ("counts", ATTACKED_SMALL if method.small else ATTACKED)]
    if protect == "person":
        aims.insert(1, ("measurements", ATTACKED_WIDE))
    attackers = []
    for seen, base in aims:
        case = base.under(protect, total)
        plan = plan_case(method, case, epsilon=epsilon)
        pairs = find_targets(case, plan)
        if seen == "measurements":
            look, each = look_at_measurements(plan, measure), measured_runs
            targets = [target_measurements(plan, pair) for pair in pairs]
        else:
            look, each = look_at_counts(method, plan, measure), runs
            targets = [target_counts(plan, pair) for pair in pairs]
        attackers.append(Attacker(seen, case, plan.epsilon, look, pairs, targets, each))
    return attackers
