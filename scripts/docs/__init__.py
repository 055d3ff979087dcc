"""The documentation site: what is made for it, and how Sphinx builds it (``make docs``)."""
