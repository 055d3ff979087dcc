"""Differentially private counts of groups by size in a region hierarchy.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tallytree.comparison.comparing import compare as compare
    from tallytree.counts.engines.session import Engine as Engine
    from tallytree.counts.group_counts import GroupCounts as GroupCounts
    from tallytree.counts.people import count_groups as count_groups
    from tallytree.counts.region_tables import read_hierarchy as read_hierarchy
    from tallytree.exporting.exporter import export as export
    from tallytree.hierarchy import Hierarchy as Hierarchy
    from tallytree.intervals.estimates import Estimate as Estimate
    from tallytree.intervals.estimates import Estimates as Estimates
    from tallytree.intervals.replicates import add_intervals as add_intervals
    from tallytree.ledger.ledger import Ledger as Ledger
    from tallytree.mechanisms.base import Mechanism as Mechanism
    from tallytree.mechanisms.registry import list_mechanisms as list_mechanisms
    from tallytree.mechanisms.registry import mechanism as mechanism
    from tallytree.planning.advice import Advice as Advice
    from tallytree.planning.advice import advise as advise
    from tallytree.privacy.measurements import Measurements as Measurements
    from tallytree.privacy.neighbours import Bounds as Bounds
    from tallytree.privacy.plan import Plan as Plan
    from tallytree.publishing.pipeline import release as release
    from tallytree.publishing.publisher import Release as Release
    from tallytree.publishing.publisher import load as load
    from tallytree.releases.flags import FlagLimits as FlagLimits
    from tallytree.releases.margins import group_regions as group_regions
    from tallytree.releases.signatures import sign as sign
    from tallytree.releases.signatures import verify as verify
    from tallytree.research.evaluation import Simulation as Simulation
    from tallytree.research.evaluation import evaluate as evaluate
    from tallytree.research.evaluation import simulate as simulate
    from tallytree.sizes import SizeClasses as SizeClasses
    from tallytree.solvers.solution import Solution as Solution
    from tallytree.words import Words as Words

__version__ = "0.2.0"

_HOMES = {
    "Advice": "planning.advice",
    "Bounds": "privacy.neighbours",
    "Engine": "counts.engines.session",
    "Estimate": "intervals.estimates",
    "Estimates": "intervals.estimates",
    "FlagLimits": "releases.flags",
    "GroupCounts": "counts.group_counts",
    "Hierarchy": "hierarchy",
    "Ledger": "ledger.ledger",
    "Measurements": "privacy.measurements",
    "Mechanism": "mechanisms.base",
    "Plan": "privacy.plan",
    "Release": "publishing.publisher",
    "Simulation": "research.evaluation",
    "SizeClasses": "sizes",
    "Solution": "solvers.solution",
    "Words": "words",
    "add_intervals": "intervals.replicates",
    "advise": "planning.advice",
    "compare": "comparison.comparing",
    "count_groups": "counts.people",
    "evaluate": "research.evaluation",
    "export": "exporting.exporter",
    "group_regions": "releases.margins",
    "list_mechanisms": "mechanisms.registry",
    "load": "publishing.publisher",
    "mechanism": "mechanisms.registry",
    "read_hierarchy": "counts.region_tables",
    "release": "publishing.pipeline",
    "sign": "releases.signatures",
    "simulate": "research.evaluation",
    "verify": "releases.signatures",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tallytree' has no attribute {name!r}")
    value = getattr(import_module(f"tallytree.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
