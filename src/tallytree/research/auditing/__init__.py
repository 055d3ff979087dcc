"""Whether mechanisms keep the epsilon that they state: neighbours tried, and attacks, on invented counts."""
