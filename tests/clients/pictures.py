# SPDX-License-Identifier: MIT
"""What a picture shows."""

import io

from lib import processes
from PIL import Image

SEA = (0xCF, 0xE3, 0xEF)  # IMAGECOLOR of world.map


def opened(png):
    try:
        return Image.open(io.BytesIO(png)).convert("RGB")
    except OSError as problem:
        raise processes.Failed(f"no picture: {problem}: {png[:200]!r}") from problem


def check_picture(png):
    check_map(opened(png))


def check_map(picture):
    """It shows sea (nearly that colour after JPEG), and something else."""
    count = picture.size[0] * picture.size[1]
    near = sum(all(abs(a - b) < 12 for a, b in zip(pixel, SEA)) for pixel in picture.getdata())
    if not 0.05 < near / count < 0.95:
        raise processes.Failed(f"no map of land and sea: of {picture.size} {near} pixels are sea")


def pixels(png):
    """Size and bytes, of a map."""
    picture = opened(png)
    check_map(picture)
    return picture.size, picture.tobytes()
