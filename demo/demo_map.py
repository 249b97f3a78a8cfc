#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lays a part of the gallery out as a map, on which the page shows what a server believes.

    demo_map.py BUILD GALLERY OUT --pack P.pmpk [--words-pack W.pmpk] [--items N]

BUILD is the folder of the build. GALLERY holds gallery.npy and gallery_labels.npy, of which at most N rows are taken,
evenly. OUT gets items.npy, items_labels.npy, places.npy (`privatemail map`) and map.json: places and labels of the items,
and what devices would make of each of them with either pack (demo_belief).
"""
import argparse
import json
import pathlib
import subprocess

import numpy

ITEMS = 3000


def take(arguments):
    gallery = numpy.load(arguments.gallery / "gallery.npy", mmap_mode="r")
    labels = numpy.load(arguments.gallery / "gallery_labels.npy")
    taken = numpy.unique(numpy.linspace(0, len(gallery) - 1, min(arguments.items, len(gallery))).astype(int))
    numpy.save(arguments.out / "items.npy", numpy.ascontiguousarray(gallery[taken], numpy.float32))
    numpy.save(arguments.out / "items_labels.npy", labels[taken])
    return labels[taken]


def run(arguments, program, *options):
    return subprocess.run([arguments.build / program, *options], check=True, stdout=subprocess.PIPE).stdout


def made_of(arguments, pack, *modality):
    return json.loads(run(arguments, "demo/demo_belief", pack, arguments.out / "items.npy",
                          arguments.out / "items_labels.npy", *modality))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("gallery", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--pack", required=True)
    parser.add_argument("--words-pack")
    parser.add_argument("--items", type=int, default=ITEMS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    labels = take(arguments)
    run(arguments, "cli/privatemail", "map", "--method", "tsne", "--features", arguments.out / "items.npy",
        "--out", arguments.out / "places.npy", "--force", "--json")
    places = numpy.load(arguments.out / "places.npy").astype(float).round(3)
    made = {"places": places.ravel().tolist(), "labels": labels.tolist(), "pictures": made_of(arguments, arguments.pack),
            "words": made_of(arguments, arguments.words_pack, "image") if arguments.words_pack else None}
    (arguments.out / "map.json").write_text(json.dumps(made), encoding="utf-8")
    print(f"{len(labels):,} pictures of the gallery, laid out so that similar ones lie together")


if __name__ == "__main__":
    main()
