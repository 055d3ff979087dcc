"""The whole way from counts to a release."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from tallytree.counts import GroupCounts
from tallytree.errors import CheckError, CountsError, MechanismError, PrivacyError, name_choices, show
from tallytree.manifest import write_manifest
from tallytree.measurement import measure
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import DEFAULT, find_mechanism
from tallytree.privacy.budget import Exact
from tallytree.privacy.digit_noise import DigitNoise
from tallytree.privacy.noise import ExactNoise, OpenDPNoise
from tallytree.progress import Progress, no_progress
from tallytree.release_tables import check_level_names
from tallytree.releases import Release

NOISES: dict[str, type[ExactNoise]] = {"digits": DigitNoise, "opendp": OpenDPNoise}
"""The exact samplers by name: the same distribution, ours fast, OpenDP's an independent implementation."""


def release(
    counts: GroupCounts,
    *,
    epsilon: Exact,
    mechanism: str | Mechanism = DEFAULT,
    budget: Mapping[str, Exact] | None = None,
    public_totals: str | None = None,
    noise: str = "digits",
    progress: Progress = no_progress,
) -> Release:
    """Release ``counts`` under epsilon-differential privacy.

    ``epsilon`` is text, an int, a Fraction or a Decimal; ``budget`` weighs the levels, which share
    epsilon evenly if it is None; ``public_totals`` is the level down to which the regions' numbers of
    groups are public, and are kept, by mechanisms that can; ``noise`` is the exact sampler to draw with,
    "digits" or "opendp".

    Each call spends ``epsilon`` anew, and nothing here remembers what was spent before. Whatever is wrong
    with the input is found before any noise is drawn; only a solver for small problems may still give up
    after that, and then the noise that it was given is lost.
    """
    if not isinstance(counts, GroupCounts):
        raise CountsError("A release is made from GroupCounts.")
    method, sampler = find_mechanism(mechanism), _find_noise(noise)
    if method.obstacle:
        raise MechanismError(f"{method.name} cannot make a release: {method.obstacle}.")
    check_level_names(counts.hierarchy)
    plan = method.plan(
        counts.hierarchy,
        sizes=counts.sizes,
        epsilon=epsilon,
        budget=budget,
        bounds=counts.bounds,
        public_totals=public_totals,
    )
    method.require()
    measurements = measure(plan, counts, noise=sampler, progress=progress)
    finish = progress("Making the counts add up", 1)
    solution = method.postprocess(measurements, total=counts.total)
    finish(1)
    manifest = write_manifest(
        mechanism=method,
        plan=plan,
        total=counts.total,
        noise=measurements.noise,
        assumptions=counts.assumptions,
        has_frame=counts.has_frame,
        solution=solution,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    made = Release(measurements, solution.counts, counts.total, manifest)
    failed = [check for check in made.verify().checks if not check.passed]
    if failed:
        raise CheckError(f"The release fails its check of {failed[0].name}, so it is withheld.")
    return made


def _find_noise(name: str) -> ExactNoise:
    if not isinstance(name, str) or name not in NOISES:
        raise PrivacyError(f"There is no noise {show(name)}: {name_choices(name, NOISES)}")
    return NOISES[name]()
