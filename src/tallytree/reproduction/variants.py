"""Which mechanisms are compared, and with which options."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.cumulative_chain import CALIBRATIONS, CumulativeChain
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.registry import MECHANISMS, mechanism


@dataclass(frozen=True)
class Variant:
    """A mechanism with the options that are not its defaults."""

    mechanism: str
    options: dict[str, str | bool] = field(default_factory=dict, hash=False)

    @property
    def label(self) -> str:
        """As it is called in tables and figures."""
        chosen = ", ".join(
            value if isinstance(value, str) else f"{name}={value}" for name, value in self.options.items()
        )
        return f"{self.mechanism} ({chosen})" if chosen else self.mechanism

    def make(self) -> Mechanism:
        """The mechanism itself."""
        return mechanism(self.mechanism, **self.options)

    @property
    def needs_solver(self) -> bool:
        """Whether its model goes to a general solver, which takes far longer than our own."""
        return bool(self.make().solver_module)

    @property
    def is_small(self) -> bool:
        """Whether it is for small problems only: the paper rules these out before it looks at accuracy."""
        return self.make().small or self.options.get("solver") == "tables"


CHAIN = {
    calibration: Variant(CumulativeChain.name, {"calibration": calibration}) for calibration in CALIBRATIONS
}
"""The chain with the noise that its epsilon asks for ("sound"), and with the paper's ("published")."""

TABLES = Variant(DirectDP.name, {"solver": "tables"})
"""The paper's own algorithm for M_H^dp, with its cost tables."""
CHAIN_TABLES = Variant(CumulativeChain.name, {"solver": "tables", "calibration": "published"})
"""The paper's own algorithm for M_c^ch, with its own noise; with sound noise its tables are too large."""


def list_contenders() -> list[Variant]:
    """All in the registry, in its order; the chain with both calibrations, and the paper's cost tables."""
    return [variant for kind in MECHANISMS for variant in _list_variants(kind.name)]


def find_variants(labels: Iterable[str]) -> list[Variant]:
    """The contenders of these labels, in their usual order."""
    wanted = set(labels)
    return [variant for variant in list_contenders() if variant.label in wanted]


def _list_variants(name: str) -> list[Variant]:
    if name == DirectDP.name:
        return [Variant(name), TABLES]
    if name == CumulativeChain.name:
        return [*CHAIN.values(), CHAIN_TABLES]
    return [Variant(name)]
