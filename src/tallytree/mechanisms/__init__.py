"""The mechanisms: each file says which query is measured and how counts are made from the answers."""
