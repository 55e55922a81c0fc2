"""How networks and images are called where people read of them."""

_NAMES = {
    "lenet5": "LeNet5",
    "repvgg": "RepVGG",
    "vit": "ViT",
    "vit-b16": "ViT-B/16",
    "efficientnet-lite0": "EfficientNet-Lite0",
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "imagenet": "ImageNet",
}


def shown(name: str) -> str:
    """The name of a network or of images for people.

    Parameters
    ----------
    name : str
        As in the tables.

    Returns
    -------
    str
        The same where there is no better one, as for scikit-learn's digits.
    """
    return _NAMES.get(name, name)
