"""Speed against peers, side by side on one machine: ``make bench`` writes RESULTS.md."""
