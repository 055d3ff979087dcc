"""The command line: thin, a file for each command."""
