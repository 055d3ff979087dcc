"""The county table that the accuracy is measured on, in the folder of the data."""

FILE = "county_household_sizes_2010.csv"
