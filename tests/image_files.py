"""Small image files in the formats that people have."""

import io

import numpy as np
from PIL import Image

from convergence.networks.images import MNIST_FILES

CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def mnist_files(folder):
    """Six training and four test images in the format of MNIST: pixel 51 everywhere."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in MNIST_FILES:
        count = 6 if name.startswith("train") else 4
        if "images" in name:
            header, body = [0x00000803, count, 28, 28], bytes([51]) * (count * 28 * 28)
        else:
            header, body = [0x00000801, count], bytes(range(count))
        (folder / name).write_bytes(np.array(header, dtype=">i4").tobytes() + body)


def jpeg(grey, side):
    """A JPEG file of one grey, which survives the compression."""
    packed = io.BytesIO()
    Image.new("RGB", (side, side), (grey,) * 3).save(packed, "JPEG")
    return packed.getvalue()


def packed_split(name, files, labels):
    """Arrays of one split of an .npz file of JPEG files."""
    return {
        f"{name}_jpeg": np.frombuffer(b"".join(files), dtype=np.uint8),
        f"{name}_offsets": np.cumsum([0, *map(len, files)], dtype=np.int32),
        f"{name}_labels": np.array(labels, dtype=np.uint16),
    }


def cifar10_arrays():
    """Twenty training and ten test images: the grey is ten times the label."""
    labels = [label for label in range(10) for _ in range(2)][::-1]
    train = packed_split("train", [jpeg(10 * label, 32) for label in labels], labels)
    test = packed_split("test", [jpeg(10 * label, 32) for label in range(10)], range(10))
    return train | test | {"classes": np.array(CIFAR10_CLASSES)}


def imagenet_arrays():
    """Three photographs of the classes 0, 5 and 999."""
    split = packed_split("test", [jpeg(grey, 224) for grey in (0, 51, 255)], [0, 5, 999])
    return split | {"wnids": np.array(["n00000001", "n00000002", "n00000009"])}
