"""A small vision transformer (Dosovitskiy et al., ICLR 2021).

Two things help it on few and small images: a convolutional stem in place of one large patch (Xiao et al., NeurIPS
2021), and the mean over all tokens in place of a class token.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Attention, then a network of one hidden layer; each normalises its input and adds to it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.hidden_norm = nn.LayerNorm(width)
        self.hidden = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Map (n, tokens, width) to the same shape."""
        split = self.queries_keys_values(self.attention_norm(tokens)).unflatten(-1, (3, self.heads, -1))
        attended = functional.scaled_dot_product_attention(*split.permute(2, 0, 3, 1, 4))
        tokens = tokens + self.mix(attended.transpose(1, 2).flatten(2))
        return tokens + self.hidden(self.hidden_norm(tokens))


class ViT(nn.Module):
    """Logits from square images; every token sees a patch of about 4 x 4 pixels.

    Parameters
    ----------
    channels, side : int
        Of the images; the side is a multiple of 4.
    width, depth, heads : int
        Of the transformer.
    classes : int
    """

    def __init__(self, channels: int, side: int, width: int, depth: int, heads: int, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(channels, width // 2, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(width // 2, width, 3, stride=2, padding=1),
        )
        self.positions = nn.Parameter(0.02 * torch.randn((side // 4) ** 2, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.classifier = nn.Linear(width, classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map images (n, channels, side, side) from 0 to 1 to logits (n, classes)."""
        centred = 4 * images - 2  # about unit variance, without which attention trains slowly
        tokens = self.stem(centred).flatten(2).transpose(1, 2) + self.positions
        return self.classifier(self.norm(self.blocks(tokens)).mean(dim=1))
