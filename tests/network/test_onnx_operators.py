"""Every operator that the ONNX reader knows gives what onnxruntime gives, at every opset in use."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from onnx_models import model, run, softmax, stored

from pellucid import AffineGraph, Network, Plane, UnsupportedLayer, linear_regions
from pellucid.network.formats.loaded import Options
from pellucid.network.formats.onnx import read

RNG = np.random.default_rng(0)


def normal(*shape, dtype="f4"):
    return RNG.normal(size=shape).astype(dtype)


W, B, V = normal(4, 3), normal(3), normal(3, 2)
LAYER = "h = MatMul(x, W) z = Add(h, B)"


@dataclass
class Case:
    """One model: its text, its inputs' shapes, its opset, and its stored tensors."""

    body: str
    inputs: str = "float[1,4] x"
    opset: int = 13
    tensors: dict = field(default_factory=dict)


def case(body, inputs="float[1,4] x", opset=13, **tensors):
    return Case(body, inputs, opset, {"W": W, "B": B} | tensors if "W" in body else tensors)


def of_layer(activation, opset=13, **tensors):
    """A layer, the activation, and a layer after it."""
    return case(f"{LAYER} a = {activation} y = MatMul(a, V)", opset=opset, V=V, **tensors)


AXES = np.array([1, 2])
IMAGE = "float[1,2,6,5] x"

ACTIVATIONS = {
    "Relu": of_layer("Relu(z)"),
    "LeakyRelu": of_layer("LeakyRelu<alpha=0.3>(z)"),
    "LeakyRelu, default": of_layer("LeakyRelu(z)"),
    "PRelu of one slope": of_layer("PRelu(z, s)", s=normal(1)),
    "PRelu of a slope per unit": of_layer("PRelu(z, s)", s=normal(3)),
    "Clip of opset 6": of_layer("Clip<min=-0.5, max=0.7>(z)", opset=6),
    "Clip": of_layer("Clip(z, l, u)", l=np.float32(-0.5), u=np.float32(0.7)),
    "Clip from below": of_layer("Clip(z, l)", l=np.float32(-0.5)),
    "Clip from below at 0": of_layer("Clip(z, l)", l=np.float32(0)),
    "Clip from above": of_layer("Clip(z, , u)", u=np.float32(0.5)),
    "Clip of opset 6 from below": of_layer("Clip<min=-0.1>(z)", opset=6),
    "Clip that does nothing": of_layer("Clip(z)"),
    "Abs": of_layer("Abs(z)"),
    "Sigmoid": of_layer("Sigmoid(z)"),
    "Tanh": of_layer("Tanh(z)"),
    "Elu": of_layer("Elu<alpha=0.4>(z)"),
    "Selu": of_layer("Selu(z)"),
    "Celu": of_layer("Celu<alpha=0.5>(z)"),
    "Softplus": of_layer("Softplus(z)"),
    "Softsign": of_layer("Softsign(z)"),
    "HardSigmoid": of_layer("HardSigmoid<alpha=0.3, beta=0.4>(z)"),
    "Gelu": of_layer("Gelu(z)", opset=20),
    "Gelu, tanh form": of_layer('Gelu<approximate="tanh">(z)', opset=20),
    "Max with 0": of_layer("Max(z, o)", o=np.zeros(1, "f4")),
    "Max with constants": of_layer("Max(z, o)", o=normal(3)),
    "Min with constants": of_layer("Min(z, o)", o=normal(3)),
    "Max of a multiple": of_layer("Max(z, q)").body.replace("a = Max", "q = Mul(z, s) a = Max"),
}
ACTIVATIONS["Max of a multiple"] = case(ACTIVATIONS["Max of a multiple"], V=V, s=np.float32([0.2]))

