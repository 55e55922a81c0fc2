import re
from pathlib import Path

import numpy as np

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_code_runs_as_printed():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL):
        exec(block, names)
    assert np.abs(names["y"] - np.tanh(names["x"])).max() < 0.5
    assert names["y"].shape == (20, 3)
    assert names["certificate"].worst_pointwise_mse > 0
    assert names["mine"].num_workers == 100


def test_the_commands_are_those_of_continuous_integration():
    line = "python3 -m venv .venv && .venv/bin/pip install -q tox && .venv/bin/tox -e tests\n"
    assert line in README
    assert line in (Path(__file__).parents[1] / ".ci" / "run").read_text()
