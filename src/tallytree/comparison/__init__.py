"""Two releases side by side, or a release and a published table."""