IN_STEPS = {
    "silu": "s = Sigmoid(z) a = Mul(z, s)",
    "silu, the other way": "s = Sigmoid(z) a = Mul(s, z)",
    "silu as a quotient": "m = Neg(z) e = Exp(m) p = Add(one, e) a = Div(z, p)",
    "quick gelu": "q = Mul(z, k) s = Sigmoid(q) a = Mul(z, s)",
    "log-sigmoid": "s = Sigmoid(z) a = Log(s)",
    "sigmoid as a quotient": "m = Neg(z) e = Exp(m) p = Add(e, one) a = Div(one, p)",
    "sigmoid as a reciprocal": "m = Neg(z) e = Exp(m) p = Add(e, one) a = Reciprocal(p)",
    "softplus": "e = Exp(z) p = Add(e, one) a = Log(p)",
    "softplus of PyTorch": "g = Greater(z, far) e = Exp(z) p = Add(e, one) l = Log(p) "
    "a = Where(g, z, l)",
    "leaky relu as a choice": "g = Greater(z, zero) t = Mul(z, half) a = Where(g, z, t)",
    "relu as a choice": "g = Less(z, zero) a = Where(g, zero, z)",
    "softsign": "m = Abs(z) p = Add(m, one) a = Div(z, p)",
    "gelu of PyTorch": "q = Div(z, root) e = Erf(q) p = Add(e, one) t = Mul(z, p) a = Mul(t, half)",
    "gelu of Keras": "q = Mul(z, iroot) e = Erf(q) p = Add(one, e) t = Mul(half, p) a = Mul(z, t)",
    "gelu of halves": "f = Mul(z, half) q = Div(z, root) e = Erf(q) p = Add(e, one) a = Mul(f, p)",
    "gelu, tanh form": "c = Pow(z, three) d = Mul(c, cube) u = Add(z, d) v = Mul(u, two_pi) "
    "t = Tanh(v) p = Add(t, one) f = Mul(z, half) a = Mul(f, p)",
    "gelu, tanh form of products": "c = Mul(z, z) e = Mul(c, z) d = Mul(e, cube) u = Add(z, d) "
    "v = Mul(two_pi, u) t = Tanh(v) p = Add(one, t) g = Mul(half, p) a = Mul(z, g)",
    "an affine map of an activation": "s = Tanh(z) t = Mul(s, half) a = Add(t, one)",
    "a sum of two activations": "s = Tanh(z) t = Sigmoid(z) a = Sub(s, t)",
    "an activation and its input": "s = Tanh(z) a = Add(z, s)",
    "an activation of an activation": "s = Tanh(z) a = Relu(s)",
    "a clipped identity": "s = Max(z, low) a = Min(s, one)",
    "the larger of two": "s = Neg(z) q = Mul(s, k) r = Add(q, one) a = Max(z, r)",
    "the smaller of two": "s = Neg(z) q = Mul(s, k) r = Add(q, one) a = Min(z, r)",
}
NUMBERS = {
    "one": 1.0,
    "half": 0.5,
    "root": np.sqrt(2),
    "iroot": np.sqrt(0.5),
    "three": 3.0,
    "cube": 0.044715,
    "two_pi": np.sqrt(2 / np.pi),
    "k": 1.702,
    "low": -0.3,
    "far": 20.0,
    "zero": 0.0,
}


def in_steps(steps):
    used = {name: np.float32(v) for name, v in NUMBERS.items() if name in steps.replace("(", " ( ")}
    return case(f"{LAYER} {steps} y = MatMul(a, V)", V=V, **used)


