"""RepVGG (Ding et al., CVPR 2021), small: trained with three branches a block, run as plain 3 x 3 convolutions."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional


class RepVGGBlock(nn.Module):
    """A 3 x 3, a 1 x 1 and, where the shape allows it, an identity branch; each normalised, summed, rectified."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.wide = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.wide_norm = nn.BatchNorm2d(outputs)
        self.narrow = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
        self.narrow_norm = nn.BatchNorm2d(outputs)
        self.identity_norm = nn.BatchNorm2d(outputs) if inputs == outputs and stride == 1 else None

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map (n, inputs, h, w) to (n, outputs, h / stride, w / stride)."""
        total = self.wide_norm(self.wide(images)) + self.narrow_norm(self.narrow(images))
        if self.identity_norm is not None:
            total = total + self.identity_norm(images)
        return functional.relu(total)

    @torch.no_grad()
    def fused(self) -> nn.Conv2d:
        """The one convolution that equals the sum of the branches in evaluation mode."""
        outputs, inputs = self.wide.weight.shape[:2]
        kernels = [(self.wide.weight, self.wide_norm), (functional.pad(self.narrow.weight, (1,) * 4), self.narrow_norm)]
        if self.identity_norm is not None:
            kernels.append((functional.pad(torch.eye(inputs)[..., None, None], (1,) * 4), self.identity_norm))
        convolution = nn.utils.skip_init(nn.Conv2d, inputs, outputs, 3, self.stride, padding=1)
        convolution.weight.zero_()
        convolution.bias.zero_()
        for kernel, norm in kernels:
            scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
            convolution.weight += kernel * scale[:, None, None, None]
            convolution.bias += norm.bias - norm.running_mean * scale
        return convolution


class RepVGG(nn.Module):
    """Logits from colour or grey images; every stage after the first halves their sides.

    Parameters
    ----------
    channels : int
        Of the images: 1 or 3.
    widths, depths : tuple of int
        Channels and blocks of each stage.
    classes : int
    deployed : bool
        Plain convolutions, as `reparameterised` returns, in place of the branches.
    """

    def __init__(
        self,
        channels: int,
        widths: tuple[int, ...],
        depths: tuple[int, ...],
        classes: int = 10,
        *,
        deployed: bool = False,
    ) -> None:
        super().__init__()
        strides = [2 if stage and not block else 1 for stage, depth in enumerate(depths) for block in range(depth)]
        sizes = [channels, *(width for width, depth in zip(widths, depths, strict=True) for _ in range(depth))]
        blocks = []
        for (inputs, outputs), stride in zip(pairwise(sizes), strides, strict=True):
            if deployed:
                blocks += [nn.Conv2d(inputs, outputs, 3, stride, padding=1), nn.ReLU()]
            else:
                blocks.append(RepVGGBlock(inputs, outputs, stride))
        self.features = nn.Sequential(*blocks)
        self.classifier = nn.Linear(widths[-1], classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map images (n, channels, h, w) to logits (n, classes)."""
        return self.classifier(self.features(images).mean(dim=(2, 3)))

    def reparameterised(self) -> RepVGG:
        """The same function of the images in evaluation mode, without branches and normalisation; a copy.

        Returns
        -------
        RepVGG
            In evaluation mode.
        """
        plain = deepcopy(self)
        layers = [[layer.fused(), nn.ReLU()] if isinstance(layer, RepVGGBlock) else [layer] for layer in plain.features]
        plain.features = nn.Sequential(*(part for layer in layers for part in layer))
        return plain.eval()
