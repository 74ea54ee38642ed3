"""NNET: the normalisation, the box of valid inputs, and errors with the numbers of lines."""

import numpy as np
import pytest
from published_networks import one

import pellucid
from pellucid import InvalidFile, Network, UnsupportedLayer, initialize, load
from pellucid.network import read

TEXT = """// a comment
2,2,1,2,
2,2,1,
0,
-1,-2,
3,4,
1,1,0.5,
2,3,4,
1,2,
-1,0.5,
0.25,
-0.5,
1,-2,
3,
"""
LINES = TEXT.splitlines()


def written(tmp_path, text):
    path = tmp_path / "a.nnet"
    path.write_text(text)
    return path


def test_the_normalisation_is_folded_and_the_box_is_kept(tmp_path):
    """Worked by hand: y = 4 (W2 relu(W1 (x - 1) / (2, 3) + b1) + b2) + 0.5."""
    path = written(tmp_path, TEXT)
    found = read(path)
    x = np.array([[3.0, 4.0], [1.0, -2.0]])
    u = (x - [1, 1]) / [2, 3]
    h = np.maximum(u @ np.array([[1.0, 2.0], [-1.0, 0.5]]).T + [0.25, -0.5], 0)
    y = h @ np.array([[1.0], [-2.0]]) + 3
    np.testing.assert_allclose(found.network(x), 4 * y + 0.5, rtol=1e-14)
    assert (found.input_low.tolist(), found.input_high.tolist()) == ([-1, -2], [3, 4])
    assert len(found.folded) == 2

    raw = read(path, raw=True)
    np.testing.assert_array_equal(raw.network(u), y)
    assert (raw.input_low.tolist(), raw.input_high.tolist()) == ([-1, -1], [1, 1])
    assert raw.folded == ()


def test_raw_networks_give_the_raw_references():
    for name in ("HCAS_rect_v6_pra0_tau00_25HU_3000.nnet", "ACASXU_run2a_1_1_tiny_4.nnet"):
        file = one(name)
        with np.load(file.reference) as reference:
            got = load(file.path, raw=True)(reference["x"])
            np.testing.assert_allclose(got, reference["y"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("line", "text", "said"),
    [
        (2, "x,2,1,2,", r"line 2 \(the number of layers\) has 'x' as number 1"),
        (2, "1.5,2,1,2,", "line 2 claims 1.5 layers"),
        (2, "99999,2,1,2,", "line 2 claims 99999 layers"),
        (3, "2,2,", "line 3 .* has 2 numbers; it needs 3"),
        (3, "2,0,1,", "line 3 has the layer width 0"),
        (3, "2,2.5,1,", "line 3 has the layer width 2.5"),
        (5, "-1,five,", r"line 5 \(smallest inputs\) has 'five' as number 2"),
        (6, "3,-4,", "line 6 has -4 as the largest input 2, below the smallest, -2, in line 5"),
        (8, "2,0,4,", "line 8 has a range of 0"),
        (9, "1,2,3,", r"line 9 \(row 1 of 2 of weights 1\) has 3 numbers; it needs 2"),
        (9, "1,,", "line 9 .* has 1 numbers"),
        (10, "-1,nan,", "line 10 .* has 'nan' as number 2"),
        (11, "1e999,", r"line 11 \(bias 1 of 2 of layer 1\) has '1e999' as number 1"),
        (14, "3,\n7,", "line 15 is beyond the last bias of layer 2"),
        (14, "", "ends after line 14: bias 1 of 1 of layer 2 is missing"),
    ],
)
def test_a_wrong_line_is_named(line, text, said, tmp_path):
    lines = [*LINES[: line - 1], text, *LINES[line:]]
    with pytest.raises(InvalidFile, match=said):
        load(written(tmp_path, "\n".join(lines) + "\n"))


def test_binary_content_is_no_text(tmp_path):
    (tmp_path / "a.nnet").write_bytes(b"2,2\0,1,2")
    with pytest.raises(InvalidFile, match="binary"):
        load(tmp_path / "a.nnet")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_saved_is_read_back_to_the_bit(dtype, tmp_path):
    net = initialize([3, 50, 40, 2], dtype=dtype, seed=1)
    pellucid.save(net, tmp_path / "a.nnet")
    found = read(tmp_path / "a.nnet")
    assert found.network.parameters().astype(dtype).tobytes() == net.parameters().tobytes()
    assert found.input_low is None
    assert found.folded == ()


@pytest.mark.parametrize(
    ("net", "said"),
    [
        (initialize([2, 3, 1], "tanh"), "hidden layers with tanh; NNET files know only relu"),
        (initialize([2, 3, 1], output_activation="sigmoid"), "has a sigmoid output"),
        (Network([[[np.nan]]], None), "infinite or undefined weights"),
    ],
)
def test_what_nnet_does_not_know_is_refused(net, said, tmp_path):
    with pytest.raises(UnsupportedLayer, match=said):
        pellucid.save(net, tmp_path / "a.nnet")
    assert list(tmp_path.iterdir()) == []