LINEAR = {
    "Gemm": case("y = Gemm(x, W, B)"),
    "Gemm without bias": case("y = Gemm(x, W)"),
    "Gemm of opset 6": case("y = Gemm<broadcast=1>(x, W, B)", opset=6),
    "Gemm transB": case("y = Gemm<transB=1>(x, W, B)", W=normal(3, 4)),
    "Gemm alpha beta": case("y = Gemm<alpha=0.3, beta=1.7, transB=1>(x, W, B)", W=normal(3, 4)),
    "Gemm beta 0": case("y = Gemm<beta=0.0>(x, W, B)"),
    "Gemm transA": case("y = Gemm<transA=1>(x, W, B)", "float[4,1] x"),
    "Gemm weights first": case("y = Gemm<transB=1>(W, x, c)", W=normal(3, 4), c=normal(3, 1)),
    "Gemm weights first, turned": case("y = Gemm<transA=1, transB=1>(W, x)"),
    "Gemm adds data": case("h = Gemm(x, W) y = Gemm<beta=0.5>(x, U, h)", U=normal(4, 3)),
    "Gemm of a scalar bias": case("y = Gemm(x, W, c)", c=normal(1)),
    "MatMul from the left": case("y = MatMul(W, x)", "float[4,1] x", W=normal(3, 4)),
    "MatMul of a vector": case("h = MatMul(x, W) y = Add(h, B)", "float[4] x"),
    "MatMul of a vector, left": case("y = MatMul(W, x)", "float[4] x", W=normal(3, 4)),
    "MatMul with a vector": case("y = MatMul(x, c)", c=normal(4)),
    "MatMul of several rows": case("y = MatMul(x, W)", "float[1,5,4] x"),
    "MatMul of several columns": case("y = MatMul(W, x)", "float[4,3] x", W=normal(2, 4)),
    "MatMul of stacks": case("y = MatMul(x, W)", "float[1,2,5,4] x", W=normal(2, 4, 3)),
    "MatMul of stacks, left": case("y = MatMul(W, x)", "float[1,2,4,5] x", W=normal(2, 3, 4)),
    "MatMul vector by stack": case("y = MatMul(c, x)", "float[1,2,4,5] x", c=normal(4)),
    "two affine layers": case("h = Gemm(x, W, B) y = MatMul(h, V)", V=V),
    "a constant times a constant": case("w = MatMul(W, V) y = MatMul(x, w)", V=V),
    "Sub, Div, Mul of inputs": case(
        "a = Sub(x, m) b = Div(a, s) c = Mul(b, t) y = MatMul(c, W)",
        m=normal(4),
        s=np.abs(normal(4)) + 1,
        t=np.float32([0.5]),
    ),
    "constant minus inputs": case("a = Sub(m, x) y = MatMul(a, W)", m=normal(4)),
    "Add of opset 6": case("h = MatMul(x, W) y = Add<broadcast=1, axis=1>(h, B)", opset=6),
    "Neg and Sum": case("h = MatMul(x, W) m = Neg(h) y = Sum(m, B, h, h)"),
    "Mean": case("h = MatMul(x, W) y = Mean(h, B)"),
    "BatchNormalization": case(
        "h = MatMul(x, W) n = BatchNormalization<epsilon=0.01>(h, s, c, m, v) y = Relu(n)",
        s=normal(3),
        c=normal(3),
        m=normal(3),
        v=np.abs(normal(3)),
    ),
    "BatchNormalization of opset 6": case(
        "h = MatMul(x, W) y = BatchNormalization<is_test=1>(h, s, c, m, v)",
        opset=6,
        s=normal(3),
        c=normal(3),
        m=normal(3),
        v=np.abs(normal(3)),
    ),
    "BatchNormalization of inputs": case(
        "n = BatchNormalization(x, s, c, m, v) y = Gemm(n, W, B)",
        s=normal(4),
        c=normal(4),
        m=normal(4),
        v=np.abs(normal(4)),
    ),
    "BatchNormalization of channels": case(
        "h = Conv(x, K) y = BatchNormalization(h, s, c, m, v)",
        IMAGE,
        K=normal(3, 2, 3, 3),
        s=normal(3),
        c=normal(3),
        m=normal(3),
        v=np.abs(normal(3)),
    ),
    "Conv": case("y = Conv(x, K, c)", IMAGE, K=normal(3, 2, 3, 3), c=normal(3)),
    "Conv, all of it": case(
        "y = Conv<kernel_shape=[3,2], strides=[2,1], dilations=[1,2], pads=[1,0,2,1]>(x, K)",
        IMAGE,
        K=normal(3, 2, 3, 2),
    ),
    "Conv in groups": case("y = Conv<group=2>(x, K)", IMAGE, K=normal(4, 1, 2, 2)),
    "Conv SAME_UPPER": case(
        'y = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, K)', IMAGE, K=normal(3, 2, 2, 3)
    ),
    "Conv SAME_LOWER": case('y = Conv<auto_pad="SAME_LOWER">(x, K)', IMAGE, K=normal(3, 2, 2, 3)),
    "Conv of one axis": case("y = Conv(x, K)", "float[1,2,7] x", K=normal(3, 2, 3)),
    "Conv of three axes": case("y = Conv(x, K)", "float[1,2,3,4,3] x", K=normal(2, 2, 2, 2, 2)),
    "Conv as a dense layer": case("y = Conv(x, K)", "float[1,8,1,1] x", K=normal(5, 8, 1, 1)),
    "Conv, Conv": case(
        "h = Conv(x, K) y = Conv(h, L)", IMAGE, K=normal(3, 2, 2, 2), L=normal(2, 3, 2, 2)
    ),
    "AveragePool": case("y = AveragePool<kernel_shape=[2,2], strides=[2,1]>(x)", IMAGE),
    "AveragePool of padding": case("y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)", IMAGE),
    "AveragePool counts padding": case(
        "y = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(x)", IMAGE
    ),
    "Conv, AveragePool": case(
        "h = Conv(x, K) p = AveragePool<kernel_shape=[2,2]>(h) y = Relu(p)",
        IMAGE,
        K=normal(3, 2, 2, 2),
    ),
    "ReduceMean": case(
        "h = Gemm(x, W) m = ReduceMean<axes=[1], keepdims=1>(h) y = Sub(h, m)", opset=13
    ),
    "ReduceSum": case("y = ReduceSum<keepdims=0>(x, a)", "float[1,2,3] x", a=np.array([-1])),
    "ReduceMean of all": case("h = Gemm(x, W) y = ReduceMean(h)", opset=11),
    "ReduceSum of an axis twice": case("y = ReduceSum(x, a)", a=np.array([1, 1, -1])),
    "ReduceSum of nothing": case("y = ReduceSum<noop_with_empty_axes=1>(x)"),
    "residual": case("h = Gemm(x, U) r = Relu(h) s = Gemm(r, U) y = Add(s, h)", U=normal(4, 4)),
    "dense block": case(
        "h = Gemm(x, W) r = Relu(h) c = Concat<axis=1>(x, r) y = Gemm(c, U)", U=normal(7, 2)
    ),
    "two heads side by side": case(
        "h = Gemm(x, W) r = Relu(h) a = MatMul(r, V) b = MatMul(r, U) y = Concat<axis=-1>(a, b)",
        V=V,
        U=normal(3, 1),
    ),
}
MOVING = {
    "Flatten": case("f = Flatten(x) y = MatMul(f, U)", "float[1,2,3] x", U=normal(6, 2)),
    "Flatten to one row": case(
        "f = Flatten<axis=0>(x) y = MatMul(f, U)", "float[2,3] x", U=normal(6, 2)
    ),
    "Reshape": case(
        "f = Reshape(x, s) y = MatMul(f, U)", "float[1,2,3] x", U=normal(6, 2), s=np.array([0, -1])
    ),
    "Reshape of opset 1": case(
        "f = Reshape<shape=[1,6]>(x) y = MatMul(f, U)", "float[1,2,3] x", opset=4, U=normal(6, 2)
    ),
    "Reshape by a computed shape": case(
        "s = Shape(x) i = Gather(s, o) u = Unsqueeze(i, o1) t = Concat<axis=0>(u, m) "
        "f = Reshape(x, t) y = MatMul(f, U)",
        "float[1,2,3] x",
        U=normal(6, 2),
        o=np.array(0),
        o1=np.array([0]),
        m=np.array([-1]),
    ),
    "Squeeze and Unsqueeze": case(
        "s = Squeeze(x, a) m = MatMul(s, U) y = Unsqueeze(m, a)",
        "float[1,1,3] x",
        U=normal(3, 2),
        a=np.array([1]),
    ),
    "Squeeze and Unsqueeze of opset 11": case(
        "s = Squeeze<axes=[1]>(x) m = MatMul(s, U) y = Unsqueeze<axes=[0,1]>(m)",
        "float[1,1,3] x",
        opset=11,
        U=normal(3, 2),
    ),
    "Squeeze of all": case("y = Squeeze(x)", "float[1,3,1] x"),
    "Transpose": case(
        "t = Transpose<perm=[0,2,1]>(x) f = Flatten(t) y = MatMul(f, U)",
        "float[1,2,3] x",
        U=normal(6, 2),
    ),
    "Transpose of weights": case("w = Transpose(W) y = MatMul(x, w)", W=normal(3, 4)),
    "Slice": case(
        "s = Slice(x, b, e, a, d) y = MatMul(s, U)",
        "float[1,9] x",
        b=np.array([-1]),
        e=np.array([-8]),
        a=np.array([1]),
        d=np.array([-2]),
        U=normal(4, 2),
    ),
    "Slice of opset 9": case(
        "y = Slice<axes=[1,2], starts=[0,-2], ends=[1,1000]>(x)", "float[1,2,3] x", opset=9
    ),
    "Slice to the end": case("y = Slice(x, b, e)", b=np.array([0, 1]), e=np.array([2**31, 2**31])),
    "Split": case("a, b = Split<axis=1>(x) y = Sub(a, b)"),
    "Split of opset 11": case(
        "a, b = Split<axis=1, split=[1,3]>(x) y = Mul(b, c)", opset=11, c=normal(1)
    ),
    "Split in given parts": case("a, b = Split<axis=-1>(x, s) y = Tanh(b)", s=np.array([1, 3])),
    "Split of opset 18": case("a, y = Split<axis=1, num_outputs=2>(x)", "float[1,5] x", opset=18),
    "Gather": case("y = Gather<axis=1>(x, i)", i=np.array([2, 0, -1, 2])),
    "Gather of one": case("y = Gather<axis=1>(x, i)", i=np.array(2)),
    "Gather of a matrix of indices": case("y = Gather<axis=1>(x, i)", i=np.array([[2, 0], [1, 1]])),
    "Concat with constants": case("y = Concat<axis=1>(x, c, x)", c=normal(1, 2)),
    "Concat of layers": case("a = Gemm(x, W, B) b = Relu(a) y = Concat<axis=1>(b, a, x, b)"),
    "Expand": case("y = Expand(x, s)", "float[1,1,3] x", s=np.array([1, 2, 3])),
    "Tile": case("t = Tile(x, s) y = Relu(t)", s=np.array([1, 2])),
    "Pad": case("y = Pad(x, p, v)", p=np.array([0, 1, 0, 2]), v=np.float32(0.5)),
    "Pad that cuts": case("y = Pad(x, p)", p=np.array([0, -1, 0, 1])),
    "Pad of opset 2": case("y = Pad<pads=[0,1,0,2], value=0.5>(x)", opset=9),
    "broadcast of data": case("t = Transpose<perm=[0,2,1]>(x) y = Sub(x, t)", "float[1,1,3] x"),
    "Identity, Dropout, Cast": case(
        "i = Identity(x) d = Dropout(i) c = Cast<to=11>(d) e = Cast<to=1>(c) y = Gemm(e, W, B)"
    ),
    "Dropout of opset 7": case("d = Dropout<ratio=0.4>(x) y = Gemm(d, W, B)", opset=7),
    "computed constants": case(
        "s = Constant<value_floats=[4.0,9.0,1.0,0.25]>() r = Sqrt(s) q = Reciprocal(r) "
        "l = Log(s) e = Exp(l) t = Add(q, e) y = Mul(x, t)"
    ),
    "ConstantOfShape and Range": case(
        "s = Shape(x) c = ConstantOfShape<value=float[1] {2.0}>(s) r = Range(a, b, d) "
        "f = Cast<to=1>(r) p = Add(x, f) y = Mul(c, p)",
        a=np.array(0),
        b=np.array(4),
        d=np.array(1),
    ),
    "Clip of constants": case(
        "c = Clip(a, l) d = Clip(c) e = Relu(d) p = PRelu(e, l) y = Add(x, p)",
        a=normal(4),
        l=np.float32([0.3]).reshape(()),
    ),
    "Where of constants": case(
        "m = Less(c, o) w = Where(m, c, o) y = Add(x, w)", c=normal(4), o=np.zeros(1, "f4")
    ),
}
CASES = (
    {f"activation: {name}": of for name, of in ACTIVATIONS.items()}
    | {f"in steps: {name}": in_steps(steps) for name, steps in IN_STEPS.items()}
    | {f"linear: {name}": of for name, of in LINEAR.items()}
    | {f"moving: {name}": of for name, of in MOVING.items()}
)


