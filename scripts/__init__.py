"""What builds the project, and is no part of the package."""
