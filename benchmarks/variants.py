"""Which mechanisms are timed, and with which options."""

from dataclasses import dataclass, field

import tallytree as tt


@dataclass(frozen=True)
class Variant:
    """A mechanism with the options that are not its defaults."""

    mechanism: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """As it is called in tables and figures."""
        chosen = ", ".join(self.options.values())
        return f"{self.mechanism} ({chosen})" if chosen else self.mechanism

    def make(self) -> tt.Mechanism:
        """The mechanism itself."""
        return tt.mechanism(self.mechanism, **self.options)


MORE = (
    Variant("direct-dp", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables"}),
    Variant("cumulative-chain", {"solver": "tables", "calibration": "published"}),
)
"""The paper's own algorithms; the chain's tables with the noise that the paper gave them as well."""


def list_variants() -> list[Variant]:
    """Every mechanism that is registered, with its defaults, each followed by its further variants."""
    return [
        variant
        for name in tt.list_mechanisms()
        for variant in (Variant(name), *(more for more in MORE if more.mechanism == name))
    ]