def loaded(of, folder):
    made = model(of.body, of.inputs, opset=of.opset, **of.tensors, outputs="float y")
    return made, read(stored(made, folder))


@pytest.mark.parametrize("of", CASES.values(), ids=list(CASES))
def test_an_operator_gives_what_onnxruntime_gives(of, tmp_path):
    made, result = loaded(of, tmp_path)
    shape = [int(d) for d in of.inputs.split("[")[1].split("]")[0].split(",")]
    for x in RNG.normal(scale=2, size=(8, *shape)).astype("f4"):
        expected = run(made, x)[0].ravel()
        got = result.network(x.ravel())
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["silu", "gelu of PyTorch", "gelu, tanh form", "quick gelu"])
def test_an_activation_in_steps_is_recognised(name, tmp_path):
    _, result = loaded(in_steps(IN_STEPS[name]), tmp_path)
    names = {"gelu of PyTorch": "gelu", "gelu, tanh form": "gelu_tanh"}
    assert isinstance(result.network, Network)
    assert [str(sigma) for sigma in result.network.activations] == [names.get(name, "silu")]


@pytest.mark.parametrize("name", ["Max of a multiple", "LeakyRelu"])
def test_a_leaky_relu_has_its_slope_as_written(name, tmp_path):
    _, result = loaded(ACTIVATIONS[name], tmp_path)
    assert isinstance(result.network, Network)
    expected = {"Max of a multiple": "leaky_relu(0.2)", "LeakyRelu": "leaky_relu(0.3)"}
    assert str(result.network.activations[0]) == expected[name]


