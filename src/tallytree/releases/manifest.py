"""The manifest of a release: everything that is claimed about it, for people and for programs."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from tallytree import __version__
from tallytree.arrays import MAX_CELLS, MAX_GROUPS, MAX_SCALE
from tallytree.errors import FolderError, InputError, MechanismError, show
from tallytree.hierarchy import Hierarchy
from tallytree.ledger.receipts import Receipt, read_receipt
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_mechanism, mechanism
from tallytree.privacy.budget import UnitName
from tallytree.privacy.neighbours import Bounds, Neighbours, check_neighbours
from tallytree.privacy.plan import LevelPlan, Plan
from tallytree.privacy.queries import find_query
from tallytree.privacy.zcdp import parse_delta
from tallytree.releases.statement import (
    ENFORCED,
    ON_TRUST,
    describe_neighbours,
    describe_protection,
    list_group_epsilons,
    list_public_facts,
)
from tallytree.sizes import read_sizes, state_sizes
from tallytree.solvers.solution import Solution
from tallytree.words import PLAIN, Words, read_words

# The installed versions of other packages.


def find_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions by name, without packages that are optional and not installed.

    >>> sorted(find_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


FORMAT = "tallytree-release-1"
PACKAGES = ("cryptography", "duckdb", "ibis-framework", "numba", "numpy", "opendp", "pyarrow", "sqlalchemy")
"""The packages that a release may depend on."""

NO_LEDGER = "No ledger was charged: what else was released from these data is not known here."

DIGEST = "sha256"
"""The key of the digest of the rest of a manifest."""

Manifest = dict[str, Any]

SCHEMA = "manifest.schema.json"
"""The JSON Schema of a manifest, beside this module; the number at the end of its $id is that of FORMAT."""

MOST_BYTES = 2**22
"""The largest size of a manifest: hundreds of times that of a large one."""

_EXACT = re.compile(r"[1-9][0-9]{0,3999}(/[1-9][0-9]{0,3999})?")
_FARTHEST = 10**60
"""Numbers of a plan are at most this, and at least one part in it: far within the range of floats."""


def write_manifest(
    *,
    privacy: dict[str, Any],
    mechanism: Mechanism,
    plan: Plan,
    total: int,
    has_frame: bool | None,
    solution: Solution,
    words: Words,
) -> Manifest:
    """Write all facts about a release except its files' hashes; ``privacy`` is from :func:`state_privacy`."""
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "software": {
            "tallytree": __version__,
            **find_versions(PACKAGES),
        },
        "privacy": privacy,
        "data": {
            "levels": list(plan.hierarchy.levels),
            "regions": [plan.shape(index)[0] for index in range(len(plan.levels))],
            **state_sizes(plan.sizes),
            "total": total,
            "frame": has_frame,
            **words.state(),
        },
        "mechanism": {
            "name": mechanism.name,
            "revision": mechanism.revision,
            "symbol": mechanism.symbol,
            "options": {field.name: getattr(mechanism, field.name) for field in fields(mechanism)},
            "exact": mechanism.exact,
        },
        "solution": {
            "objective": str(solution.objective),
            "solver": solution.solver,
            "certificate_slack": solution.certificate and str(solution.certificate.slack),
            "accuracy": solution.accuracy and asdict(solution.accuracy),
            "effort": solution.effort,
        },
    }


def state_privacy(
    plan: Plan,
    *,
    total: int,
    noise: str,
    assumptions: Sequence[str],
    has_frame: bool | None,
    enforced: bool,
    receipt: Receipt | None,
    words: Words = PLAIN,
) -> dict[str, Any]:
    """State what is promised to whom, derived from the plan and from what is known about the counts.

    The latter is ``noise``, ``assumptions``, ``has_frame``, ``enforced``: see :class:`tallytree.GroupCounts`.
    """
    return {
        "statement": words.say(describe_protection(plan, has_frame=has_frame, enforced=enforced)),
        "epsilon": str(plan.epsilon),
        **_state_concentrated(plan),
        "neighbours": words.say(describe_neighbours(plan)),
        **_state_kinds(plan),
        **_state_bounds(plan, enforced),
        **_state_whole_groups(plan),
        "levels": [
            {
                "name": level.name,
                "query": level.query,
                "sensitivity": str(level.sensitivity),
                level.unit: str(level.loss),
                "scale": str(level.scale),
            }
            for level in plan.levels
        ],
        "public_totals": plan.public_totals,
        "noise": noise,
        "public": [words.say(fact) for fact in list_public_facts(plan, total)],
        "assumed": list(assumptions),
        "ledger": NO_LEDGER if receipt is None else receipt.to_dict(),
    }


