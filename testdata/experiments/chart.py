#!/usr/bin/env python3
"""Draws curves of `heaptape timeline --format=csv` as one SVG on standard output.

usage: chart.py TITLE LABEL FILE COLUMN [LABEL FILE COLUMN]...

The same input gives the same bytes. Events go to the right, megabytes upwards. The
first curve, what the others are compared with, is filled.
"""
import csv
import sys

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 56, 176, 36, 36
COLORS = ["#d5d8dc", "#c0392b", "#2471a3", "#1e8449", "#b9770e"]
MOST_POINTS = 240


def read(path, column):
    with open(path, newline="") as file:
        points = [(int(row["event"]), int(row[column]) / 1e6) for row in csv.DictReader(file)]
    if len(points) <= MOST_POINTS:
        return points
    # Of neighbours, the largest: no peak is lost.
    size = -(-len(points) // MOST_POINTS)
    return [max(points[i : i + size], key=lambda point: point[1]) for i in range(0, len(points), size)]


def step(most):
    """A round number that goes into `most` four to nine times."""
    unit = 1
    while True:
        for factor in (1, 2, 5):
            if most / (unit * factor) < 10:
                return unit * factor
        unit *= 10


def main(title, *arguments):
    curves = [(arguments[i], read(arguments[i + 1], arguments[i + 2])) for i in range(0, len(arguments), 3)]
    last = max(points[-1][0] for _, points in curves)
    most = max(value for _, points in curves for _, value in points)
    plot_width, plot_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    x = lambda event: LEFT + plot_width * event / last
    y = lambda value: TOP + plot_height * (1 - value / most)

    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">')
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    print(f'<text x="{LEFT}" y="20" font-size="14">{title}</text>')
    value = 0
    while value <= most:
        print(f'<path d="M{LEFT} {y(value):.1f}h{plot_width}" stroke="#ebedef"/>')
        print(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
        value += step(most)
    print(f'<text x="{LEFT}" y="{HEIGHT - 12}">0</text>')
    print(f'<text x="{LEFT + plot_width}" y="{HEIGHT - 12}" text-anchor="end">{last:,} calls; MB</text>')
    for i, (label, points) in enumerate(curves):
        color = COLORS[i % len(COLORS)]
        line = " ".join(f"{x(event):.1f},{y(value):.1f}" for event, value in points)
        if i == 0:
            floor = f"{x(points[-1][0]):.1f},{y(0):.1f} {x(points[0][0]):.1f},{y(0):.1f}"
            print(f'<polygon points="{line} {floor}" fill="{color}"/>')
        else:
            print(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.5"/>')
        print(f'<rect x="{WIDTH - RIGHT + 12}" y="{TOP + 20 * i}" width="14" height="4" fill="{color}"/>')
        print(f'<text x="{WIDTH - RIGHT + 32}" y="{TOP + 20 * i + 7}">{label}</text>')
    print("</svg>")


main(*sys.argv[1:])