def test_two_affine_layers_stay_two(tmp_path):
    _, result = loaded(LINEAR["two affine layers"], tmp_path)
    assert isinstance(result.network, Network)
    assert result.network.widths == (4, 3, 2)


def test_a_residual_sum_is_a_graph(tmp_path):
    _, result = loaded(LINEAR["residual"], tmp_path)
    assert isinstance(result.network, AffineGraph)


def test_a_convolution_stays_sparse(tmp_path):
    of = case("h = Conv(x, K) y = Relu(h)", "float[1,1,64,64] x", K=normal(4, 1, 3, 3))
    _, result = loaded(of, tmp_path)
    assert isinstance(result.network, AffineGraph)
    assert result.network.n_parameters == 4 * 62 * 62 * (9 + 1)


def test_plain_weights_stay_float32_bit_for_bit(tmp_path):
    body = "h = MatMul(x, W) z = Add(h, B) r = Relu(z) y = Gemm<transB=1>(r, U, c)"
    of = case(body, U=normal(2, 3), c=normal(2))
    _, result = loaded(of, tmp_path)
    assert isinstance(result.network, Network)
    first, second = result.network.weights
    assert first.tobytes() == np.ascontiguousarray(W.T).tobytes()
    assert second.tobytes() == of.tensors["U"].tobytes()
    assert result.network.biases[0].tobytes() == B.tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_floats_of_every_width(dtype, tmp_path):
    kind = {"f2": "float16", "f4": "float", "f8": "double"}[dtype]
    made = model(
        "y = Gemm(x, W, B)",
        f"{kind}[n,4] x",
        f"{kind}[n,3] y",
        W=W.astype(dtype),
        B=B.astype(dtype),
    )
    net = read(stored(made, tmp_path)).network
    assert net.dtype == ("float64" if dtype == "f8" else "float32")
    x = normal(6, 4)
    exact = x.astype("f8") @ W.astype(dtype).astype("f8") + B.astype(dtype).astype("f8")
    np.testing.assert_allclose(net(x), exact, rtol=1e-5, atol=1e-6)


