"""What the workers see: coded inputs of a network under each scheme."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.results import Results

CAPTION = "Six of the coded inputs that workers get, for each network and scheme."
CLAIMS = ()


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("coded_inputs")
    rows = list(table.groupby(["network", "dataset", "scheme"], sort=False))
    workers = max(len(of) for _, of in rows)
    figure, axes = plt.subplots(len(rows), workers, figsize=(width, 0.95 * len(rows) + 0.2), squeeze=False)
    for line, ((network, dataset, scheme), of) in zip(axes, rows, strict=True):
        for axis, picture in zip(line, of.to_dict("records"), strict=True):
            channels, height, width = map(int, picture["shape"].split("x"))
            pixels = np.clip(picture["pixels"].reshape(channels, height, width).transpose(1, 2, 0), 0, 1)
            axis.imshow(pixels.squeeze(), cmap="gray", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[], title=f"worker {picture['worker']}")
        line[0].set_ylabel(f"{network}\n{dataset}\n{scheme}", rotation=0, ha="right", va="center")
    return figure
