"""What the workers see: coded inputs of a network under each scheme."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from figures.names import shown
from figures.results import Results

CAPTION = (
    "Six of the coded inputs that workers get, for each network and scheme; each is what the encoder makes of all data "
    "points at the point β_n of worker n."
)
CLAIMS = ()
_LABELS = 1.0  # inches for the names of the rows


def draw(results: Results, width: float) -> Figure:
    """See `figures.registry.FigureModule.draw`."""
    table = results.table("coded_inputs")
    rows = list(table.groupby(["network", "dataset", "scheme"], sort=False))
    across = max(len(of) for _, of in rows)
    height = len(rows) * ((width - _LABELS) / across + 0.08) + 0.2 * table.groupby(["network", "dataset"]).ngroups
    figure, axes = plt.subplots(len(rows), across, figsize=(width, height), squeeze=False)
    above = None
    for line, ((network, dataset, scheme), of) in zip(axes, rows, strict=True):
        for axis, picture in zip(line, of.to_dict("records"), strict=True):
            channels, tall, wide = map(int, picture["shape"].split("x"))
            pixels = np.clip(picture["pixels"].reshape(channels, tall, wide).transpose(1, 2, 0), 0, 1)
            axis.imshow(pixels.squeeze(), cmap="gray", vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
            if (network, dataset) != above:  # the rows below have the same workers
                axis.set_title(rf"$\beta_{{{picture['worker']}}}$")
        name = scheme if (network, dataset) == above else f"{shown(network)},\n{shown(dataset)}\n{scheme}"
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
        above = network, dataset
    return figure
