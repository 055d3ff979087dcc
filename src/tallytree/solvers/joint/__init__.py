"""Model M_c, cumulative counts of all levels at once: ``cumulative-joint``."""
