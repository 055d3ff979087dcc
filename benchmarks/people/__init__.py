"""From records of a nation's people to a verified release, beside DuckDB's bare group-by."""
