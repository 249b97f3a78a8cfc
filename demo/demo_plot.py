#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what a server sees of one query: demo_plot.py FOLDER PACK FEATURES LABELS ROW PICTURE RESULT.svg EPSILON...

FOLDER holds, for each EPSILON and both mechanisms, MECHANISM-EPSILON.json (the receipt of `privatemail privatize`) and
MECHANISM-EPSILON-seen.json (`privatemail decode` of the releases). The programs never print what noise hides, so the
true place is computed here, from the query itself, by the independent implementation in tests/golden.
"""
import base64
import json
import os
import sys

import numpy

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(ROOT, "tests", "golden"), os.path.join(ROOT, "bench")]
sys.dont_write_bytecode = True    # keeps the source tree clean

import plot  # noqa: E402
import reference_reader  # noqa: E402
from plot import block, class_colour  # noqa: E402
from reference import bits_from_floats, label_row, nearest_cell, quantise, update  # noqa: E402

WIDTH, HEIGHT = 1200, 920
WINDOW = 110                      # the pictures of the embedding show -WINDOW to WINDOW thousand units
SEEN, TRUE, OTHER, LINE = "#2b3a4a", "#d7263d", "#9fb3c8", "#1b1b1b"


# What is true --------------------------------------------------------------------------------------------------

def read_pack(path):
    """A reference.Pack from a file; the reference must make the very same bytes of what was read."""
    with open(path, "rb") as file:
        data = file.read()
    pack = reference_reader.read_pack(data)
    assert pack.bytes == data, f"{path} is not what the reference makes of it"
    return pack


def place(pack, query, slot):
    """Where a picture lies in the embedding before any noise, in thousand units (SPEC 5.9)."""
    weights, numerators = update(pack, [label_row(pack, s) for s in range(pack.G)], query, slot)
    total = sum(weight for _, weight in weights)
    return [numerator / (512 * total) / 1000 for numerator in numerators]


# What was seen -------------------------------------------------------------------------------------------------

def read_json(folder, name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def seen_points(folder, epsilon, slot):
    seen = read_json(folder, f"gaussian-{epsilon}-seen")
    return numpy.array([release["slots"][slot]["row"] for release in seen]) / 1000


def seen_counts(folder, epsilon, slot, m):
    symbols = [release["slots"][slot]["symbol"] for release in read_json(folder, f"response-{epsilon}-seen")]
    return numpy.bincount(symbols, minlength=m)


# The picture ---------------------------------------------------------------------------------------------------

def margins(left, right, bottom, top):
    return plot.margins(WIDTH, HEIGHT, left, right, bottom, top)


def panel(column, bottom, top):
    left = 78 + column * 380
    return margins(left, left + 340, bottom, top)


def scatter(column, epsilon, points, true, sigma):
    outside = int((numpy.abs(points) > WINDOW).any(axis=1).sum())
    note = f", {outside} points lie outside" if outside else ""
    return block(f"points{column}", points) + panel(column, 500, 160) + f"""
set title "{{/:Bold ε = {epsilon}}}   noise σ = {sigma / 1000:.0f} thousand{note}" offset 0,-0.4
set xrange [-{WINDOW}:{WINDOW}]; set yrange [-{WINDOW}:{WINDOW}]
set xtics 50 scale 0.5; set ytics 50; set grid lc rgb "#eeeeee" lt 1
set xlabel "embedding, first coordinate (thousands)" offset 0,0.6
set ylabel "{'second coordinate (thousands)' if column == 0 else ''}" offset 1.2,0
plot $public using 1:2:3 with points pt 7 ps 0.5 lc rgb variable, \\
     $points{column} using 1:2 with points pt 7 ps 0.4 lc rgb "#80{SEEN[1:]}", \\
     "+" using ({true[0]}):({true[1]}) every ::0::0 with points pt 6 ps 1.5 lw 5 lc rgb "white", \\
     "+" using ({true[0]}):({true[1]}) every ::0::0 with points pt 6 ps 1.5 lw 2.5 lc rgb "{TRUE}", \\
     "+" using ({true[0]}):({true[1]}) every ::0::0 with points pt 7 ps 0.5 lc rgb "{TRUE}"
"""


def histogram(column, epsilon, counts, true, keep):
    total = counts.sum()
    rows = [(index, count, int((TRUE if index == true else OTHER)[1:], 16)) for index, count in enumerate(counts)]
    return block(f"counts{column}", rows) + panel(column, 825, 650) + f"""
set title "{{/:Bold ε = {epsilon}}}   the true one is kept with probability {keep:.3g}" offset 0,-0.4
set xrange [-0.6:{len(counts) - 0.4}]; set yrange [0:{total * 1.2}]
set xtics 1 scale 0; set ytics 50; unset grid; set grid ytics lc rgb "#eeeeee" lt 1
set xlabel "cell named for the query's class" offset 0,0.6
set ylabel "{f'times in {total}' if column == 0 else ''}" offset 1.2,0
plot $counts{column} using 1:2:3 with boxes fill solid 1 lc rgb variable, \\
     {total * keep} with lines lw 1.5 dt 2 lc rgb "{LINE}", \\
     $counts{column} using 1:2:2 with labels boxed offset 0,0.65 font ",9" tc rgb "#555555"
