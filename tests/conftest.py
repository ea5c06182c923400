"""Settings of all tests.

`HYPOTHESIS_PROFILE=soak pytest --timeout 0` looks for many minutes where the default, the same
examples each time, looks for seconds.
"""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, max_examples=200, deadline=None)
settings.register_profile("soak", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
