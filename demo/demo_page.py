#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the demo's page knows beforehand, and tells how a search went.

    demo_page.py GALLERY PAGE --pack ID --names NAMES.json --kind WORDS --map MAP [--start ROW] [--epsilon E]
                 [--crowd CROWD.json] [--words WORDS.json --words-pack ID]
    demo_page.py --tell QUERY.json PAGE

GALLERY holds queries.npy, gallery.npy, their *_labels.npy and images/. PAGE gets device.json, which stands for the
device (pictures, features and classes of the queries, the pack's id, the query and the ε to start with, and what
demo_crowd.py printed about the crowd, and the table of words that demo_words.py wrote, with the id of the pack that is
asked by words), truth.json: the 8 items of the gallery that are nearest to each query by cosine, and the nearest of
those on the map; nobody could know these in real life; the page says so; and map.json, from the folder MAP that
demo_map.py made.
QUERY.json is what `privatemail query --row ROW --json` wrote.
"""
import argparse
import base64
import json
import pathlib
import shutil

import numpy

TOP = 8


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def unit(rows):
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def text(data):
    return base64.b64encode(data).decode()


def pictures(gallery, part):
    return sorted((gallery / "images" / part).glob("*.png"))


def describe_device(arguments, order, queries, items):
    labels = numpy.load(arguments.gallery / "queries_labels.npy")
    images = pictures(arguments.gallery, "queries")
    return {
        "pack": arguments.pack,
        "gallery": f"{items:,} {arguments.kind}",
        "names": read(arguments.names),
        "start": order.index(arguments.start),
        "epsilon": arguments.epsilon,
        "crowd": read(arguments.crowd) if arguments.crowd else None,
        "words": {**read(arguments.words), "pack": arguments.words_pack} if arguments.words else None,
        "queries": [{"row": row, "label": int(labels[row]), "picture": text(images[row].read_bytes()),
                     "features": text(queries[row].astype("<f4").tobytes())} for row in order],
    }


def find_truth(arguments, order, queries, gallery):
    """Ties by smaller item, as the core has them."""
    images = pictures(arguments.gallery, "gallery")
    nearest = numpy.argsort(-(unit(queries[order]) @ unit(gallery).T), axis=1, kind="stable")[:, :TOP]
    on_map = unit(queries[order]) @ unit(numpy.load(arguments.map / "items.npy")).T
    return {"queries": [[{"item": int(item), "picture": text(images[item].read_bytes())} for item in row]
                        for row in nearest], "nearest": on_map.argmax(axis=1).tolist()}


def write_page(arguments):
    queries = numpy.load(arguments.gallery / "queries.npy")
    gallery = numpy.load(arguments.gallery / "gallery.npy")
    labels = numpy.load(arguments.gallery / "queries_labels.npy")
    order = numpy.argsort(labels, kind="stable").tolist()
    for name, value in (("device", describe_device(arguments, order, queries, len(gallery))),
                        ("truth", find_truth(arguments, order, queries, gallery))):
        (arguments.page / (name + ".json")).write_text(json.dumps(value), encoding="utf-8")
    shutil.copy(arguments.map / "map.json", arguments.page)


def tell(answered, page):
    found, device, truth = read(answered), read(page / "device.json"), read(page / "truth.json")
    place = device["start"]
    best = {entry["item"] for entry in truth["queries"][place]}
    right = len(best & {result["id"] for result in found["results"]})
    query = device["queries"][place]
    print(f"looked for      {device['names'][query['label']]} (picture {query['row']} of the queries), which stays here")
    print(f"sent up         {found['bytes_up']} bytes")
    print(f"came down       {found['carried']:,} of {found['gallery']:,} pictures ({100 * found['share']:.1f} %), "
          f"{found['bytes_down']:,} bytes")
    print(f"found           {right} of the {TOP} that a search without privacy finds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tell", type=pathlib.Path, metavar="QUERY.json")
    parser.add_argument("gallery", type=pathlib.Path, nargs="?")
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--pack")
    parser.add_argument("--names", type=pathlib.Path)
    parser.add_argument("--kind")
    parser.add_argument("--map", type=pathlib.Path, metavar="MAP")
    parser.add_argument("--start", type=int, default=0, metavar="ROW")
    parser.add_argument("--epsilon", type=float, default=8, metavar="E")
    parser.add_argument("--crowd", type=pathlib.Path, metavar="CROWD.json")
    parser.add_argument("--words", type=pathlib.Path, metavar="WORDS.json")
    parser.add_argument("--words-pack", metavar="ID")
    arguments = parser.parse_args()
    if arguments.tell:
        tell(arguments.tell, arguments.page)
    elif None in (arguments.gallery, arguments.pack, arguments.names, arguments.kind, arguments.map):
        parser.error("GALLERY, --pack, --names, --kind and --map are needed")
    elif (arguments.words is None) != (arguments.words_pack is None):
        parser.error("--words and --words-pack come together")
    else:
        write_page(arguments)


if __name__ == "__main__":
    main()
