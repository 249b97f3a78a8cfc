# SPDX-License-Identifier: Apache-2.0
"""Figures as SVG through gnuplot: panels side by side over a legend."""
import colorsys
import os
import subprocess

from utility_data import stop

PANEL_WIDTH, PANEL_HEIGHT, LEFT, GAP, ABOVE, BELOW, LINE = 340, 250, 70, 56, 44, 62, 24

# One look for a method in every figure. Dashed: NOT PRIVATE.
OWN, TRIVIAL, CURVE = "#d7263d", "#7a8793", "#1b1b1b"
LOOKS = {
    "own": f"linespoints pt 7 ps 0.6 lw 3 lc rgb '{OWN}'", "own_sketch": f"linespoints pt 6 ps 0.6 lw 1 lc rgb '{OWN}'",
    "own_gaussian": "linespoints pt 6 ps 0.6 lw 2 lc rgb '#e8871e'",
    "trivial": f"lines lw 2 lc rgb '{TRIVIAL}'", "curve": f"lines lw 1.5 dt 3 lc rgb '{CURVE}'",
    "projection": "linespoints pt 9 ps 0.6 lw 1.5 lc rgb '#3b7dd8'", "pca": "linespoints pt 5 ps 0.5 lw 1.5 lc rgb '#1b998b'",
    "class_random": "linespoints pt 11 ps 0.6 lw 1.5 lc rgb '#b388eb'",
    "class_prototype": "linespoints pt 13 ps 0.7 lw 1.5 lc rgb '#6a3fb5'",
    "features": "lines lw 1.5 dt 2 lc rgb '#444444'", "smlq": "lines lw 1.5 dt 2 lc rgb '#8c6d31'",
    "tsne": "lines lw 1.5 dt 2 lc rgb '#c05299'", "printed": "linespoints pt 8 ps 0.6 lw 1.5 dt 2 lc rgb '#2e7d32'",
    "published": "linespoints pt 4 ps 0.6 lw 1.5 dt 2 lc rgb '#00838f'",
}
SHADES = ("#f4a261", "#e76f51", "#d7263d", "#7b1e3a")
NOT_PRIVATE_LOOKS = (LOOKS["printed"], LOOKS["published"], "linespoints pt 10 ps 0.6 lw 1.5 dt 2 lc rgb '#8c6d31'")


def class_colour(index, count):
    red, green, blue = colorsys.hsv_to_rgb(index / count, 0.45, 0.9)
    return int(red * 255) << 16 | int(green * 255) << 8 | int(blue * 255)


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
        text = HEAD.replace("SIZE", f"{width},{height}") + "set multiplot\n" + \
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
        try:
            done = subprocess.run(["gnuplot"], input=self.script().encode(), capture_output=True)
        except FileNotFoundError:
            stop("gnuplot is missing: scripts/setup.sh installs it (Debian package gnuplot-nox)")
        if done.returncode != 0 or b"</svg>" not in done.stdout:
            stop("gnuplot failed: " + done.stderr.decode(errors="replace"))
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(path + ".tmp", "wb") as file:
            file.write(done.stdout)
        os.replace(path + ".tmp", path)


def margins(width, height, left, right, bottom, top):
    return f"set lmargin at screen {left / width}; set rmargin at screen {right / width}\n" \
           f"set bmargin at screen {1 - bottom / height}; set tmargin at screen {1 - top / height}\n"


def one_panel(index, panel):
    blocks, parts = "", []
    for number, (look, rows, columns) in enumerate(panel.series):
        name = f"$d{index}_{number}"
        blocks += name + " << END\n" + "\n".join(" ".join(f"{value:.8g}" for value in row) for row in rows) + "\nEND\n"
        parts.append(f"{name} using {columns} with {look}")
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


HEAD = """
set terminal svg size SIZE enhanced font "DejaVu Sans,Helvetica,Arial,sans-serif,11" background rgb "white"
set encoding utf8
set samples 2
set border 3 lc rgb "#888888"
set tics nomirror scale 0.5 textcolor rgb "#555555" font ",9"
set xlabel textcolor rgb "#333333" font ",10"
set ylabel textcolor rgb "#333333" font ",10"
set key textcolor rgb "#333333" font ",10" noautotitle
unset key
"""
