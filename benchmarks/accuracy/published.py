"""What others measured: the paper's table of L1 errors and violations (the Census half), and Kuo et al.

The paper: F. Fioretto, P. Van Hentenryck, K. Zhu, "Differential Privacy of Hierarchical Census Data: An
Optimization Approach", the table in the section on accuracy. Means of 30 runs; it gives no deviations.

Kuo et al.: Y.-H. Kuo, C.-C. Chiu, D. Kifer, M. Hay, A. Machanavajjhala, "Differentially Private Hierarchical
Count-of-Counts Histograms", VLDB 2018.
"""

from collections.abc import Mapping
from dataclasses import dataclass

GROUPS, COUNTIES, STATES = 117_630_445, 3_144, 52
"""The data; the states are the 50 with Puerto Rico and the District of Columbia."""


@dataclass(frozen=True)
class Figures:
    """One line of the table."""

    l1: tuple[float, float, float]
    """In thousands: nation, state, county."""
    violations: int

    @property
    def total(self) -> float:
        """Over the three levels."""
        return sum(self.l1)


Published = Mapping[str, Mapping[str, Figures]]
"""By epsilon and the paper's symbol for the mechanism."""

CENSUS: Published = {
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

KUO_EPSILON = "1"
KUO_EMD = (10_547.0, 5_431.5, 1_601.8)
"""Of their H_c on their taxi data: Manhattan, its halves, its neighbourhoods."""

TAXI_ZONES = 263
"""Of the paper's own taxi data, which are others."""
