"""Releases in open formats: tables to publish, data packages, SDMX, an entry for a public registry."""
