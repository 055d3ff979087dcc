"""An entry for the public registry of deployments of differential privacy, filled from the manifest.

The registry is the repository opendp/deployments-registry-data on GitHub; an entry is a YAML file of its
folder ``deployments``. What only the curator knows is marked. Where the registry has a list of values to
choose from, its checks refuse the mark, so that no entry can be submitted as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tallytree.exporting.release_facts import (
    describe_intervals,
    find_manifest_digest,
    get_day,
    make_slug,
    name_release,
)
from tallytree.ledger.receipts import read_receipt
from tallytree.privacy.budget import show_exact
from tallytree.releases.released import MANIFEST, Released
from tallytree.sizes import show_sizes

MARK = "FILL IN: "
"""How a text begins that the curator must replace."""

HEADING = f"""\
# An entry for the registry of deployments of differential privacy (opendp/deployments-registry-data on
# GitHub), made by Tallytree from the manifest of a release. Replace each text that begins with
# "{MARK.strip()}", check the others, and delete these lines.
"""

SECTORS = "Technology, Healthcare, Education, Government, Energy or Finance"

LONG = 60
"""Letters of a text from which on it has lines of its own."""


def write_registry_entry(release: Released, path: Path) -> int:
    """Write the entry; return how many texts are left to fill in."""
    entry = "\n".join(_write_mapping(describe_deployment(release), 0))
    path.write_text(f"{HEADING}{entry}\n", encoding="utf-8")
    return entry.count(MARK)


def describe_deployment(release: Released) -> dict[str, Any]:
    """Return the entry as the registry's schema describes it."""
    manifest, say = release.manifest, release.words.say
    privacy, title = manifest["privacy"], name_release(release)
    is_concentrated = "rho" in privacy
    return {
        "url_slug": make_slug(f"{title} {get_day(release)[:4]}"),
        "deployment": {
            "basic": {
                "name": title,
                "data_curators": [
                    {
                        "data_curator_name": f"{MARK}who publishes the release",
                        "data_curator_type": f"{MARK}Government, Industry or Nonprofit",
                    }
                ],
                "description": say(
                    f"The number of groups of each size ({show_sizes(release.sizes)}) in each of "
                    f"{release.hierarchy.region_count:,} regions, on {len(release.hierarchy.levels)} levels. "
                    "The counts are whole, not negative, and add up across the levels."
                ),
                "intended_use": f"{MARK}what the counts are for",
                "data_product_type": "Summary statistics",
                "data_product_region": f"{MARK}the country or region that the data are about",
                "data_product_sector": f"{MARK}{SECTORS}",
                "publication_date": get_day(release),
            },
            "dp_variant": {
                "variant_name": "Zero-concentrated DP" if is_concentrated else "Pure DP",
                "data_domain": say(
                    "Datasets of groups with a size and a region, for the public regions and sizes."
                ),
                "unprotected_quantities": _list(privacy["public"]),
            },
            "privacy_loss": {
                "privacy_unit": say("Group" if release.measurements.plan.protect == "group" else "Person"),
                "privacy_unit_details": f"{_capitalize(privacy['neighbours'])}. {privacy['statement']}",
                **_count_units(release),
                "privacy_parameters": _list_parameters(privacy),
                "privacy_parameters_details": _describe_parameters(release),
            },
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": "The curator holds the data and is trusted with them; readers of the "
                "release are not trusted, and may know anything else about anybody.",
                "actors": f"{MARK}who sees the data, and who sees only the release",
                "release_type": "One release",
                "release_type_details": _describe_ledger(release),
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "The release is a folder of files; nobody can query the data.",
            },
            "implementation": _describe_implementation(release),
            "administrative": {
                "evidence_sources": {
                    "release": {
                        "evidence_source_type": "Formal publication by the deploying organization",
                        "misc": {
                            "title": title,
                            "year": int(get_day(release)[:4]),
                            "url": f"{MARK}where the release is published",
                            "note": _describe_digest(release),
                        },
                    }
                },
                "status": "Draft",
                "registry_authors": [f"{MARK}who wrote this entry"],
                "tier": 3,
            },
        },
    }


