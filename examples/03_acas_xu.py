"""Draw two slices of a collision-avoidance network: every piece exactly, over its advisories.

ACAS Xu network 1_1 (data/README.md) takes the distance rho to an intruder, the angle theta to it,
the angle psi between both headings, and both speeds. It gives a score for each of five advisories;
the lowest wins. The slices are planes in its input space: two inputs vary, the others stay.

Where two scores tie, cells are cut in two by a further layer, relu(score_i - score_j) for all
pairs, so that every cell that is drawn has one advisory: no border in the picture is sampled.
"""

from itertools import combinations
from pathlib import Path

import matplotlib
import numpy as np

import pellucid

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Outline

FILE = Path(__file__).parent / "data" / "ACASXU_run2a_1_1_batch_2000.nnet"
INPUTS = ("rho (ft)", "theta (rad)", "psi (rad)", "own speed (ft/s)", "intruder's speed (ft/s)")
ADVISORIES = {
    "clear of conflict": "#e9e5dc",
    "weak left": "#9cc6e6",
    "weak right": "#f2b6a0",
    "strong left": "#2f6fa8",
    "strong right": "#c4472b",
}
#: where the inputs stay, and the two that vary: (input, low, high)
SLICES = [
    ((0, 0, -1.5, 800, 500), (0, 0, 12000), (1, -3.1, 3.1)),
    ((3000, 0, 0, 800, 500), (1, -3.1, 3.1), (2, -3.1, 3.1)),
]


def read_nnet(path):
    """Network, means and ranges of the inputs, from the text of an .nnet file.

    After comments: counts, widths, a flag, lowest and highest inputs, means and ranges (of the
    inputs, then of the outputs); then for every layer the rows of its matrix and its biases.
    """
    text = [line for line in path.read_text().splitlines() if not line.startswith("//")]
    rows = [[float(word) for word in line.split(",") if word.strip()] for line in text]
    d_in, *widths = (int(n) for n in rows[1])
    at, W, b = 7, [], []
    for d_out in widths:
        W.append(rows[at : at + d_out])
        b.append([row[0] for row in rows[at + d_out : at + 2 * d_out]])
        at += 2 * d_out
    network = pellucid.Network(W, b, ["relu"] * (len(W) - 1))
    return network, np.array(rows[5][:d_in]), np.array(rows[6][:d_in])


def slice_of(means, ranges, at, *vary):
    """The plane on which two inputs go from low to high as its coordinates go from 0 to 1."""
    origin, axes = np.array(at, float), np.zeros((2, len(at)))
    for axis, (i, low, high) in zip(axes, vary, strict=True):
        origin[i], axis[i] = low, (high - low) / ranges[i]
    normalized = (origin - means) / ranges  # what the network takes
    return pellucid.Plane(normalized, *axes, ((0, 1), (0, 1)))


def cut_where_scores_tie(network):
    """The same network with a layer that has a kink wherever two scores are equal."""
    scores = np.eye(network.d_out)
    pairs = np.array([scores[i] - scores[j] for i, j in combinations(range(len(scores)), 2)])
    W = [*network.weights, pairs, np.ones((1, len(pairs)))]
    b = [*network.biases, np.zeros(len(pairs)), np.zeros(1)]
    return pellucid.Network(W, b, [*network.activations, "identity", "relu"])


def outline(regions, chosen, vary):
    """The polygons of the chosen regions as one path, in units of the inputs."""
    (_, *across), (_, *up) = vary
    low, high = np.array([across, up]).T
    starts, ends = regions.offsets[:-1], regions.offsets[1:]
    closed = np.insert(regions.vertices, ends, regions.vertices[starts], axis=0)
    codes = np.full(len(regions.vertices), Outline.LINETO)
    codes[starts] = Outline.MOVETO
    codes = np.insert(codes, ends, Outline.CLOSEPOLY)
    keep = np.repeat(chosen, np.diff(regions.offsets) + 1)
    return Outline(low + closed[keep] * (high - low), codes[keep])


def draw(axes, network, plane, vary):
    """The pieces of the network in thin lines over the areas of the advisories."""
    pieces = pellucid.linear_regions(network, plane)
    cells = pellucid.linear_regions(cut_where_scores_tie(network), plane)
    advisory = network(plane.to_input(cells.center)).argmin(axis=1)
    print(f"{len(pieces):,} pieces, certified: {pieces.certified and cells.certified}")
    for k, (name, color) in enumerate(ADVISORIES.items()):
        of_it = advisory == k
        path = outline(cells, of_it, vary)
        axes.add_artist(PathPatch(path, facecolor=color, edgecolor=color, lw=0.3, label=name))
        print(f"  {name:18s}{cells.volume[of_it].sum() / plane.volume:7.2%}")
    everywhere = outline(pieces, np.ones(len(pieces), bool), vary)
    axes.add_artist(PathPatch(everywhere, fill=False, edgecolor="#333333", lw=0.12, alpha=0.6))
    (i, *across), (j, *up) = vary
    axes.set(xlim=across, ylim=up, xlabel=INPUTS[i], ylabel=INPUTS[j])


def main():
    network, means, ranges = read_nnet(FILE)
    print(network)
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for axes, (at, *vary) in zip(panels, SLICES, strict=True):
        draw(axes, network, slice_of(means, ranges, at, *vary), vary)
        fixed = [i for i in range(len(INPUTS)) if i not in {of[0] for of in vary}]
        axes.set_title(", ".join(f"{INPUTS[i]} {at[i]:g}" for i in fixed), fontsize=9)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig("acas_xu.png", dpi=150)
    print("acas_xu.png")


if __name__ == "__main__":
    main()