def _state_bounds(plan: Plan, enforced: bool) -> dict[str, int | str]:
    """Return what one person contributes at most: of no matter where whole groups are protected."""
    if plan.protect == "group":
        return {}
    return {
        "max_records": plan.bounds.max_records,
        "max_quantity": plan.bounds.max_quantity,
        "bounds": ENFORCED if enforced else ON_TRUST,
    }


def _state_whole_groups(plan: Plan) -> dict[str, list[dict[str, str]]]:
    """State at which epsilon whole groups are protected, where it is a person who is."""
    found = list_group_epsilons(plan)
    if not found:
        return {}
    return {"whole_groups": [{"size": size, "epsilon": str(epsilon)} for size, epsilon in found]}


def _state_kinds(plan: Plan) -> dict[str, str]:
    """Return who is protected, and whether the total is public, where they are not the ordinary ones."""
    kinds: dict[str, str] = {"protect": plan.protect, "total": plan.total}
    return {} if kinds == {"protect": "person", "total": "public"} else kinds


def _state_concentrated(plan: Plan) -> dict[str, str]:
    """State what Gaussian noise promises besides epsilon: nothing under pure differential privacy."""
    return {} if plan.delta is None else {"delta": str(plan.delta), "rho": str(plan.loss.rho)}


def read_plan(manifest: Mapping[str, Any], hierarchy: Hierarchy) -> Plan:
    """Return the plan that a manifest states, with its numbers unchanged."""
    try:
        privacy = manifest["privacy"]
        delta = parse_delta(privacy["delta"]) if "delta" in privacy else None
        unit: UnitName = "epsilon" if delta is None else "rho"
        levels = tuple(
            LevelPlan(
                str(level["name"]),
                find_query(str(level["query"])).name,
                read_exact(level["sensitivity"]),
                read_exact(level[unit]),
                read_exact(level["scale"]),
                unit,
            )
            for level in privacy["levels"]
        )
        sizes = read_sizes(manifest["data"])
        kinds = privacy.get("protect", "person"), privacy.get("total", "public")
        bounds = Bounds()
        if kinds[0] == "person":
            bounds = Bounds(max_records=privacy["max_records"], max_quantity=privacy["max_quantity"])
        check_neighbours(Neighbours(protect=kinds[0], total=kinds[1], bounds=bounds), sizes)
        public_totals = privacy["public_totals"]
        if public_totals is not None and public_totals not in hierarchy.levels:
            raise ValueError
        if any(level.scale > MAX_SCALE for level in levels):
            raise ValueError
    except (KeyError, TypeError, ValueError, ArithmeticError, InputError):
        raise FolderError("The manifest is damaged: it does not state a plan.") from None
    if tuple(level.name for level in levels) != hierarchy.levels:
        raise FolderError("The manifest's plan is for other levels than its data.")
    return Plan(hierarchy, sizes, bounds, levels, public_totals, delta, *kinds)


# The mechanism that a manifest names, and whether that of this version is the same.


@dataclass(frozen=True)
class Origin:
    """The mechanism of a release, as this version has it."""

    method: Mechanism
    obstacle: str = ""
    """Why it may give other counts than those of the release; empty if it gives the same."""


