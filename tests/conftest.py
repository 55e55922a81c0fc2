"""Profiles of hypothesis: no deadline anywhere, the same examples on every run of continuous integration."""

import os

from hypothesis import HealthCheck, settings

# drawing nodes and targets from st.data() costs more than hypothesis expects of one example
settings.register_profile("local", deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
