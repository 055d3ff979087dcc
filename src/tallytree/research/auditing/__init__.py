"""Audits of whether mechanisms keep their stated epsilon: all neighbours, and attacks, on invented counts."""
