"""``python -m tallytree``."""

from tallytree.cli.main import main

main()
