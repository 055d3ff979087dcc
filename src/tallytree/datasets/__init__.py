"""Public files that people have, as group counts: household sizes of the US Census, New York's taxi trips."""

from tallytree.datasets.census import CountyTable, make_census, read_county_table
from tallytree.datasets.households import read_household_sizes
from tallytree.datasets.taxi import count_taxis, count_trips

__all__ = [
    "CountyTable",
    "count_taxis",
    "count_trips",
    "make_census",
    "read_county_table",
    "read_household_sizes",
]
