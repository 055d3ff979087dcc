"""The report: one page that shows a release to people, made from the release alone."""
