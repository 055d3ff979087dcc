"""The mechanism that a manifest names, and whether this version's is the same one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallytree import __version__
from tallytree.errors import MechanismError
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.registry import find_mechanism, mechanism
from tallytree.releases.manifest import Manifest


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
