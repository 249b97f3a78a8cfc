# SPDX-License-Identifier: Apache-2.0
"""Figures as SVG through gnuplot: panels side by side over a legend. For the scripts of bench/ and scripts/."""
import colorsys
import os
import subprocess
import sys

PANEL_WIDTH, PANEL_HEIGHT, LEFT, GAP, ABOVE, BELOW, LINE = 340, 250, 70, 56, 44, 62, 24


# What gnuplot is told -----------------------------------------------------------------------------------------------

def head(width, height):
    """The look of every figure: a white SVG of this size, grey frames, no keys."""
    return f"""
set terminal svg size {width},{height} enhanced font "DejaVu Sans,Helvetica,Arial,sans-serif,11" background rgb "white"
set encoding utf8
set samples 2
set border 3 lc rgb "#888888"
set tics nomirror scale 0.5 textcolor rgb "#555555" font ",9"
set xlabel textcolor rgb "#333333" font ",10"
set ylabel textcolor rgb "#333333" font ",10"
set key textcolor rgb "#333333" font ",10" noautotitle
unset key
"""


def margins(width, height, left, right, bottom, top):
    """Where the next plot goes: pixels from the left and from the top of a picture of this size."""
    return f"set lmargin at screen {left / width}; set rmargin at screen {right / width}\n" \
           f"set bmargin at screen {1 - bottom / height}; set tmargin at screen {1 - top / height}\n"


def block(name, rows):
    """A data block: numbers as a plot takes them from $name."""
    return f"${name} << END\n" + "\n".join(" ".join(f"{value:.8g}" for value in row) for row in rows) + "\nEND\n"


def svg_of(script):
    """What gnuplot draws, as bytes."""
    try:
        done = subprocess.run(["gnuplot"], input=script.encode(), capture_output=True)
    except FileNotFoundError:
        sys.exit("gnuplot is missing: scripts/setup.sh installs it (Debian package gnuplot-nox)")
    if done.returncode != 0 or b"</svg>" not in done.stdout:
        sys.exit("gnuplot failed: " + done.stderr.decode(errors="replace"))
    return done.stdout


def write_svg(path, svg):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".tmp", "wb") as file:
        file.write(svg)
    os.replace(path + ".tmp", path)


def class_colour(index, count):
    red, green, blue = colorsys.hsv_to_rgb(index / count, 0.45, 0.9)
    return int(red * 255) << 16 | int(green * 255) << 8 | int(blue * 255)


# Figures ------------------------------------------------------------------------------------------------------------

class Panel:
    """Series in one frame: (gnuplot style, rows of numbers, columns to use). Errors: rows (x, y, error)."""

    def __init__(self, title, x_label, y_label, options=""):
        self.title, self.x_label, self.y_label, self.options, self.series = title, x_label, y_label, options, []

    def add(self, look, rows, columns="1:2"):
        rows = [row for row in rows if all(value is not None for value in row)]
        if rows:
            self.series.append((look, rows, columns))

    def add_with_errors(self, look, rows):
        self.add(f"yerrorbars pt -1 lw 1 {look[look.index('lc '):]}", rows, "1:2:3")
        self.add(look, rows)


class Figure:
    def __init__(self, title, note, legend, columns):
        """legend: [(look, text)]."""
        self.title, self.note, self.legend, self.columns, self.panels = title, note, legend, columns, []

    def script(self):
        rows = -(-len(self.panels) // self.columns)
        width = LEFT + max(2, self.columns) * (PANEL_WIDTH + GAP)
        across = max(2, self.columns)
        legend_lines = -(-len(self.legend) // across)
        top = 78
        height = top + rows * (PANEL_HEIGHT + ABOVE + BELOW) + legend_lines * LINE + 14
        text = head(width, height) + "set multiplot\n" + \
            f'set label 1 "{self.title}" at screen {LEFT / width}, screen {1 - 28 / height} font ",17"\n' \
            f'set label 2 "{self.note}" at screen {LEFT / width}, screen {1 - 54 / height} font ",10.5" textcolor rgb "#555555"\n'
        for index, panel in enumerate(self.panels):
            column, row = index % self.columns, index // self.columns
            left, up = LEFT + column * (PANEL_WIDTH + GAP), top + row * (PANEL_HEIGHT + ABOVE + BELOW) + ABOVE
            text += margins(width, height, left, left + PANEL_WIDTH, up + PANEL_HEIGHT, up)
            text += one_panel(index, panel) + "unset label\n"
        for index, entry in enumerate(self.legend):
            left, up = LEFT + index % across * (PANEL_WIDTH + GAP), height - (legend_lines - index // across) * LINE - 10
            text += margins(width, height, left, left + PANEL_WIDTH + GAP, up + LINE, up) + one_legend(*entry)
        return text.replace("@", r"\\@") + "unset multiplot\n"          # gnuplot takes a bare one for markup

    def draw(self, path):
        write_svg(path, svg_of(self.script()))


def one_panel(index, panel):
    blocks, parts = "", []
    for number, (look, rows, columns) in enumerate(panel.series):
        name = f"d{index}_{number}"
        blocks += block(name, rows)
        parts.append(f"${name} using {columns} with {look}")
    return blocks + f"""
set title "{panel.title}" offset 0,-0.4
set xlabel "{panel.x_label}" offset 0,0.4
set ylabel "{panel.y_label}" offset 1.2,0
set border 3; set tics; set grid lc rgb "#eeeeee" lt 1
unset logscale; set format "%g"; set autoscale; set xtics auto; set ytics auto
{panel.options}
plot """ + ", \\\n     ".join(parts) + "\n"


def one_legend(look, text):
    return f"""
unset border; unset tics; unset grid; unset title; unset xlabel; unset ylabel; unset logscale
set xrange [0:1]; set yrange [0:1]
set key left center horizontal maxrows 1 samplen 2 width 0 Left reverse
plot -1 notitle, keyentry with {look} title "{text}"
unset key
"""
