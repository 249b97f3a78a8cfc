#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, checked in every source, and drawn as docs/figures/rooms.svg.

    scripts/rooms.py            check; fails when a wall is broken or the picture is not the one that would be drawn
    scripts/rooms.py --draw     draw the picture again

A room is a folder with sources. The table below is the plan of the house: its floors, and for each room what it may
include. A room may only include what lies on a lower floor, so no arrow of the picture can go upward. What a room may
include and does not is an open door nobody uses: the check wants it closed.
"""

import argparse
import collections
import html
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs/figures/rooms.svg"
MOST_FILES = 30  # .c and .h of one folder

Room = collections.namedtuple("Room", "place floor holds may")

# place: x of the box in the picture. A door is a room, or one header of a room.
KERNELS, ENTROPY, SKETCHES = "core/base/kernels.h", "platform/privatemail_platform.h", "core/base/sketch_code.h"
RANDOM, HASH, WIPE = "core/base/random.h", "core/base/sha256.h", "core/base/base.h"
STAGES, EXACT, PACK = "core/stages/stages.h", "core/base/exact.h", "core/pack/pack.h"
HOUSE = {
    "core/include": Room(0.0, 0, "the public headers", []),
    "core/base": Room(0.0, 1, "numbers, hash, random", ["core/include"]),
    "core/pack": Room(0.0, 2, "reads and checks packs", ["core/base"]),
    "core/privacy": Room(1.0, 2, "budget, bounds, crowds", ["core/base"]),
    "core/stages": Room(0.0, 3, "one step of a query each", ["core/base", "core/pack"]),
    "core": Room(0.5, 4, "conductors", ["core/base", "core/pack", "core/privacy", "core/stages"]),
    "platform": Room(2.0, 2, "entropy, kernels of CPUs", ["core/include", KERNELS, SKETCHES]),
    "platform/baremetal": Room(2.5, 1, "firmware", ["core/include"]),
    "platform/wasm": Room(3.0, 2, "WebAssembly", ["core/include", "transport/include"]),
    "transport/include": Room(4.0, 1, "its public header", ["core/include"]),
    "transport": Room(4.0, 2, "seals and opens messages", ["transport/include", WIPE]),
    "transport/bearssl": Room(5.0, 2, "its primitives", ["transport/include", WIPE]),
    "android": Room(1.0, 3, "Java binding", ["core/include", "transport/include", ENTROPY]),
    "ios": Room(2.0, 3, "Swift binding", ["core/include", "platform", "transport/include"]),
    "python": Room(1.5, 5, "Python binding", ["core/include", ENTROPY]),
    "common": Room(6.0, 1, "files, messages, threads", ["core/include"]),
    "common/rows": Room(6.0, 2, "rows and their neighbours", ["common", "core/include", KERNELS]),
    "common/windows": Room(9.0, 2, "files, folders by Windows", ["common"]),
    "tools/codes": Room(4.0, 3, "positions of anchors", ["common", "common/rows"]),
    "tools/sketch": Room(10.0, 3, "makes sketches", ["common/rows"]),
    "tools/pack": Room(3.2, 4, "builds packs", ["common", "common/rows", "core/include", "tools/codes", "tools/sketch"]),
    "tools/algebra": Room(8.0, 2, "matrices, loaded libraries", ["common"]),
    "tools/map": Room(3.0, 3, "lays rows out in the plane", ["common", "common/rows", "tools/algebra"]),
    "tools/map/look": Room(2.2, 4, "measures and draws maps", ["common", "common/rows", "tools/map"]),
    "tools/groups": Room(9.0, 3, "finds groups of rows", ["common", "common/rows", "core/include", "tools/algebra"]),
    "tools/train": Room(5.0, 3, "trains fronts", ["common", "common/rows", "core/include", "tools/algebra"]),
    "tools/labels": Room(3.2, 5, "trains labels", ["common", "common/rows", "core/include", "tools/algebra", "tools/train"]),
    "server/store": Room(6.0, 3, "keeps blobs and pointers", ["common", "common/rows", "core/include", HASH]),
    "server/store/sqlite": Room(4.2, 4, "in a file", ["common", "server/store"]),
    "server/store/postgres": Room(5.2, 4, "in a database", ["common", "server/store"]),
    "server/gallery": Room(6.2, 4, "parts and manifests",
                           ["common", "common/rows", "core/include", "server/embedding", "server/store"]),
    "server/embedding": Room(7.0, 3, "positions of items", ["common", "common/rows", "core/include"]),
    "server/lists": Room(7.2, 4, "what cells list", ["common", "common/rows", "core/include", EXACT, PACK, SKETCHES]),
    "server/index": Room(6.2, 5, "makes and changes galleries",
                         ["common", "common/rows", "core/include", "server/embedding", "server/gallery", "server/lists",
                          "server/store"]),
    "server/service": Room(7.2, 5, "a release to its answer",
                           ["server/embedding", "server/gallery", "server/store"]),
    "server/gateway": Room(8.0, 3, "opens and seals for relays", ["common", "core/include", "transport/include"]),
    "server/http": Room(7.7, 6, "the same over HTTP", ["common", "core/include", "server/gateway", "server/service"]),
    "server/mixing": Room(7.0, 2, "noise and order of an epoch", ["common", "core/include", RANDOM]),
    "server/relay": Room(6.9, 7, "mixes a crowd's messages",
                         ["common", "core/include", "server/gateway", "server/http", "server/mixing", "transport/include",
                          ENTROPY, HASH, WIPE]),
    "cli/shared": Room(9.2, 4, "options, JSON, progress", ["common", "core/include", ENTROPY]),
    "cli/train": Room(3.2, 6, "reads rows, reports fronts", ["cli/shared", "common", "core/include", "tools/labels", "tools/train"]),
    "cli/groups": Room(4.2, 5, "reports groups", ["cli/shared", "common", "tools/groups"]),
    "cli/belief": Room(10.7, 5, "beliefs from options", ["cli/shared", "common", "common/rows", "lab/belief"]),
    "cli/index": Room(4.2, 6, "reads galleries, reports",
                      ["cli/shared", "common", "common/rows", "core/include", "server/index", "server/lists", "server/store"]),
    "cli/serve": Room(7.9, 7, "life of a service", ["cli/shared", "common", "server/http"]),
    "cli/map": Room(2.2, 6, "reads rows, reports maps",
                    ["cli/belief", "cli/shared", "common", "common/rows", "server/service", "tools/map/look"]),
    "cli/pack": Room(5.2, 6, "reports packs", ["cli/shared", "tools/pack"]),
    "cli/query": Room(8.7, 5, "asks a server", ["cli/shared", "common", "core/include", ENTROPY, "transport/include"]),
    "lab/sample": Room(8.2, 4, "draws a gallery", ["common"]),
    "lab/audit": Room(9.7, 5, "attacks the promise", ["cli/shared", "common", "common/rows", ENTROPY, "server/mixing"]),
    "lab/belief": Room(10.3, 4, "what a server believes",
                       ["common", "common/rows", "core/include", STAGES, EXACT]),
    "lab/evaluate": Room(6.4, 6, "measures what is found",
                         ["cli/shared", "common", "common/rows", "core/include", "lab/sample", ENTROPY,
                          "server/embedding", "server/gallery", "server/index", "server/lists", "server/service",
                          "server/store", "tools/codes", "tools/pack"]),
    "cli/advise": Room(5.4, 7, "weighs ways to search",
                       ["cli/shared", "core/include", "lab/evaluate", "tools/pack"]),
    "cli": Room(7.7, 8, "one file per command",
                ["cli/advise", "cli/belief", "cli/groups", "cli/index", "cli/map", "cli/pack", "cli/query", "cli/serve", "cli/shared", "cli/train", "common", "common/rows",
                 "core/include", "lab/audit", "lab/evaluate", "lab/sample", ENTROPY, "server/embedding", "server/gateway", "server/index", "server/relay", "server/service",
                 "tools/map/look", "tools/pack"]),
}
# They measure or show single stages, so they see everything; no room sees them.
OUTSIDE = ("bench", "demo", "proofs", "tests")
SWIFT_MODULES = {"CPrivateMail": "core/include/privatemail.h", "CPrivateMailPlatform": ENTROPY}


# ---- the sources -------------------------------------------------------------------------------------------------


def tracked():
    """What git has or would have."""
    done = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                          capture_output=True, text=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).exists()]


def room_of(path):
    """The innermost room that holds the file."""
    folder = path.rsplit("/", 1)[0]
    while folder not in HOUSE and "/" in folder:
        folder = folder.rsplit("/", 1)[0]
    return folder


def included(path, headers):
    """Our headers that a source includes, as paths."""
    text = (ROOT / path).read_text()
    names = re.findall(r'^[ \t]*(?:#[ \t]*(?:include|import)|(?:umbrella )?header)[ \t]*([<"])([^>"]+)', text, re.MULTILINE)
    for sign, name in names:
        header = headers.get(Path(name).name)
        if header and not (sign == "<" and header.split("/")[0] in OUTSIDE):  # BearSSL's, not what stands in for it
            yield header
    for module in re.findall(r"^ *(?:internal |private )?import (\w+)", text, re.MULTILINE) if path.endswith(".swift") else ():
        if module in SWIFT_MODULES:
            yield SWIFT_MODULES[module]


def check(files):
    """What is wrong, as sentences."""
    headers = {Path(path).name: path for path in files if path.endswith(".h")}
    used = collections.defaultdict(set)
    for path in files:
        room = room_of(path)
        if not path.endswith((".c", ".h", ".swift", ".modulemap")) or room.split("/")[0] in OUTSIDE:
            continue
        if room not in HOUSE:
            if path.endswith((".c", ".h")):
                yield f"{path} lies in no room: add {room} to the table of scripts/rooms.py"
            continue
        for header in included(path, headers):
            if room_of(header) == room:
                continue
            doors = {header, room_of(header)} & set(HOUSE[room].may)
            used[room] |= doors
            if not doors:
                yield f"{path} includes {header}: {room} may not include {room_of(header)}"
    for name, room in HOUSE.items():
        for door in room.may:
            below = HOUSE[door if door in HOUSE else room_of(door)]
            if below.floor >= room.floor:
                yield f"{name} may include {door}, which does not lie on a lower floor"
            if door not in used[name]:
                yield f"{name} may include {door} and does not: close the door in scripts/rooms.py"

    folders = collections.Counter(path.rsplit("/", 1)[0] for path in files if path.endswith((".c", ".h")))
    for folder, count in folders.items():
        if count > MOST_FILES:
            yield f"{folder} holds {count} sources, more than {MOST_FILES}: split it"


# ---- the picture -------------------------------------------------------------------------------------------------

BOX, HIGH, ACROSS, UP, EDGE = 146, 52, 152, 104, 16
COLOURS = {"core": "#d9e8f6", "platform": "#e4e4ea", "android": "#e4e4ea", "ios": "#e4e4ea", "python": "#e4e4ea",
           "common": "#f3ecd8", "tools": "#dcefdc", "server": "#f6dfd6", "transport": "#d8efee",
           "lab": "#ece0f3", "cli": "#f7f3c8"}


def arrows():
    """(above, below) for every open room that cannot also be reached through others."""
    below = {name: [door for door in room.may if door in HOUSE] for name, room in HOUSE.items()}

    def reach(name):
        return set(below[name]).union(*map(reach, below[name])) if below[name] else set()

    for name, doors in below.items():
        longer = set().union(*(reach(door) for door in doors)) if doors else set()
        for door in doors:
            if door not in longer:
                yield name, door


def draw():
    floors = max(room.floor for room in HOUSE.values())
    width = 2 * EDGE + BOX + ACROSS * max(room.place for room in HOUSE.values())
    height = 2 * EDGE + HIGH + UP * floors + 26
    middle = {name: (EDGE + BOX / 2 + ACROSS * room.place, EDGE + HIGH / 2 + UP * (floors - room.floor))
              for name, room in HOUSE.items()}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
           f'font-family="sans-serif" font-size="12">',
           '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
           '<path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>',
           f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>']
    for above, below in arrows():
        (x1, y1), (x2, y2) = middle[above], middle[below]
        y1, y2 = y1 + HIGH / 2, y2 - HIGH / 2
        if below == "core/include":  # the ground floor is as wide as the house
            x2 = x1
        turn = y2 - (UP - HIGH)  # straight down to the last floor, then aside
        out.append(f'<path d="M{x1:.0f} {y1:.0f}V{turn:.0f}C{x1:.0f} {turn + 30:.0f} {x2:.0f} {y2 - 30:.0f} {x2:.0f} {y2:.0f}" '
                   f'fill="none" stroke="#667" marker-end="url(#head)"/>')
    for name, room in HOUSE.items():
        x, y = middle[name]
        wide = BOX
        if name == "core/include":
            x, wide = width / 2, width - 2 * EDGE
        out.append(f'<rect x="{x - wide / 2:.0f}" y="{y - HIGH / 2:.0f}" width="{wide:.0f}" height="{HIGH}" rx="4" '
                   f'fill="{COLOURS[name.split("/")[0]]}" stroke="#889"/>')
        single = [Path(door).stem.removeprefix("privatemail_") for door in room.may if door not in HOUSE]
        lines = [(name + "/", "12", "bold"), (room.holds, "10.5", "normal")]
        if single:
            lines.append(("+ " + ", ".join(single), "9.5", "normal"))
        for line, (text, size, weight) in enumerate(lines):
            down = y + 4 + 14 * (line - (len(lines) - 1) / 2)
            out.append(f'<text x="{x:.0f}" y="{down:.1f}" text-anchor="middle" font-size="{size}" font-weight="{weight}">'
                       f'{html.escape(text)}</text>')
    out.append(f'<text x="{EDGE}" y="{height - 12:.0f}" font-size="11" fill="#445">An arrow leads to a room that may be included; shortcuts past '
               f'drawn arrows are left out. +: single headers of platform/ or core/ too. tests/ and bench/ see every room; no '
               f'room sees them.</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description="Checks who includes whom, and draws docs/figures/rooms.svg.",
                                     epilog="Example: scripts/rooms.py --draw")
    parser.add_argument("--draw", action="store_true", help="write the picture instead of comparing it")
    draws = parser.parse_args().draw
    faults = list(check(tracked()))
    picture = draw()
    if draws:
        PICTURE.write_text(picture)
    elif not PICTURE.exists() or PICTURE.read_text() != picture:
        faults.append("docs/figures/rooms.svg is not what the table says: run scripts/rooms.py --draw and look at it")
    for fault in faults:
        print("rooms:", fault)
    sys.exit(1 if faults else 0)


main()
