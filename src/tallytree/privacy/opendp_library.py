"""OpenDP, an extra: it is as large as everything else together, and only some releases need it."""

from functools import cache
from typing import Any

from tallytree.errors import PrivacyError


@cache
def load_opendp() -> Any:
    """Its module of everything, ready for use."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise PrivacyError(
            "Gaussian noise (delta, rho) and the sampler 'opendp' need OpenDP, which is not installed: "
            "pip install 'tallytree[opendp]'."
        ) from None
    dp.enable_features("contrib")
    return dp
