"""Which versions of other packages are installed."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def find_versions(packages: Iterable[str]) -> dict[str, str]:
    """By name; those that are not installed, because they are optional, are left out.

    >>> sorted(find_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    found: dict[str, str] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
