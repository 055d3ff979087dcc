"""SENSITIVE. The true counts: from tables of counts, and from records of people."""