def test_bfloat16(tmp_path):
    bits = (W.view(np.uint32) >> 16).astype(np.uint16)
    made = model("y = MatMul(x, W)", "bfloat16[n,4] x", "bfloat16[n,3] y", W=bits)
    made.graph.initializer[0].data_type = 16
    net = read(stored(made, tmp_path)).network
    expected = (bits.astype(np.uint32) << 16).view(np.float32)
    assert isinstance(net, Network)
    assert net.weights[0].tobytes() == np.ascontiguousarray(expected.T).tobytes()


@pytest.mark.parametrize(
    ("body", "opset", "kind"),
    [
        ("y = Softmax(h)", 13, "softmax"),
        ("y = Softmax(h)", 11, "softmax"),
        ("y = LogSoftmax<axis=1>(h)", 11, "log_softmax"),
        ("s = Softmax<axis=-1>(h) y = Log(s)", 13, "log_softmax"),
        ("s = Softmax(h) i = Identity(s) y = Reshape(i, shape)", 13, "softmax"),
    ],
)
def test_a_softmax_at_the_end_is_left_off_and_told(body, opset, kind, tmp_path):
    made = model(
        f"h = Gemm(x, W, B) {body}",
        "float[1,4] x",
        "float y",
        opset,
        W=W,
        B=B,
        shape=np.array([1, 3]),
    )
    result = read(stored(made, tmp_path))
    assert result.heads == {"y": kind}
    assert "logits" in result.folded[-1]
    x = normal(1, 4)
    p = softmax(result.network(x))
    expected = run(made, x)[0].reshape(1, 3)
    np.testing.assert_allclose(p if kind == "softmax" else np.log(p), expected, rtol=1e-5)


