"""Model M_H, a separable convex problem on a tree: ``direct-dp`` and what is built on it."""
