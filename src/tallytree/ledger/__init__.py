"""The ledger: what was spent on each dataset, kept in a database and tied together by hashes."""
