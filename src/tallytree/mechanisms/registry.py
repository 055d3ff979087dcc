"""All mechanisms: a new one is a file beside this one, and a line here."""

from dataclasses import fields
from typing import Any

from tallytree.errors import MechanismError, name_choices, show
from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.count_of_counts import CountOfCounts
from tallytree.mechanisms.cumulative_chain import CumulativeChain
from tallytree.mechanisms.cumulative_dp import CumulativeDP
from tallytree.mechanisms.cumulative_joint import CumulativeJoint
from tallytree.mechanisms.cumulative_qip import CumulativeQIP
from tallytree.mechanisms.cumulative_qp import CumulativeQP
from tallytree.mechanisms.cyclic_laplace import CyclicLaplace
from tallytree.mechanisms.direct_cp import DirectCP
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.direct_qip import DirectQIP
from tallytree.mechanisms.direct_qp import DirectQP
from tallytree.mechanisms.topdown import TopDown
from tallytree.privacy.neighbours import Neighbours
from tallytree.sizes import Sizes

MECHANISMS: tuple[type[Mechanism], ...] = (
    CumulativeJoint,
    DirectDP,
    DirectQIP,
    DirectQP,
    DirectCP,
    CumulativeDP,
    CumulativeQIP,
    CumulativeQP,
    CumulativeChain,
    TopDown,
    CountOfCounts,
    CyclicLaplace,
)

DEFAULT = CumulativeJoint.name


MOST_CROSSED = 4


def find_default(neighbours: Neighbours, sizes: Sizes) -> str:
    """Return the name of the default mechanism, by the noise that it needs.

    The sizes query needs noise for 1 or 2 where whole groups are protected, and else for 2 for each record of
    a person, whatever the sizes. A cumulative one needs it for the edges that a group crosses. It is the more
    accurate at the same noise, but not if that is more than twice as much.
    """
    if neighbours.protect == "group" or neighbours.count_crossed(sizes) > MOST_CROSSED:
        return DirectDP.name
    return DEFAULT


def list_mechanisms() -> list[str]:
    """Return the names of the mechanisms.

    >>> "cumulative-joint" in list_mechanisms()
    True
    """
    return [kind.name for kind in MECHANISMS]


def mechanism(name: str, /, **options: Any) -> Mechanism:
    """Return the mechanism of that name, with its options.

    >>> mechanism("direct-dp", solver="tables")
    DirectDP(solver='tables')
    """
    kinds = {kind.name: kind for kind in MECHANISMS}
    if not isinstance(name, str) or name not in kinds:
        raise MechanismError(f"There is no mechanism {show(name)}: {name_choices(name, kinds)}")
    known = [field.name for field in fields(kinds[name])]
    for option in options:
        if option not in known:
            raise MechanismError(f"{name} has no option {show(option)}: {name_choices(option, known)}")
    return kinds[name](**options)


def find_mechanism(given: str | Mechanism) -> Mechanism:
    """Return a mechanism given by its name or as an object."""
    return given if isinstance(given, Mechanism) else mechanism(given)
