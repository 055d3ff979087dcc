"""Numbers as users give them: in plain digits, or as whole numbers of any library.

Python reads ``1_0`` as 10, and the digits of every script; engines differ in what else they read. A number
that is not written plainly is more likely a mistake than a number, so it is refused, everywhere alike.
"""

import operator
import re
from typing import Any

WHOLE = "[-+]?[0-9]+"
DECIMAL = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
FRACTION = "[-+]?[0-9]+/[0-9]+"
"""How numbers are written, as regular expressions."""


def is_whole_numeral(text: str) -> bool:
    r"""Return whether a text is a whole number in plain digits.

    >>> is_whole_numeral("10"), is_whole_numeral("1_0"), is_whole_numeral("\uff11")
    (True, False, False)
    """
    return bool(re.fullmatch(WHOLE, text))


def is_decimal_numeral(text: str) -> bool:
    """Return whether a text is a whole or decimal number in plain digits."""
    return bool(re.fullmatch(DECIMAL, text))


def is_numeral(text: str) -> bool:
    """Return whether a text is a number in plain digits: whole, decimal, or a fraction such as 1/3."""
    return is_decimal_numeral(text) or bool(re.fullmatch(FRACTION, text))


def find_whole(value: Any) -> int | None:
    """Return a whole number of Python's, of NumPy's or of any other library; None for anything else.

    >>> import numpy as np
    >>> find_whole(np.int64(2)), find_whole(2.0), find_whole(True)
    (2, None, None)
    """
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None