"""


def legend(top, entries):
    """A line of explanations across the picture: a plot with nothing else in it."""
    return margins(60, WIDTH - 30, top + 22, top) + """
unset border; unset tics; unset grid; unset title; unset xlabel; unset ylabel
set xrange [0:1]; set yrange [0:1]
set key center center horizontal maxrows 1 samplen 1.5 width -5 Left reverse
plot -1 notitle, """ + ", \\\n     ".join(f'keyentry with {style} title "{text}"' for style, text in entries) + """
unset key
set border 3; set tics
"""


def scatter_legend(releases):
    return (("points pt 7 ps 0.8 lc rgb '#86aef0'", "public pictures, one colour a class"),
            (f"points pt 7 ps 0.6 lc rgb '#80{SEEN[1:]}'", f"what the server sees: {releases} releases"),
            (f"points pt 6 ps 1.2 lw 2.5 lc rgb '{TRUE}'", "the true place, which only the device knows"))


HISTOGRAM_LEGEND = ((f"boxes fill solid 1 lc rgb '{TRUE}'", "the true cell, which only the device knows"),
                    (f"boxes fill solid 1 lc rgb '{OTHER}'", "the other cells"),
                    (f"lines lw 1.5 dt 2 lc rgb '{LINE}'", "expected for the true one"))


HEAD = plot.head(WIDTH, HEIGHT) + """
set style fill solid 1 noborder
set boxwidth 0.72
set style textbox opaque margins 0.4,0.2 fillcolor rgb "white" noborder
"""


def script(pack, public, panels):
    rows = [(x, y, class_colour(own, pack.G)) for x, y, own in public]
    releases = len(panels[0][1])  # of each mechanism, at each ε

    def label(number, text, left, top, style):
        return f'set label {number} "{text}" at screen {left / WIDTH}, screen {1 - top / HEIGHT} {style}\n'

    grey = 'font ",11" textcolor rgb "#555555"'
    text = HEAD + block("public", rows) + "set multiplot\n" + \
        label(1, "What the server sees of one query", 106, 30, 'font ",19"') + \
        label(2, f"This picture, released {releases} times at each ε; the smaller ε, the more privacy. A real device "
                 "makes one release and keeps it.", 106, 56, grey) + \
        label(3, f"The server gets as much for each of the {pack.G} classes and is not told which one is meant; "
                 "shown is the query's own class.", 106, 76, grey) + \
        label(4, "{/:Bold Gaussian}: the device sends a noisy point", 78, 118, 'font ",12.5"') + \
        label(5, "{/:Bold Response}: the device names one cell, the true one or, by chance, another", 78, 608,
              'font ",12.5"')
    for column, (epsilon, points, counts, true_place, true_cell, gaussian, response) in enumerate(panels):
        text += scatter(column, epsilon, points, true_place, gaussian["sigma"]) + "unset label\n"
        text += histogram(column, epsilon, counts, true_cell, response["keep"])
    return text + legend(548, scatter_legend(releases)) + legend(876, HISTOGRAM_LEGEND) + "unset multiplot\n"


def draw(text, picture, result):
    """Runs gnuplot, then lays the query's picture into the corner."""
    with open(picture, "rb") as file:
        inline = base64.b64encode(file.read())
    image = b'<image x="22" y="16" width="68" height="68" style="image-rendering:pixelated" ' \
            b'xlink:href="data:image/png;base64,' + inline + b'"/>\n'
    plot.write_svg(result, plot.svg_of(text).replace(b"</svg>", image + b"</svg>"))


def main():
    if len(sys.argv) < 9:
        sys.exit(__doc__)
    folder, pack_path, features, labels, row, picture, result = sys.argv[1:8]
    pack = read_pack(pack_path)
    slot = pack.slot_of(int(numpy.load(labels)[int(row)]))
    query = quantise(bits_from_floats(numpy.load(features)[int(row)].tolist()))
    public = [(*place(pack, anchor, own), own) for own in range(pack.G)
              for anchor in pack.anchors[pack.starts[own]:pack.starts[own + 1]]]
    true_place, true_cell = place(pack, query, slot), nearest_cell(pack, query, slot)
    panels = [(epsilon, seen_points(folder, epsilon, slot), seen_counts(folder, epsilon, slot, pack.m), true_place,
               true_cell, read_json(folder, f"gaussian-{epsilon}"), read_json(folder, f"response-{epsilon}"))
              for epsilon in sys.argv[8:]]
    draw(script(pack, public, panels), picture, result)


if __name__ == "__main__":
    main()