@pytest.mark.parametrize("n", [7, 200])
def test_a_large_batch_of_fixed_size_is_read_row_by_row(n, tmp_path):
    body = "f = Reshape(x, s) h = Gemm(f, U) r = Relu(h) y = Softplus(r)"
    made = model(body, f"float[{n},2,3] x", f"float[{n},5] y", U=normal(6, 5), s=np.array([n, -1]))
    net = read(stored(made, tmp_path)).network
    assert net.d_in == (6 if n == 200 else 42)
    x = normal(n, 2, 3)
    y = net(x.reshape(-1, net.d_in)).reshape(n, 5)
    np.testing.assert_allclose(y, run(made, x)[0], rtol=1e-5)


@pytest.mark.parametrize("n", [2, 300])
@pytest.mark.parametrize(
    "body",
    [
        "y = MatMul(x, C) z = Transpose(x)",
        "h = MatMul(C2, x) y = Relu(h)",
        "h = Add(x, C3) y = Relu(h)",
        "f = Gather<axis=0>(x, i) y = Expand(f, s)",
        "f = Reshape(x, one) g = Slice(f, i, e, e) y = Reshape(f, s)",
        "t = Reshape(x, turned) u = Transpose(t) y = Add(u, x)",
        "m = AveragePool<kernel_shape=[3], pads=[1,1]>(p) p = Reshape(x, one) y = Reshape(m, s)",
    ],
)
def test_rows_that_belong_together_are_all_inputs(body, n, tmp_path):
    arrays = {
        "C": normal(3, 3),
        "C2": normal(n, n),
        "C3": normal(n, 3),
        "i": np.array([0]),
        "e": np.array([1]),
        "s": np.array([n, 3]),
        "one": np.array([1, n, 3]),
        "turned": np.array([3, n]),
    }
    used = {name: array for name, array in arrays.items() if name in body}
    outputs = f"float[{n},3] y, float[3,{n}] z" if "z =" in body else f"float[{n},3] y"
    made = model(body, f"float[{n},3] x", outputs, **used)
    net = read(stored(made, tmp_path)).network
    assert net.d_in == 3 * n
    x = normal(n, 3)
    expected = np.concatenate([part.ravel() for part in run(made, x)])
    np.testing.assert_allclose(net(x.ravel()), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("h = MatMul(x, W) y = Mul(h, h)", "not piecewise linear"),
        ("h = MatMul(x, W) g = MatMul(x, U) y = Mul(h, g)", "not piecewise linear"),
        ("h = MatMul(x, W) g = MatMul(x, U) y = Div(h, g)", "not piecewise linear"),
        ("t = Transpose(x) y = MatMul(x, t)", "not piecewise linear"),
        ("s = Sin(x) y = MatMul(s, W)", "the Sin that gives"),
        ("s = Exp(x) y = MatMul(s, W)", "none of the activations"),
        ("s = Softmax(x) y = MatMul(s, W)", "very end"),
        ("s = Softmax(x) y = Relu(s)", "very end"),
        ("s = Softmax<axis=0>(x) y = MatMul(s, W)", "very end"),
        ("s = Cast<to=7>(x) c = Cast<to=1>(s) y = MatMul(c, W)", "whole numbers"),
        ("y = ReduceMax(x)", "the ReduceMax that gives"),
        ("g = Greater(x, edge) y = Where(g, x, nil)", "is none of the activations"),
        ("g = Greater(x, edge) t = Tanh(x) y = Where(g, x, t)", "is none of the activations"),
        ("h = Tanh(x) g = Greater(h, edge) y = Where(g, x, nil)", "which may jump"),
        ("h = MatMul(x, V) g = Greater(x, edge) y = Where(g, x, h)", "no activation"),
        ("g = Greater(x, edge) n = Neg(g) y = MatMul(n, W)", "is none of the activations"),
        ("g = Greater(x, edge) f = Cast<to=1>(g) y = Mul(x, f)", "is none of the activations"),
        ("h = Softplus(x) t = Tanh(h) y = Mul(x, t)", "that the Mul that gives 'y' ends is none"),
        ("s = Shape(x) y = Cast<to=1>(s)", "depends on no input"),
        ("y = MatMul(x, W) n = Identity(missing) y2 = Add(n, y)", None),
    ],
)
def test_what_is_outside_is_refused_by_name(body, said, tmp_path):
    arrays = {"W": W, "U": normal(4, 3), "V": normal(4, 4)}
    arrays |= {"edge": np.float32(0.001), "nil": np.float32(0)}
    made = model(body, "float[1,4] x", "float y", **arrays)
    path = stored(made, tmp_path)
    if said is None:  # what no output needs may be anything
        assert read(path).network.d_out == 3
        return
    with pytest.raises(UnsupportedLayer) as refused:
        read(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_constant_beside_an_output_is_an_output(tmp_path):
    made = model("h = MatMul(x, W) y = Tanh(h) s = Exp(c)", outputs="float y, float s", W=W, c=B)
    graph = read(stored(made, tmp_path)).network
    assert isinstance(graph, AffineGraph)
    outputs = graph.named_outputs(normal(2, 4))
    np.testing.assert_allclose(outputs["s"], np.exp([B, B]), rtol=1e-6)


def test_a_sum_over_the_rows_of_a_batch_is_refused(tmp_path):
    made = model("m = ReduceMean<axes=[0]>(x) y = Sub(x, m)", "float[n,4] x", "float y", opset=11)
    with pytest.raises(UnsupportedLayer, match="rows of a batch"):
        read(stored(made, tmp_path))


def test_an_output_that_cannot_be_read_names_the_way_to_the_others(tmp_path):
    body = "h = MatMul(x, W) y = Tanh(h) k = ArgMax<axis=1>(h)"
    made = model(body, outputs="float y, int64 k", W=W)
    path = stored(made, tmp_path)
    with pytest.raises(UnsupportedLayer, match=r"ArgMax.*output= reads one of the outputs y, k"):
        read(path)
    assert read(path, Options(output="y")).network.d_out == 3


@pytest.mark.parametrize("body", ["y = MaxPool<kernel_shape=[2,2]>(x)", "y = GlobalAveragePool(x)"])
def test_pools_that_are_not_read_are_refused(body, tmp_path):
    path = stored(model(body, IMAGE, "float y"), tmp_path)
    with pytest.raises(UnsupportedLayer, match=r"Pool.*cannot be read.*AveragePool"):
        read(path)


def test_regions_of_a_small_convolution(tmp_path):
    """A sparse layer is a layer like any other: signs of its pre-activations, seen on a plane."""
    pool = "AveragePool<kernel_shape=[2,2]>"
    body = f"h = Conv<pads=[1,1,1,1]>(x, K, c) r = Relu(h) p = {pool}(r) y = Relu(p)"
    rng = np.random.default_rng(0)  # other draws have regions too small for the grid
    K, c = (rng.normal(size=size).astype(np.float32) for size in ((2, 1, 3, 3), 2))
    net = read(stored(model(body, "float[1,1,4,4] x", "float y", K=K, c=c), tmp_path)).network
    u, v = rng.normal(size=(2, 16))
    plane = Plane(np.zeros(16), u, v, 1.0)
    found = linear_regions(net, plane)
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 700)] * 2), axis=-1).reshape(-1, 2)
    run = net.astype("float64").forward(plane.to_input(grid))
    kinks = [z > 0 for z in run.z]
    seen = len(np.unique(np.packbits(np.hstack(kinks[:1] + kinks[-1:]), axis=1), axis=0))
    assert found.certified
    assert 0.95 * found.n_activation_regions <= seen <= found.n_activation_regions
