#!/usr/bin/env python3
"""Deepest stack of the public functions, from the call graphs of gcc's -fcallgraph-info=su.

    stack_depth.py HEADER... --taken NAME... --graphs GRAPH.ci... [--graphs GRAPH.ci...]...

Each further --graphs is a layer that the one before it calls through pointers. Prints the bytes and the chain of calls. Exits 1 when the depth has no bound (recursion, variable frames).

Two things a call graph does not show are charged as follows:
  indirect calls    the deepest of the --taken functions, those whose address is taken somewhere (kernels), of the next
                    layer, or of the same one when it is the last. A callback of the caller may be deeper: its stack is
                    the caller's to count.
  library helpers   (division, memcpy, ...) HELPER bytes each.
"""

import argparse
import re
import sys
from pathlib import Path

HELPER = 64  # the largest of libgcc's and newlib's for Cortex-M, 64-bit division, takes 48

NODE = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
FRAME = re.compile(r"(\d+) bytes \(([^)]*)\)")


class Unbounded(Exception):
    pass


def plain(title):
    return title.split(":")[-1]  # a static function's title is file:name


def read_graphs(layers, is_taken):
    """Frames and calls of all layers, each a list of graphs."""
    frames, calls = {}, {}
    for layer, paths in enumerate(layers):
        indirect = f"indirect call to layer {min(layer + 1, len(layers) - 1)}"
        for path in paths:
            text = path.read_text()
            for title, label in NODE.findall(text):
                if frame := FRAME.search(label):
                    if frame[2] == "dynamic":
                        raise Unbounded(f"{title} has a frame of variable size")
                    frames[title] = int(frame[1])
                    if is_taken(plain(title)):
                        calls.setdefault(f"indirect call to layer {layer}", set()).add(title)
            for source, target in EDGE.findall(text):
                calls.setdefault(source, set()).add(indirect if target == "__indirect_call" else target)
    return frames, calls


def public_functions(headers):
    text = "\n".join(path.read_text() for path in headers)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return set(re.findall(r"^PML_API\b[^;]*?\b(pml_\w+)\s*\(", text, flags=re.M))


class Depths:
    def __init__(self, frames, calls):
        self.frames, self.calls, self.known = frames, calls, {}

    def of(self, name, path=()):
        """(bytes, chain of names) of the deepest call that starts with name."""
        if name not in self.frames and name not in self.calls:
            return HELPER, [name]
        if name in path:
            raise Unbounded("recursion: " + " > ".join([*path, name]))
        if name not in self.known:
            below = (self.of(callee, (*path, name)) for callee in sorted(self.calls.get(name, ())))
            deepest, chain = max(below, key=lambda found: found[0], default=(0, []))
            self.known[name] = self.frames.get(name, 0) + deepest, [name, *chain]
        return self.known[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("headers", nargs="+", type=Path)
    parser.add_argument("--taken", nargs="*", default=[], help="names; those that are no functions are ignored")
    parser.add_argument("--graphs", nargs="+", type=Path, action="append", required=True)
    options = parser.parse_args()

    frames, calls = read_graphs(options.graphs, options.taken.__contains__)
    depths = Depths(frames, calls)
    entries = sorted(public_functions(options.headers) & frames.keys())
    if not entries:
        sys.exit("stack_depth: no public function in the graphs")
    deepest, chain = max((depths.of(name) for name in entries), key=lambda found: found[0])
    print(deepest, " > ".join(map(plain, chain)))


if __name__ == "__main__":
    try:
        main()
    except Unbounded as problem:
        sys.exit(f"stack_depth: {problem}")
