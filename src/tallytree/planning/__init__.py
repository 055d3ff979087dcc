"""Choosing a mechanism and how to split the budget, on public data that stand in for the sensitive ones."""
