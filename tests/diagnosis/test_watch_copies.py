"""A model inside `watch` can be copied, pickled and saved, and what comes out is not watched."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import pellucid
from pellucid.diagnosis import torch_batches

X = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))


class Own(nn.Module):
    """Copied with all that it holds, whatever torch leaves out."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)

    def __getstate__(self):
        return vars(self).copy()


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "torch.save": saved,
    "AveragedModel": lambda model: torch.optim.swa_utils.AveragedModel(model).module,
}


@pytest.fixture(params=["call", "hook"])
def way(request, monkeypatch):
    """With one device and with several, where a hook of torch is used."""
    monkeypatch.setattr(torch_batches, "_has_replicas", lambda: request.param == "hook")
    return request.param


def step(model, optimizer):
    optimizer.zero_grad()
    model(X).pow(2).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("make", [net, Own])
@pytest.mark.parametrize("steps", [1, 2])  # before and in a step that is measured
def test_a_copy_computes_by_itself_and_is_not_watched(way, copied, make, steps):
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with pellucid.watch(model, optimizer, interval=3) as seen:
        for _ in range(steps):
            step(model, optimizer)
        twin = copied(model)
        assert torch.equal(twin(X), model(X))
        with torch.no_grad():
            for parameter in twin.parameters():
                parameter.zero_()
        assert torch.equal(twin(X), torch.zeros(32, 1))
        arrived = seen._batches.arrived
        twin(X).sum().backward()
        assert seen._batches.arrived == arrived
        step(model, optimizer)
    assert vars(twin).get("_compiled_call_impl") is None
    assert torch.equal(twin(X), torch.zeros(32, 1))


def test_pickles_hold_nothing_of_this_package(way):
    model = net()
    with pellucid.watch(model, torch.optim.SGD(model.parameters(), 0.1), interval=1):
        assert b"pellucid" not in pickle.dumps(model)
        assert b"_compiled_call_impl" not in pickle.dumps(model)


def test_the_optimizer_can_be_copied():
    model = net()
    optimizer = torch.optim.Adam(model.parameters())
    with pellucid.watch(model, optimizer, interval=1) as seen:
        step(model, optimizer)
        twin = copy.deepcopy(optimizer)
        pickle.dumps(optimizer)
        twin.step()
    assert seen.steps == 1


def test_a_replica_computes_with_its_own_parameters(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    model = Own()
    with pellucid.watch(model, torch.optim.SGD(model.parameters(), 0.1)):
        replica = model._replicate_for_data_parallel()
        replica._modules = {"layer": nn.Linear(4, 1)}
        assert torch.equal(replica(X), replica._modules["layer"](X))
    assert not model._forward_pre_hooks


@pytest.mark.parametrize("order", ["nested", "crossed"])
def test_two_watches_of_one_model(order):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    first, second = (pellucid.watch(model, optimizer, interval=2) for _ in range(2))
    first.__enter__()
    step(model, optimizer)
    second.__enter__()
    step(model, optimizer)
    for one in (second, first) if order == "nested" else (first, second):
        one.__exit__(None, None, None)
        step(model, optimizer)
    assert first.steps == (3 if order == "nested" else 2)
    assert second.steps == (1 if order == "nested" else 2)
    assert len(first._batches.now) == len(second._batches.now) == 0
    assert not optimizer._optimizer_step_pre_hooks


def test_a_watch_goes_on_in_a_second_block_and_not_inside_its_own():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    watch = pellucid.watch(model, optimizer, interval=2)
    for _ in range(2):
        with watch:
            for _ in range(3):
                step(model, optimizer)
            with pytest.raises(pellucid.InvalidInput, match="in its block already"):
                watch.__enter__()
    assert watch.steps == 6
    assert {row.step for row in watch.measurements} == {2, 4, 6}


def test_a_compiled_call_is_kept():
    model = net()
    model.compile(backend="eager")
    compiled = vars(model)["_compiled_call_impl"]
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with pellucid.watch(model, optimizer) as seen:
        model(X).mean().backward()
        assert seen._batches.arrived == 1
        optimizer.step()
    assert vars(model)["_compiled_call_impl"] is compiled


def test_a_model_that_is_compiled_inside_stays_so():
    model = net()
    with pellucid.watch(model, torch.optim.SGD(model.parameters(), 0.1)):
        model.compile(backend="eager")
        compiled = vars(model)["_compiled_call_impl"]
    assert vars(model)["_compiled_call_impl"] is compiled
