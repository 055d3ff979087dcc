"""Where records of people are counted: DuckDB (embedded), PostgreSQL, Spark, or any other Ibis table."""
