"""What builds the project, and is no part of the package."""
"""What is done now and then to the project itself: packages, pictures."""
