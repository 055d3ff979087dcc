"""What is said of a release beside its tables: the promise, the budget, digests, how to read the numbers."""

from __future__ import annotations

import hashlib
import re

from tallytree.errors import show
from tallytree.ledger.receipts import read_receipt
from tallytree.privacy.budget import show_exact
from tallytree.releases.manifest import DIGEST, seal
from tallytree.releases.released import MANIFEST, Released
from tallytree.sizes import show_sizes


def name_release(release: Released) -> str:
    """Return the title of a release: its own, or what it is about and where."""
    words = release.words
    return words.title or f"{words.say('Groups by size')}: {release.hierarchy.path(0, 0)[0]}"


def make_slug(text: str, between: str = "-") -> str:
    """Return a short name of lower-case letters, digits and a separator.

    >>> make_slug("Firms by employees: US"), make_slug("???")
    ('firms-by-employees-us', 'release')
    """
    return re.sub("[^a-z0-9]+", between, text.lower())[:60].strip(between) or "release"


def get_day(release: Released) -> str:
    """Return the day on which the release was made, as 2026-02-28."""
    return str(release.manifest["created"])[:10]


def describe_intervals(release: Released) -> str:
    """Return what the intervals are; empty if there are none."""
    found = release.intervals
    if found is None:
        return ""
    return (
        f"{float(100 * found.coverage):g} % of the true numbers are expected within their intervals, noise "
        f"and post-processing included (estimated from {found.replicates} runs of the mechanism on the "
        "released numbers, which cost no privacy)."
    )


def find_manifest_digest(release: Released) -> str:
    """Return the SHA-256 of the file of the manifest; empty for a release that was never written."""
    if DIGEST not in release.manifest:
        return ""
    return hashlib.sha256(seal(release.manifest).encode()).hexdigest()


def list_facts(release: Released) -> list[tuple[str, str]]:
    """List what a reader of the tables should know, by name."""
    manifest, words = release.manifest, release.words
    privacy, receipt = manifest["privacy"], read_receipt(manifest)
    facts = [
        ("Title", name_release(release)),
        ("Privacy", privacy["statement"]),
        ("Epsilon", show_exact(release.epsilon)),
        *((name.capitalize(), privacy[name]) for name in ("delta", "rho") if name in privacy),
        (words.say("Groups in all"), f"{release.total:,}"),
        ("Sizes", show_sizes(release.sizes)),
        ("Rows", words.say("The table of counts has no rows for regions and sizes without groups.")),
        ("Accuracy", describe_intervals(release) or "The counts are not exact: noise was added."),
        *(("Public", fact) for fact in privacy["public"]),
        *(("Taken on trust", fact) for fact in privacy["assumed"]),
        ("Ledger", privacy["ledger"] if receipt is None else receipt.describe()),
        ("Mechanism", f"{manifest['mechanism']['name']} ({manifest['mechanism']['symbol']})"),
        ("Made", f"{manifest['created']}, with Tallytree {manifest['software']['tallytree']}"),
        *((f"SHA-256 of {name}", digest) for name, digest in manifest.get("files", {}).items()),
    ]
    digest = find_manifest_digest(release)
    return [*facts, (f"SHA-256 of {MANIFEST}", digest)] if digest else facts


def describe_in_short(release: Released) -> str:
    """Return a paragraph about the release for the metadata of its tables."""
    words, levels = release.words, release.hierarchy.levels
    parts = [
        words.say(f"How many groups of each size ({show_sizes(release.sizes)}) there are in each region"),
        f", for the levels {', '.join(map(show, levels))}. {release.manifest['privacy']['statement']}",
        f" {described}" if (described := describe_intervals(release)) else "",
    ]
    return "".join(parts)
