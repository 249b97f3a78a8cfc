#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prepares the demo's gallery of clothing from Debian's dataset-fashion-mnist (70,000 photographs of 28×28 pixels).

    demo_gallery.py FOLDER [--source DIR] [--public 6000] [--queries 48]

Writes public.npy, gallery.npy, queries.npy (64 features a picture) with their *_labels.npy, the pictures as
images/gallery/NUMBER.png and images/queries/NUMBER.png, and names.json. Exit code 3: the data set is not there.
"""
import argparse
import gzip
import json
import pathlib
import struct
import sys
import zlib

import numpy

NAMES = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
FEATURES = 64
ORIENTATIONS = 8
CHUNK = 5000


def read_idx(path, header):
    """The bytes after the header of a gzipped IDX file."""
    with gzip.open(path) as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def read_pictures(source):
    images = [read_idx(source / (part + "-images-idx3-ubyte.gz"), 16).reshape(-1, 28, 28) for part in ("train", "t10k")]
    labels = [read_idx(source / (part + "-labels-idx1-ubyte.gz"), 8) for part in ("train", "t10k")]
    return numpy.concatenate(images), numpy.concatenate(labels)


def unit(rows):
    return rows / (numpy.linalg.norm(rows, axis=1, keepdims=True) + 1e-6)


def describe(images):
    """Brightness of 2×2 pixels, and how strongly edges run in each direction in 4×4 pixels."""
    images = images.astype(numpy.float32) / 255
    brightness = images.reshape(-1, 14, 2, 14, 2).mean((2, 4)).reshape(len(images), -1)
    down, right = numpy.zeros_like(images), numpy.zeros_like(images)
    down[:, 1:-1] = images[:, 2:] - images[:, :-2]
    right[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
    strength = numpy.hypot(right, down)
    angle = (numpy.arctan2(down, right) % numpy.pi) / numpy.pi * ORIENTATIONS
    edges = []
    for orientation in range(ORIENTATIONS):
        distance = numpy.abs((angle - orientation + ORIENTATIONS / 2) % ORIENTATIONS - ORIENTATIONS / 2)
        share = numpy.clip(1 - distance, 0, 1) * strength
        edges.append(share.reshape(-1, 7, 4, 7, 4).sum((2, 4)))
    edges = numpy.sqrt(unit(numpy.stack(edges, -1).reshape(len(images), -1)))
    return numpy.concatenate([unit(brightness), unit(edges)], axis=1)


def shorten(rows, public):
    """Principal components of the public rows, the strong ones damped."""
    mean = rows[public].mean(0)
    _, strength, directions = numpy.linalg.svd(rows[public] - mean, full_matrices=False)
    return (rows - mean) @ directions[:FEATURES].T / numpy.sqrt(strength[:FEATURES])


def png(image):
    """A small PNG of 16 greys, dark on white: in a crowd the answers to all fakes carry pictures too."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    greys = (255 - image) >> 4
    lines = b"".join(b"\0" + line.tobytes() for line in greys[:, 0::2] << 4 | greys[:, 1::2])
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 4, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def write_part(folder, name, features, labels, images):
    numpy.save(folder / (name + ".npy"), features.astype("<f4"))
    numpy.save(folder / (name + "_labels.npy"), labels.astype("<i4"))
    if images is not None:
        place = folder / "images" / name
        place.mkdir(parents=True)
        for number, image in enumerate(images):
            (place / ("%05d.png" % number)).write_bytes(png(image))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--public", type=int, default=6000)
    parser.add_argument("--queries", type=int, default=48)
    arguments = parser.parse_args()
    try:
        images, labels = read_pictures(arguments.source)
    except OSError as error:
        print("demo: no Fashion-MNIST: %s" % error, file=sys.stderr)
        return 3
    order = numpy.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    described = numpy.concatenate([describe(images[i:i + CHUNK]) for i in range(0, len(images), CHUNK)])
    public = slice(0, arguments.public)
    features = shorten(described, public)
    queries = slice(arguments.public, arguments.public + arguments.queries)
    gallery = slice(arguments.public + arguments.queries, None)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_part(arguments.folder, "public", features[public], labels[public], None)
    write_part(arguments.folder, "queries", features[queries], labels[queries], images[queries])
    write_part(arguments.folder, "gallery", features[gallery], labels[gallery], images[gallery])
    (arguments.folder / "names.json").write_text(json.dumps(NAMES))
    print("%d public, %d in the gallery, %d queries, %d features" % (
        arguments.public, len(labels[gallery]), arguments.queries, FEATURES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
