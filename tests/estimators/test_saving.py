"""Estimators in files of our own, and as ONNX."""

import json
import struct

import numpy as np
import onnxruntime
import pytest
from estimators.tables import PLAIN, mixed

import pellucid
from pellucid import FeedforwardClassifier, FeedforwardRegressor, InvalidFile, InvalidInput
from pellucid.estimators import Preset, load_estimator

QUICK = {"epochs": 10, "hidden": (16,), "learning_rate": 0.02}
MODELS = {
    "one network": FeedforwardClassifier(PLAIN, **QUICK),
    "weights by class": FeedforwardClassifier(PLAIN, class_weight={"no": 2, "yes": 1}, **QUICK),
    "folds": FeedforwardClassifier(PLAIN, folds=3, **QUICK),
    "robust, bins": FeedforwardClassifier(
        Preset("own", scaling="robust", smooth_clip=3, embedding="piecewise"), **QUICK
    ),
    "waves": FeedforwardClassifier(Preset("own", embedding="periodic", members=2), **QUICK),
    "ordinal": FeedforwardClassifier(PLAIN, likelihood="ordinal", **QUICK),
    "ordinal of three": FeedforwardClassifier(PLAIN, likelihood="ordinal", folds=2, **QUICK),
    "labels": FeedforwardClassifier(PLAIN, **QUICK),
    "numbers": FeedforwardRegressor(PLAIN, members=2, **QUICK),
    "two numbers": FeedforwardRegressor(PLAIN, likelihood="mean_variance", **QUICK),
    "quantiles": FeedforwardRegressor(PLAIN, likelihood="quantile(0.1,0.5,0.9)", **QUICK),
    "two numbers' quantiles": FeedforwardRegressor(
        PLAIN, likelihood="quantile(0.1,0.6,0.9)", **QUICK
    ),
    "mixture": FeedforwardRegressor(PLAIN, likelihood="mixture(2)", folds=2, **QUICK),
    "two mixtures": FeedforwardRegressor(PLAIN, likelihood="mixture(3)", **QUICK),
    "student": FeedforwardRegressor(PLAIN, likelihood="student_t(4)", **QUICK),
    "counts": FeedforwardRegressor(PLAIN, likelihood="poisson", **QUICK),
}


def fitted(name):
    frame, score, y = mixed(200)
    two = np.column_stack([100 + 50 * score, score])
    targets = {
        "ordinal of three": np.digitize(score, [0, 1]),
        "two numbers' quantiles": two,
        "two mixtures": two,
        "labels": np.column_stack([score > 0, score > 1]).astype(int),
        "two numbers": two,
        "counts": np.round(np.exp(score.clip(-2, 2))),
    }
    default = y if isinstance(MODELS[name], FeedforwardClassifier) else 100 + 50 * score
    return MODELS[name].fit(frame, targets.get(name, default)), frame


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_comes_back_from_its_file(name, tmp_path):
    model, frame = fitted(name)
    path = tmp_path / "model.pellucid"
    model.save(path)
    back = load_estimator(path)
    assert type(back) is type(model)
    assert back.get_params().keys() == model.get_params().keys()
    np.testing.assert_allclose(back.predict(frame) == model.predict(frame), True)
    assert back.networks_ == model.networks_
    assert list(back.feature_names_in_) == list(model.feature_names_in_)
    assert back.split_.text == model.split_.text
    back.save(tmp_path / "again.pellucid")
    assert (tmp_path / "again.pellucid").read_bytes() == path.read_bytes()
    if isinstance(model, FeedforwardClassifier):
        np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
        assert back.temperature_ == model.temperature_
    else:
        np.testing.assert_array_equal(back.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(
            back.predict_quantiles(frame, [0.1, 0.9]), model.predict_quantiles(frame, [0.1, 0.9])
        )
    y = np.round(model.predict(frame)) if name == "counts" else model.predict(frame)
    back.partial_fit(frame, y)


def test_the_network_in_it_is_read_as_of_any_other_file(tmp_path):
    model, _ = fitted("one network")
    model.save(tmp_path / "one.pellucid")
    assert pellucid.load(tmp_path / "one.pellucid") == model.network_
    several, _ = fitted("folds")
    several.save(tmp_path / "several.pellucid")
    assert pellucid.load(tmp_path / "several.pellucid", name="2") == several.networks_[2]


def changed(model, path, **changes):
    """The file with other values in the description of its estimator."""
    model.save(path)
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    values = json.loads(header["__metadata__"]["estimator"])
    header["__metadata__"]["estimator"] = json.dumps(values | changes)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 99}, "version 99.*reads up to 1: update pellucid"),
        ({"version": "1"}, "version '1'"),
        ({"kind": "Pipeline"}, "damaged"),
        ({"kind": 3}, "damaged"),
        ({"members": []}, "damaged"),
        ({"members": [{"preprocessing": 7, "offset": [], "scale": []}]}, "damaged"),
        ({"members": [{"preprocessing": 0, "offset": [0], "scale": [-1]}]}, "unit"),
        ({"preprocessings": 3}, "damaged"),
        ({"preprocessings": [{}]}, "damaged"),
        ({"likelihood": "magic"}, "no likelihood"),
        ({"parameters": {"preset": "balanced", "colour": 1}}, "damaged"),
        ({"classes": {"dtype": "O", "values": ["a"]}}, "classes are of type 'O'"),
        ({"temperature": {}}, "damaged"),
        ({"kinds": []}, "damaged"),
    ],
)
def test_a_changed_description_is_one_sentence(changes, words, tmp_path):
    model, _ = fitted("one network")
    path = tmp_path / "model.pellucid"
    changed(model, path, **changes)
    with pytest.raises((InvalidFile, InvalidInput), match=words) as raised:
        load_estimator(path)
    assert "\n" not in str(raised.value)


