# SPDX-License-Identifier: Apache-2.0
"""Many scatter plots on one sheet, as a small SVG: a point costs about ten bytes, where gnuplot writes a hundred."""
from xml.sax.saxutils import escape

from plot import class_colour, write_svg

SIDE, GAP, LEFT, TOP, ABOVE = 204, 18, 24, 74, 42
GREY = "#c9d0d6"


def hue(index, count):
    return f"#{class_colour(index, count):06x}"


class Scatter:
    """One square frame of points (x, y). A group is drawn over the groups before it; `size` is a width in pixels."""

    def __init__(self, title, note=""):
        self.title, self.note, self.groups = title, note, []

    def add(self, points, colour, size=3.0):
        if len(points):
            self.groups.append(([(float(point[0]), float(point[1])) for point in points], colour, size))

    def add_classes(self, points, labels, size=3.0):
        classes = sorted({int(label) for label in labels})
        for label in classes:
            own = [point for point, other in zip(points, labels) if other == label]
            self.add(own, hue(label, max(classes) + 1), size)

    def svg(self, left, top):
        every = [point for points, _, _ in self.groups for point in points]
        middle, reach = [], 1e-300
        for axis in (0, 1):
            values = [point[axis] for point in every]
            middle.append((min(values) + max(values)) / 2)
            reach = max(reach, max(values) - min(values))
        scale = (SIDE - 12) / reach
        parts = [f'<text x="{left}" y="{top - 22}" font-size="12.5" fill="#222">{escape(self.title)}</text>',
                 f'<text x="{left}" y="{top - 7}" font-size="10.5" fill="#666">{escape(self.note)}</text>',
                 f'<rect x="{left}" y="{top}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#ddd"/>']
        for points, colour, size in self.groups:
            pixels = sorted({(round(left + SIDE / 2 + (x - middle[0]) * scale), round(top + SIDE / 2 - (y - middle[1]) * scale))
                             for x, y in points})
            steps = zip([(0, 0), *pixels], pixels)          # each from the one before: shorter than its place
            path = "".join(f"m{x - before_x} {y - before_y}h0" for (before_x, before_y), (x, y) in steps)
            parts.append(f'<path d="{path}" stroke="{colour}" stroke-width="{size:g}"/>')
        return parts


class Sheet:
    def __init__(self, title, note, columns):
        self.title, self.note, self.columns, self.panels = title, note, columns, []

    def text(self):
        rows = -(-len(self.panels) // self.columns)
        width = 2 * LEFT + self.columns * (SIDE + GAP) - GAP
        height = TOP + rows * (SIDE + ABOVE) + 14
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                 'font-family="DejaVu Sans,Helvetica,Arial,sans-serif" fill="none" stroke-linecap="round">',
                 f'<rect width="{width}" height="{height}" fill="#fff"/>',
                 f'<text x="{LEFT}" y="26" font-size="16" fill="#111">{escape(self.title)}</text>']
        for line, note in enumerate(self.note.split("\n")):
            parts.append(f'<text x="{LEFT}" y="{45 + 14 * line}" font-size="11" fill="#555">{escape(note)}</text>')
        for index, panel in enumerate(self.panels):
            parts += panel.svg(LEFT + index % self.columns * (SIDE + GAP), TOP + index // self.columns * (SIDE + ABOVE) + ABOVE - 8)
        return "\n".join(parts) + "\n</svg>\n"

    def draw(self, path):
        write_svg(path, self.text().encode())
