"""Research with repeatable noise and the truth: simulations, audits, the paper's experiments reproduced."""
