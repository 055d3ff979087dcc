"""Published measurements: the paper's table of L1 errors and violations, and Kuo et al.

The paper: F. Fioretto, P. Van Hentenryck, K. Zhu, "Differential Privacy of Hierarchical Census Data: An
Optimization Approach", the table in the section on accuracy. Means of 30 runs; it gives no deviations.

Kuo et al.: Y.-H. Kuo, C.-C. Chiu, D. Kifer, M. Hay, A. Machanavajjhala, "Differentially Private Hierarchical
Count-of-Counts Histograms", VLDB 2018.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tallytree.mechanisms.base import Mechanism
from tallytree.mechanisms.cumulative_chain import CALIBRATIONS, CumulativeChain
from tallytree.mechanisms.direct_dp import DirectDP
from tallytree.mechanisms.registry import MECHANISMS, mechanism

# The mechanisms that are compared, and their options.


@dataclass(frozen=True)
class Variant:
    """A mechanism with the options that are not its defaults."""

    mechanism: str
    options: dict[str, str | bool] = field(default_factory=dict, hash=False)

    @property
    def label(self) -> str:
        """Its name in tables and figures."""
        chosen = ", ".join(
            value if isinstance(value, str) else f"{name}={value}" for name, value in self.options.items()
        )
        return f"{self.mechanism} ({chosen})" if chosen else self.mechanism

    def make(self) -> Mechanism:
        """Make the mechanism itself."""
        return mechanism(self.mechanism, **self.options)

    @property
    def needs_solver(self) -> bool:
        """Whether its model goes to a general solver, which takes far longer than our own."""
        return bool(self.make().solver_module)

    @property
    def is_small(self) -> bool:
        """Whether it is for small problems only: the paper rules these out before it compares accuracy."""
        return self.make().small or self.options.get("solver") == "tables"


CHAIN = {
    calibration: Variant(CumulativeChain.name, {"calibration": calibration}) for calibration in CALIBRATIONS
}
"""The chain with the noise that its epsilon requires ("sound"), and with the paper's ("published")."""

TABLES = Variant(DirectDP.name, {"solver": "tables"})
"""The paper's own algorithm for M_H^dp, with its cost tables."""
CHAIN_TABLES = Variant(CumulativeChain.name, {"solver": "tables", "calibration": "published"})
"""The paper's own algorithm for M_c^ch, with its own noise; with sound noise its tables are too large."""


def list_contenders() -> list[Variant]:
    """Return all in the registry, in order; the chain with both calibrations, and the paper's cost tables."""
    return [variant for kind in MECHANISMS for variant in _list_variants(kind.name)]


def find_variants(labels: Iterable[str]) -> list[Variant]:
    """Return the contenders of these labels, in their usual order."""
    wanted = set(labels)
    return [variant for variant in list_contenders() if variant.label in wanted]


def _list_variants(name: str) -> list[Variant]:
    if name == DirectDP.name:
        return [Variant(name), TABLES]
    if name == CumulativeChain.name:
        return [*CHAIN.values(), CHAIN_TABLES]
    return [Variant(name)]


GROUPS, COUNTIES, STATES = 117_630_445, 3_144, 52
"""Its Census data; the states are the 50 with Puerto Rico and the District of Columbia."""
TAXIS, ZONES, BOROUGHS = 13_282, 263, 6
"""Its Taxi data: the numbers of groups, zones and boroughs."""


@dataclass(frozen=True)
class Figures:
    """One line of the table."""

    l1: tuple[float, float, float]
    """In thousands, level by level from the root."""
    violations: int
    decimals: int = 1
    """The number of decimals in which an error is given."""

    @property
    def total(self) -> float:
        """The sum over the three levels."""
        return sum(self.l1)


Published = Mapping[str, Mapping[str, Figures]]
"""The figures by epsilon and the paper's symbol for the mechanism."""

