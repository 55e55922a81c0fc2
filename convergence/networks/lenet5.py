"""LeNet5, the small convolutional network of LeCun et al. (1998), with ReLU and max pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

if TYPE_CHECKING:
    import torch


class LeNet5(nn.Module):
    """Ten logits from 28 x 28 grey images.

    The first convolution is padded by 2, so that its input is as large as the 32 x 32 of the original.
    """

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, kernel_size=5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, kernel_size=5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(16 * 5 * 5, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Map images (n, 1, 28, 28) to logits (n, 10)."""
        return self.classifier(self.features(images))
