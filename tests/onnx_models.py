"""ONNX models for tests: the published ones that are there, and small ones written as text."""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper, parser

DATA = Path(__file__).parent / "data" / "networks"
_BESIDE = [folder / "shared" / "networks" for folder in Path(__file__).parents[2:4]]
SHARED = next((folder for folder in _BESIDE if folder.is_dir()), None)


def published():
    """All published models by name: those in the repository, and the shared ones where they are."""
    folders = [DATA] if SHARED is None else [DATA, SHARED]
    paths = [path for folder in folders for path in sorted(folder.glob("*/*.onnx"))]
    return {f"{p.parent.name}/{p.name}": p for p in paths if p.parent.name != "bad"}


def references(path):
    """(x, y): the inputs side by side and the outputs side by side, computed in float64."""
    stored = np.load(f"{path}.ref.npz")
    x = [stored[name] for name in sorted(stored) if name.startswith("x")]
    y = [stored[name] for name in sorted(stored) if name.startswith("y64")]
    return tuple(np.hstack([part.reshape(len(part), -1) for part in side]) for side in (x, y))


def model(body, inputs="float[n,4] x", outputs="float[n,a] y", opset=13, ir=8, **tensors):
    """A model of that text, with the given arrays as its stored tensors."""
    text = (
        f'<ir_version: {ir}, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {{{body}}}'
    )
    made = parser.parse_model(text)
    for name, array in tensors.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


def stored(made, folder, name="model.onnx"):
    """The path of the model, written into a folder."""
    path = Path(folder) / name
    path.write_bytes(made.SerializeToString())
    return path


def run(made, *inputs, outputs=None):
    """What onnxruntime computes, or onnx's reference where that has no implementation."""
    import onnxruntime

    names = [
        i.name for i in made.graph.input if i.name not in {t.name for t in made.graph.initializer}
    ]
    given = dict(zip(names, inputs, strict=True))
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(made.SerializeToString(), options)
        return session.run(outputs, given)
    except Exception:  # of its own kinds
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(made).run(outputs, given)


def softmax(z):
    """The softmax of every row."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


__all__ = ["DATA", "SHARED", "model", "onnx", "published", "references", "run", "softmax", "stored"]
