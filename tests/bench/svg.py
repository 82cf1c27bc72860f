# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws pictures in SVG, whose colors follow the reader's choice of light or dark pages."""

import math
from xml.sax.saxutils import escape

# Lines and their names have these colors, so each has to be legible as text.
LIGHT = ["#0b62a4", "#c0392b", "#1f7a4a", "#8e44ad", "#8f5e00", "#5d6d7e", "#117a65", "#a04000"]
DARK = ["#58a6ff", "#ff7b72", "#56d364", "#d2a8ff", "#e3b341", "#a5b4c4", "#39c5bb", "#ffa657"]


def palette(paper, ink, faint, grid, colors):
    """Returns CSS in which currentColor is the color of the element's class."""
    rules = {".paper": f"fill:{paper}", ".ink": f"fill:{ink};color:{ink}", ".faint": f"fill:{faint};color:{faint}", ".grid": f"color:{grid}"}
    rules |= {f".c{n}": f"color:{color}" for n, color in enumerate(colors)}
    return "".join(f"{name}{{{rule}}}" for name, rule in rules.items())


STYLE = palette("#fff", "#222", "#666", "#ddd", LIGHT)
STYLE += f"@media (prefers-color-scheme:dark){{{palette('#0d1117', '#e6edf3', '#9da7b3', '#30363d', DARK)}}}"


class Svg:
    """Elements have a class of the style: ink, faint, grid, or c0, c1... for lines."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.out = width, height, title, []

    def text(self, x, y, text, what="ink", **attributes):
        fill = ' fill="currentColor"' if what.startswith("c") else ""
        extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{what}"{fill}{extra}>{escape(text)}</text>')

    def line(self, x1, y1, x2, y2, what, **attributes):
        extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items())
        self.out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{what}" stroke="currentColor"{extra}/>')

    def curve(self, points, what):
        """Draws a line through the points; a single point becomes a dot."""
        if len(points) == 1:
            self.dot(*points[0], what, 1.5)
            return
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.out.append(f'<polyline points="{path}" class="{what}" fill="none" stroke="currentColor" stroke-width="2"/>')

    def dot(self, x, y, what, radius=3):
        self.out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" class="{what}" fill="currentColor"/>')

    def bar(self, x, y, width, height, what):
        self.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{what}" fill="currentColor"/>')

    def frame(self, x, y, width, height):
        self.out.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" class="grid" fill="none" '
                        'stroke="currentColor"/>')

    def render(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img" '
            'font-family="sans-serif" font-size="12">',
            f"<title>{escape(self.title)}</title>", f"<style>{STYLE}</style>",
            f'<rect width="{self.width}" height="{self.height}" class="paper"/>', *self.out, "</svg>", ""])


class Scale:
    """Maps values from lowest to highest to places from start to end; others to the nearer end."""

    def __init__(self, lowest, highest, start, end, logarithmic=False):
        self.lowest, self.highest, self.start, self.end = lowest, highest, start, end
        self.unit = math.log10 if logarithmic else float

    def __call__(self, value):
        low, high = self.unit(self.lowest), self.unit(self.highest)
        share = (self.unit(min(max(value, self.lowest), self.highest)) - low) / (high - low)
        return self.start + share * (self.end - self.start)


def linear_marks(highest, most):
    """Returns marks from 0 to highest or beyond, in at most so many steps of 1, 2 or 5 times a power of ten."""
    if highest <= 0:
        return [0, 1]
    power = 10 ** (math.floor(math.log10(highest)) - 1)
    step = next(power * factor for factor in (1, 2, 5, 10, 20, 50, 100) if highest / (power * factor) <= most)
    return [step * n for n in range(math.ceil(highest / step - 1e-9) + 1)]


def decades(lowest, highest):
    """Returns the powers of ten from lowest or below to highest or above, at least two."""
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    return [10 ** n for n in range(first, max(last, first + 1) + 1)]


def seconds(value):
    """Returns a text with two digits and the unit that fits."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size * 0.9995 or unit == "µs":
            number = value / size
            return f"{number:.0f} {unit}" if number >= 9.95 else f"{number:.1f} {unit}"
    return ""
