import os

from hypothesis import settings

# No deadline: a test must not depend on the clock. In CI every run sees the same examples.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")
