"""The paper's experiments again: its data, its mechanisms and ours, its figures, its table."""
