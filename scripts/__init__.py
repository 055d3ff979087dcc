"""What builds the project and keeps it in order, and is no part of the package."""
