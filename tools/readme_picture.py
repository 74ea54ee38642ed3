"""Draw the picture of the README: a stuck network beside the better parameters of its own shape.

python tools/readme_picture.py writes docs/img/spirals.png.
"""

import tempfile
from pathlib import Path

from PIL import Image

import pellucid

TARGET = Path(__file__).resolve().parent.parent / "docs" / "img" / "spirals.png"


def main() -> None:
    data = pellucid.datasets.spirals(600, seed=0)
    verdict = pellucid.diagnose(data, hidden=[8, 8, 8], learning_rate=0.01, steps=3000, seed=0)
    if verdict.witness is None:
        raise SystemExit(f"no witness to draw: {verdict.sentence}")
    panels = [
        draw(verdict.network, "as trained", verdict.experiments[0].score[0]),
        draw(verdict.witness.network, "better parameters of the same network", None),
    ]
    joined = Image.new("RGB", (sum(p.width for p in panels), panels[0].height), "white")
    for i, panel in enumerate(panels):
        joined.paste(panel, (sum(p.width for p in panels[:i]), 0))
    TARGET.parent.mkdir(exist_ok=True)
    joined.save(TARGET, optimize=True)
    print(TARGET)


def draw(network: pellucid.Network, title: str, score: float | None) -> Image.Image:
    data = pellucid.datasets.spirals(600, seed=0)
    figure = pellucid.plot.decision_regions(
        network, data.X, data.y, classes=data.classes, feature_names=data.feature_names
    )
    tail = "" if score is None else f", {100 * score:.0f} % of held-out points right"
    figure.axes[0].set_title(title + tail, fontsize=10)
    with tempfile.TemporaryDirectory() as folder:
        path = pellucid.plot.save(figure, Path(folder) / "panel.png")
        return Image.open(path).convert("RGB")


if __name__ == "__main__":
    main()