def _count_units(release: Released) -> dict[str, int]:
    """Return how many units are protected, as far as the release tells it: of persons it does not."""
    is_group = release.measurements.plan.protect == "group"
    return {"number_of_privacy_units": release.total} if is_group else {}


def _list_parameters(privacy: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(Fraction(privacy[name])) for name in ("epsilon", "delta", "rho") if name in privacy}


def _describe_parameters(release: Released) -> str:
    plan = release.measurements.plan
    unit = plan.unit.name
    parts = [f"{unit} {show_exact(level.loss)} at level {level.name!r}" for level in plan.levels]
    whole = f"Exactly, epsilon is {show_exact(plan.epsilon)}. The parts of the levels:"
    return f"{whole}\n{_list(parts)}"


def _describe_ledger(release: Released) -> str:
    receipt = read_receipt(release.manifest)
    if receipt is not None:
        return receipt.describe()
    return f"{MARK}what else was or will be released from these data"


def _describe_implementation(release: Released) -> dict[str, str]:
    manifest = release.manifest
    privacy, mechanism, solution = manifest["privacy"], manifest["mechanism"], manifest["solution"]
    bounds = f"Bounds on a person were {privacy['bounds']}.\n" if "bounds" in privacy else ""
    assumed = f"{_list(privacy['assumed'])}\n" if privacy["assumed"] else ""
    software = ", ".join(f"{name} {version}" for name, version in manifest["software"].items())
    queries = ", ".join(
        f"{level.query!r} with scale {show_exact(level.scale)} (sensitivity {level.sensitivity}) at level "
        f"{level.name!r}"
        for level in release.measurements.plan.levels
    )
    found = {
        "preprocessing_and_hyperparameter_tuning": f"{bounds}{assumed}{MARK}how the sizes, epsilon and its "
        "split were chosen",
        "mechanisms": f"Noise: {privacy['noise']}. Queries: {queries}. The numbers of the guarantee are "
        f"exact fractions; nothing about privacy is a floating-point number. Software: {software}.",
        "composition": "Sequential over the levels, whose parts add up to the whole. The sensitivity of a "
        "level is that of all its regions together.",
        "post_processing": f"{mechanism['name']} ({mechanism['symbol']}, solver {solution['solver']}): "
        "whole, non-negative counts that add up over the levels, from the noisy answers alone.",
        "justification": f"{MARK}why these choices were made, and by whom",
    }
    if describe_intervals(release):
        found["utility"] = describe_intervals(release)
    return found


def _describe_digest(release: Released) -> str:
    digest = find_manifest_digest(release)
    return f"The SHA-256 of its {MANIFEST} is {digest}." if digest else f"A release with a {MANIFEST}."


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


# The YAML of an entry: mappings, lists of them, numbers and text.


def _write_mapping(mapping: Mapping[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, value in mapping.items():
        if isinstance(value, dict):
            yield f"{indent}{key}:"
            yield from _write_mapping(value, depth + 1)
        elif isinstance(value, list):
            yield f"{indent}{key}:"
            yield from _write_list(value, depth + 1)
        elif isinstance(value, str) and _is_block(value):
            yield f"{indent}{key}: |-"
            yield from (f"{indent}  {line}" for line in value.split("\n"))
        else:
            yield f"{indent}{key}: {_write_scalar(value)}"


def _write_list(items: list[Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for item in items:
        if isinstance(item, dict):
            first, *rest = _write_mapping(item, depth + 1)
            yield f"{indent}- {first.strip()}"
            yield from rest
        else:
            yield f"{indent}- {_write_scalar(item)}"


def _is_block(text: str) -> bool:
    """Whether a text can have lines of its own, in which nothing is escaped."""
    lines = text.split("\n")
    return len(text) > LONG and all(line.isprintable() and line == line.strip() != "" for line in lines)


def _write_scalar(value: float | str) -> str:
    if not isinstance(value, str):
        written = repr(value)
        return written.replace("e", ".0e") if "e" in written and "." not in written else written
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