def test_a_network_alone_is_no_estimator(tmp_path):
    pellucid.save(pellucid.initialize([2, 1]), tmp_path / "net.pellucid")
    with pytest.raises(InvalidFile, match="without the preprocessing of an estimator"):
        load_estimator(tmp_path / "net.pellucid")


# ---- ONNX


def feeds(session, frame):
    """The columns as the file takes them: text, or numbers with days for dates."""
    found = {}
    for one in session.get_inputs():
        column = frame[one.name]
        if column.dtype.kind == "M":
            values = column.to_numpy().astype("datetime64[us]").astype(float) / 86_400e6
        elif one.type == "tensor(string)":
            values = np.array(["" if v is None or v != v else str(v) for v in column], object)
        else:
            values = column.astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        found[one.name] = values[:, None]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_the_whole_pipeline_is_the_same_in_onnxruntime(name, tmp_path):
    model, frame = fitted(name)
    path = tmp_path / "model.onnx"
    model.to_onnx(path)
    session = onnxruntime.InferenceSession(path)
    frame = frame.copy()
    frame.loc[3, "colour"] = "violet"  # a level that the fit had not
    outputs = dict(
        zip(
            [o.name for o in session.get_outputs()],
            session.run(None, feeds(session, frame)),
            strict=True,
        )
    )
    if isinstance(model, FeedforwardClassifier):
        np.testing.assert_allclose(
            outputs["probabilities"], model.predict_proba(frame), rtol=1e-9, atol=1e-12
        )
        assert (outputs["label"] == model.predict(frame)).all()
    else:
        expected = model.predict(frame).reshape(len(frame), -1)
        np.testing.assert_allclose(outputs["prediction"], expected, rtol=1e-9)


def test_a_temperature_is_in_the_onnx_file(tmp_path):
    from dataclasses import replace

    for name in ("one network", "labels"):
        model, frame = fitted(name)
        model.calibration_ = replace(model.calibration_, value=1.7)
        model.to_onnx(tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
        p = session.run(["probabilities"], feeds(session, frame))[0]
        np.testing.assert_allclose(p, model.predict_proba(frame), rtol=1e-9)


def test_every_likelihood_of_an_estimator_is_written_as_onnx():
    from pellucid.estimators.exporting import HEADS
    from pellucid.likelihoods import LIKELIHOODS

    assert set(HEADS) == set(LIKELIHOODS)
