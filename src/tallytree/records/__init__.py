"""The counting of records, written once with Ibis: what every engine then runs."""