CENSUS_TABLE: Published = {
    "0.1": {
        "M_H^r": Figures((40.3, 54.3, 802.1), 1966),
        "M_H^dp": Figures((10.3, 38.4, 825.4), 0),
        "M_c^r": Figures((23.1, 64.5, 632.2), 1715),
        "M_c^dp": Figures((0.9, 23.2, 550.6), 0),
        "M_c^ch": Figures((0.2, 13.9, 603.0), 0),
        "TopDown": Figures((3.7, 35.0, 820.5), 0),
    },
    "0.5": {
        "M_H^r": Figures((39.4, 37.9, 216.3), 1990),
        "M_H^dp": Figures((2.4, 9.4, 230.8), 0),
        "M_c^r": Figures((23.1, 61.0, 494.2), 1718),
        "M_c^dp": Figures((0.2, 5.8, 159.1), 0),
        "M_c^ch": Figures((0.0, 3.4, 165.3), 0),
        "TopDown": Figures((0.9, 8.6, 228.4), 0),
    },
    "1": {
        "M_H^r": Figures((40.7, 39.2, 130.0), 1989),
        "M_H^dp": Figures((1.2, 5.1, 128.8), 0),
        "M_c^r": Figures((24.1, 63.0, 494.5), 1728),
        "M_c^dp": Figures((0.1, 3.2, 91.0), 0),
        "M_c^ch": Figures((0.0, 1.7, 86.9), 0),
        "TopDown": Figures((0.5, 4.6, 127.2), 0),
    },
}


def _in_ten_thousands(l1: tuple[float, float, float], violations: int) -> Figures:
    """Return a line of the Taxi half, whose unit is ten thousand."""
    root, middle, leaf = (round(10 * value) for value in l1)
    return Figures((float(root), float(middle), float(leaf)), violations, decimals=0)


TAXI_TABLE: Published = {
    "0.1": {
        "M_H^r": _in_ten_thousands((25.4, 158.7, 904.4), 18206),
        "M_H^dp": _in_ten_thousands((26.6, 121.9, 915.7), 0),
        "M_c^r": _in_ten_thousands((47.9, 153.2, 551.6), 19460),
        "M_c^dp": _in_ten_thousands((19.9, 65.6, 644.3), 0),
        "M_c^ch": _in_ten_thousands((5.5, 39.3, 537.8), 0),
        "TopDown": _in_ten_thousands((26.6, 93.0, 809.1), 0),
    },
    "0.5": {
        "M_H^r": _in_ten_thousands((8.6, 81.2, 364.2), 18591),
        "M_H^dp": _in_ten_thousands((5.5, 31.0, 408.9), 0),
        "M_c^r": _in_ten_thousands((46.7, 153.5, 450.7), 19531),
        "M_c^dp": _in_ten_thousands((4.0, 16.4, 352.9), 0),
        "M_c^ch": _in_ten_thousands((1.2, 9.5, 150.6), 0),
        "TopDown": _in_ten_thousands((5.3, 20.3, 242.1), 0),
    },
    "1": {
        "M_H^r": _in_ten_thousands((7.7, 77.2, 279.0), 18085),
        "M_H^dp": _in_ten_thousands((3.1, 19.8, 328.5), 0),
        "M_c^r": _in_ten_thousands((47.1, 154.2, 447.1), 19706),
        "M_c^dp": _in_ten_thousands((2.0, 8.7, 307.8), 0),
        "M_c^ch": _in_ten_thousands((0.5, 4.5, 78.6), 0),
        "TopDown": _in_ten_thousands((2.6, 10.3, 138.4), 0),
    },
}

NOTHING: Published = {}
"""The figures of data on which the paper did not measure."""

KUO_EPSILON = "1"
KUO_EMD = (10_547.0, 5_431.5, 1_601.8)
"""The EMD of their H_c on their taxi data: Manhattan, its halves, its neighbourhoods."""


def find_figures(variant: Variant, epsilon: str, published: Published) -> Figures | None:
    """Return what the paper measured for a variant, if ``published`` has it; its chain is the published one.

    The paper's figures are shown beside our own solver's, not a second time beside its cost tables.
    """
    if variant == CHAIN["sound"] or "solver" in variant.options:
        return None
    return published.get(epsilon, {}).get(variant.make().symbol)
