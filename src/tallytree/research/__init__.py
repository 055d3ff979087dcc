"""Repeatable noise, and the truth beside it: simulations, audits, the paper's experiments again."""
