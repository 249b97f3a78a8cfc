# SPDX-License-Identifier: Apache-2.0
"""How methods look in the figures of bench/utility.py."""

# One look for a method in every figure. Dashed: NOT PRIVATE.
OWN, TRIVIAL, CURVE = "#d7263d", "#7a8793", "#1b1b1b"
LOOKS = {
    "own": f"linespoints pt 7 ps 0.6 lw 3 lc rgb '{OWN}'", "own_sketch": f"linespoints pt 6 ps 0.6 lw 1 lc rgb '{OWN}'",
    "own_gaussian": "linespoints pt 6 ps 0.6 lw 2 lc rgb '#e8871e'",
    "popular": "lines lw 2 lc rgb '#b9c4cd'",
    "trivial": f"lines lw 2 lc rgb '{TRIVIAL}'", "curve": f"lines lw 1.5 dt 3 lc rgb '{CURVE}'",
    "projection": "linespoints pt 9 ps 0.6 lw 1.5 lc rgb '#3b7dd8'", "pca": "linespoints pt 5 ps 0.5 lw 1.5 lc rgb '#1b998b'",
    "dsne": "linespoints pt 3 ps 0.6 lw 1.5 lc rgb '#5c7a29'", "dsne_free": "lines lw 1.5 dt 2 lc rgb '#5c7a29'",
    "class_random": "linespoints pt 11 ps 0.6 lw 1.5 lc rgb '#b388eb'",
    "class_prototype": "linespoints pt 13 ps 0.7 lw 1.5 lc rgb '#6a3fb5'",
    "features": "lines lw 1.5 dt 2 lc rgb '#444444'", "smlq": "lines lw 1.5 dt 2 lc rgb '#8c6d31'",
    "tsne": "lines lw 1.5 dt 2 lc rgb '#c05299'", "printed": "linespoints pt 8 ps 0.6 lw 1.5 dt 2 lc rgb '#2e7d32'",
    "published": "linespoints pt 4 ps 0.6 lw 1.5 dt 2 lc rgb '#00838f'",
}
SHADES = ("#f4a261", "#e76f51", "#d7263d", "#7b1e3a")
NOT_PRIVATE_LOOKS = (LOOKS["printed"], LOOKS["published"], "linespoints pt 10 ps 0.6 lw 1.5 dt 2 lc rgb '#8c6d31'")
