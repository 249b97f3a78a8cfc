#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the maps that demo_belief.sh drew side by side: demo_belief_plot.py FOLDER SHAPES ROW OUT.svg"""
import base64
import json
import pathlib
import re
import sys

import numpy

TOP, SIDE, GAP, HEAD, FOOT = 8, 300, 14, 66, 46
POINTS = 840  # of a map's own picture, without its legend


def nearest(shapes, row):
    query, gallery = numpy.load(shapes / "queries.npy")[row], numpy.load(shapes / "gallery.npy")
    scores = gallery @ query / numpy.linalg.norm(gallery, axis=1)
    return set(numpy.argsort(-scores, kind="stable")[:TOP].tolist())


def panel(folder, name, title, best, left):
    told = json.loads((folder / f"{name}.json").read_text())
    found = json.loads((folder / f"{name}-found.json").read_text())
    items = {candidate["item"] for slot in found["slots"] for candidate in slot["candidates"]}
    drawn = re.sub(r"^<svg[^>]*>|</svg>\s*$", "", (folder / f"{name}.svg").read_text(encoding="utf-8"))
    gain, bits = told["posterior_gain"], told["prior_entropy"] - told["posterior_entropy"]
    print(f"{name}: the likeliest picture is {gain:.3g} times as likely as before, {bits:.2f} bits were told, "
          f"{len(best & items)} of {TOP} found in {len(items)} of {told['rows']} pictures")
    return (f'<text x="{left + SIDE / 2}" y="{HEAD - 12}" text-anchor="middle" font-weight="bold">{title}</text>'
            f'<svg x="{left}" y="{HEAD}" width="{SIDE}" height="{SIDE}" viewBox="0 0 {POINTS} {POINTS}">{drawn}</svg>'
            f'<rect x="{left}" y="{HEAD}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#ccc"/>'
            f'<text x="{left + SIDE / 2}" y="{HEAD + SIDE + 19}" text-anchor="middle">likeliest picture: {gain:.3g} × as likely '
            f'as before</text><text x="{left + SIDE / 2}" y="{HEAD + SIDE + 37}" text-anchor="middle">the search finds '
            f'{len(best & items)} of the {TOP} nearest</text>')


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder, shapes, row, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    best = nearest(shapes, row)
    promise = json.loads((folder / "promise.json").read_text())
    picture = base64.b64encode(sorted((shapes / "images/queries").glob("*.png"))[row].read_bytes()).decode()
    titles = (("alone-8", "alone, ε = 8"), ("alone-1", "alone, ε = 1"),
              ("crowd", f"in a crowd, ε = {promise['epsilon']:.1g} (floor 8)"))
    width, height = 3 * SIDE + 4 * GAP, HEAD + SIDE + FOOT
    panels = "\n".join(panel(folder, name, title, best, GAP + i * (SIDE + GAP)) for i, (name, title) in enumerate(titles))
    pathlib.Path(out).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n'
        f'<image x="{GAP}" y="6" width="28" height="28" href="data:image/png;base64,{picture}"/>'
        f'<text x="{GAP + 36}" y="25" font-size="15">What the server believes when somebody looks for this. Grey: no likelier '
        f'than before. In colour: likelier.</text>\n{panels}\n</svg>\n', encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main()