def find_origin(manifest: Manifest) -> Origin:
    """Return the mechanism that a manifest names, with its options, in the revision that made the release.

    A revision that this version does not have is an obstacle. The mechanism then has its default options: the
    objective and the certificate of given counts do not depend on them.
    """
    part = manifest.get("mechanism")
    stated: dict[str, Any] = part if isinstance(part, dict) else {}
    revision, given = stated.get("revision", 1), stated.get("options")
    options = {str(name): value for name, value in given.items()} if isinstance(given, dict) else {}
    if type(revision) is not int or revision < 1:
        raise MechanismError("The revision of a mechanism is a whole number, 1 or above.")
    now = find_mechanism(stated.get("name", ""))
    if revision == now.revision:
        return Origin(mechanism(now.name, **options))
    needed = now.earlier.get(revision)
    if needed is not None and all(options.get(name, value) == value for name, value in needed.items()):
        return Origin(mechanism(now.name, **{**options, **needed}))
    return Origin(
        now,
        f"the release was solved by revision {revision} of {now.name}, and version {__version__} has "
        f"revision {now.revision}",
    )


def read_exact(text: object) -> Fraction:
    """Read a positive number from a manifest: it may have more digits than a user may give, within limits."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError("not an exact number")
    number = Fraction(text)
    if not Fraction(1, _FARTHEST) <= number <= _FARTHEST:
        raise ValueError("not a number of a plan")
    return number


def seal(manifest: Manifest) -> str:
    """Return the text of a manifest with its own digest, which any changed byte invalidates."""
    bare = {name: value for name, value in manifest.items() if name != DIGEST}
    return _write({**bare, DIGEST: hashlib.sha256(_write(bare).encode()).hexdigest()})


def _write(manifest: Manifest) -> str:
    return json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"


def read_manifest(path: Path) -> bytes:
    """Return the content of a manifest's file; refuse one that is too large for a manifest."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise FolderError(f"The manifest is damaged: it is larger than {MOST_BYTES:,} bytes.")
    return content


def parse_manifest(text: str) -> Manifest:
    """Parse a manifest from its JSON, and check the facts that reading a release needs."""
    try:
        manifest = json.loads(text)
        if manifest["format"] != FORMAT:
            raise FolderError(f"The release has another format than {FORMAT}.")
        data = manifest["data"]
        levels, total = data["levels"], data["total"]
        if isinstance(total, bool) or not isinstance(total, int) or not 0 <= total <= MAX_GROUPS:
            raise TypeError
        if not (isinstance(levels, list) and levels):
            raise TypeError
        if not all(isinstance(name, str) for name in levels):
            raise TypeError
        _check_regions(data["regions"], len(levels))
        read_exact(manifest["privacy"]["epsilon"])
        read_receipt(manifest)
        read_sizes(data)
        read_words(data)
        if not isinstance(manifest["files"], dict):
            raise TypeError
    except FolderError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError, RecursionError, InputError):
        raise FolderError("The manifest is damaged: it lacks facts that every release has.") from None
    _refuse_unknown_keys(manifest)
    return dict(manifest)


def _check_regions(regions: object, levels: int) -> None:
    """Refuse numbers of regions that no hierarchy has: files are checked against them before reading."""
    if not isinstance(regions, list) or len(regions) != levels:
        raise TypeError
    if not all(type(count) is int and 1 <= count <= MAX_CELLS for count in regions):
        raise TypeError


@cache
def read_schema() -> dict[str, Any]:
    """Return the JSON Schema of a manifest (draft 2020-12)."""
    schema: dict[str, Any] = json.loads(files("tallytree.releases").joinpath(SCHEMA).read_bytes())
    return schema


CHECKED_ELSEWHERE = ("privacy", "files")
"""Parts whose keys other checks compare one by one, with better messages."""


def _refuse_unknown_keys(manifest: Manifest) -> None:
    """Refuse keys that this software does not write: nobody could check them, and readers may trust them."""
    schema = read_schema()
    _refuse_other_keys(manifest, schema, "")
    for part, described in schema["properties"].items():
        if part not in CHECKED_ELSEWHERE and "properties" in described:
            _refuse_other_keys(manifest.get(part), described, f" in {part!r}")


def _refuse_other_keys(facts: object, described: Mapping[str, Any], where: str) -> None:
    for key in facts if isinstance(facts, dict) else ():
        if key not in described["properties"]:
            raise FolderError(
                f"The manifest has an unknown key{where}: {show(key)}. It was changed, or written by "
                "another version of Tallytree."
            )
