"""What `watch` meets in other people's loops: it disturbs nothing, and blames nothing innocent."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional

import pellucid
from pellucid.diagnosis import FirstNonFinite, torch_pace, torch_watch

EVERY = 4
X = torch.randn(64, 4, generator=torch.Generator().manual_seed(0))
Y = X.sum(1, keepdim=True)
BAD = X.clone()
BAD[3, 1] = torch.nan


@pytest.fixture
def every_fourth(monkeypatch):
    monkeypatch.setattr(torch_pace, "TIMED", 2)
    monkeypatch.setattr(torch_pace, "every", lambda step, look: EVERY)


@pytest.fixture
def every_step(monkeypatch):
    monkeypatch.setattr(torch_pace, "every", lambda step, look: 1)


def net(activation=nn.ReLU):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), activation(), nn.Linear(8, 1))


def sgd(model):
    return torch.optim.SGD(model.parameters(), 1e-3)


def train(model, optimizer, x=X, factor=1.0):
    optimizer.zero_grad()
    (functional.mse_loss(model(x), Y) * factor).backward()
    optimizer.step()


def seen_in(model, optimizer, step, steps, interval=200):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pellucid.PellucidWarning)
        with pellucid.watch(model, optimizer, interval=interval) as seen:
            for i in range(1, steps + 1):
                step(i)
    assert "_compiled_call_impl" not in vars(model)
    return seen


# ---- nothing is disturbed


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 1))

    def forward(self, x):
        return torch.sparse.mm(x, self.weight)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=str)
def test_a_sparse_batch(layout):
    model = Sparse()
    x = BAD.to_sparse(layout=layout)
    seen = seen_in(model, optimizer := sgd(model), lambda i: train(model, optimizer, x), 2)
    assert seen.first_nonfinite == FirstNonFinite(1, "", "input", (3,), (1,))


class Unused(nn.Module):
    """With a buffer that is one number many times, and a lazy layer that nobody calls."""

    def __init__(self):
        super().__init__()
        self.layers, self.unused = net(), nn.LazyLinear(3)
        self.register_buffer("scale", torch.ones(1).expand(8))

    def forward(self, x):
        return self.layers(x)


def test_expanded_buffers_and_lazy_layers_that_are_not_used(every_fourth):
    model = Unused()
    optimizer = torch.optim.SGD(model.layers.parameters(), 1e-3)
    seen = seen_in(model, optimizer, lambda i: train(model, optimizer, BAD if i == 8 else X), 12)
    assert seen.first_nonfinite == FirstNonFinite(8, "", "input", (3,), (1,))


@pytest.mark.parametrize(
    ("name", "x", "more"), [("locate", BAD, ["not finite"]), ("in_an_update", X, [])]
)
def test_what_fails_inside_is_a_sentence_and_no_error(name, x, more, monkeypatch):
    def fails(*_):
        raise RuntimeError("not today")

    monkeypatch.setattr(torch_watch, name, fails)
    model = net()
    seen = seen_in(model, optimizer := sgd(model), lambda i: train(model, optimizer, x), 3)
    assert [f.kind for f in seen.findings] == ["not watched", *more]
    assert "RuntimeError: not today" in repr(seen)
    assert not optimizer._optimizer_step_pre_hooks


class Quantised(nn.Module):
    def __init__(self):
        super().__init__()
        weight = torch.ones(4, 4, dtype=torch.uint8)
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x @ self.weight.float())


def test_weights_that_are_whole_numbers_are_not_measured():
    model = Quantised()
    seen = seen_in(model, optimizer := sgd(model), lambda i: train(model, optimizer), 6, 2)
    assert [(r.step, r.layer) for r in seen.measurements] == [(i, "layer") for i in (2, 4, 6)]
    assert seen.findings == ()


def test_two_watches_that_measure_the_same_steps():
    model = net()
    optimizer = sgd(model)
    with pellucid.watch(model, optimizer, interval=2) as first:
        second = seen_in_block(model, optimizer)
    assert first.measurements == second.measurements
    assert {row.step for row in first.measurements} == {2, 4, 6}
    assert not optimizer._optimizer_step_post_hooks


def seen_in_block(model, optimizer):
    with pellucid.watch(model, optimizer, interval=2) as seen:
        for _ in range(6):
            train(model, optimizer)
    return seen


class Shifts(nn.Module):
    """Writes to what it is given, and to a list in it."""

    def __init__(self):
        super().__init__()
        self.layers = net()

    def forward(self, x, log):
        log.append(len(log))
        return self.layers(x.add_(1.0))


def test_what_a_model_writes_to_is_written_to_by_the_training_alone():
    model, x, log = Shifts(), X.clone(), []
    optimizer = sgd(model)

    def step(_):
        (model(x, log).mean() * torch.nan).backward()
        optimizer.step()

    seen = seen_in(model, optimizer, step, 1)
    assert seen.first_nonfinite is not None
    assert torch.equal(x, X + 1.0)
    assert log == [0]


@pytest.mark.parametrize("interval", [1, 3])
@pytest.mark.parametrize("which", ["inside", "outside", "call"])
def test_a_compiled_model_is_compiled_as_without(which, interval):
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = net()

        def forward(self, x):
            return self.layers(x)

    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    model = called = watched = Own()
    if which == "call":
        model.compile(backend=backend, fullgraph=True)
    else:
        called = torch.compile(model, backend=backend, fullgraph=True)
        watched = called if which == "outside" else model
    optimizer = sgd(model)

    def step(i):
        train(called, optimizer, BAD if i == 12 else X)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pellucid.PellucidWarning)
        with pellucid.watch(watched, optimizer, interval=interval) as seen:
            for i in range(1, 13):
                step(i)
    if which != "inside":  # where the checks of annotations are compiled, too, in these tests
        assert len(graphs) == 1
    assert {row.step for row in seen.measurements} == set(range(interval, 13, interval))
    assert seen.first_nonfinite is not None
    place = "gradient" if which == "inside" else "input"
    assert (seen.first_nonfinite.step, seen.first_nonfinite.place) == (12, place)


# ---- nothing more is held than is needed


def test_frozen_layers_are_not_copied():
    model = net()
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD(model[2].parameters(), 1e-3)
    sizes = []

    def step(_):
        train(model, optimizer)

    with pellucid.watch(model, optimizer, interval=2) as seen:
        before = seen._layers.before
        seen._layers.before = lambda: (before(), sizes.append(len(seen._layers._old)))
        for i in range(6):
            step(i)
    assert sizes == [2, 2, 2]  # the weight and the bias of the last layer
    assert seen._layers._old == {}
    assert seen._layers.left_out == {}


def test_layers_that_somebody_else_moves_are_known_by_their_bits():
    model = net()
    optimizer = torch.optim.SGD(model[2].parameters(), 1e-3)

    def step(_):
        train(model, optimizer)
        model[0].weight.data[0, 0] += 1e-6  # no count of torch's notices it

    seen = seen_in(model, optimizer, step, 12, 2)
    assert seen.findings == ()
    assert set(seen._layers.left_out) == {"0"}


def test_activations_of_one_forward_are_held_at_most():
    model = net(nn.Tanh)
    optimizer = sgd(model)
    with pellucid.watch(model, optimizer, interval=2) as seen:
        train(model, optimizer)
        for _ in range(10):
            functional.mse_loss(model(X), Y).backward()
            assert seen._units._made == seen._units._behind == {}
            assert list(seen._units._seen) == ["0"]
        optimizer.step()
    assert len(seen.measurements) == 2
    assert seen._units._seen == {}


# ---- nothing is said that is not sure


class Actor(nn.Module):
    """Two layers with a loss each: neither gradient says anything of the other's numbers."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.actor, self.critic = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        return self.actor(x), self.critic(x)


@pytest.mark.parametrize(
    ("interval", "expected"), [(200, (1, 12)), (4, (1, 4)), (5, (1, 5))], ids=str
)
def test_a_fault_that_the_look_cannot_see_is_told_with_all_steps_it_can_have_been(
    interval, expected
):
    model = Actor()
    optimizer = sgd(model)

    def step(i):
        optimizer.zero_grad()
        actor, critic = model(X)
        (actor.mean() * (torch.nan if i == 3 else 1.0)).backward()
        functional.mse_loss(critic, Y).backward()
        optimizer.step()

    first = seen_in(model, optimizer, step, 12, interval).first_nonfinite
    assert first == FirstNonFinite(expected[0], "actor", "parameters", until=expected[1])


def test_a_batch_that_was_filled_anew_is_not_blamed(every_fourth):
    """The loss of step 9 was at fault; what the buffer holds later is of no account."""
    model, buffer = net(), X.clone()
    optimizer = sgd(model)

    def step(i):
        buffer.copy_(X)
        train(model, optimizer, buffer, torch.nan if i == 9 else 1.0)
        if i >= 9:
            buffer[3, 1] = torch.nan

    first = seen_in(model, optimizer, step, 12).first_nonfinite
    assert first is not None
    assert (first.place, first.step <= 9 <= (first.until or 0)) == ("parameters", True)


def test_memory_that_is_filled_anew_behind_torch_is_not_blamed(every_fourth):
    model, numbers = net(), X.numpy().copy()
    optimizer = sgd(model)

    def step(i):
        numbers[:] = X.numpy()
        train(model, optimizer, torch.from_numpy(numbers), torch.nan if i == 9 else 1.0)
        numbers[3, 1] = torch.nan

    first = seen_in(model, optimizer, step, 11).first_nonfinite
    assert first is not None
    assert first.place == "parameters"


@pytest.mark.parametrize("to_none", [True, False])
@pytest.mark.parametrize("how", ["continue", "scaler"])
def test_a_batch_that_the_loop_left_out_is_not_blamed(how, to_none, every_step):
    """It comes right before a step whose loss is at fault."""
    model = net()
    optimizer = sgd(model)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0, enabled=how == "scaler")

    def step(i):
        optimizer.zero_grad(set_to_none=to_none)
        loss = functional.mse_loss(model(BAD if i == 14 else X), Y)
        if how == "continue" and not torch.isfinite(loss):
            return
        scaler.scale(loss * (torch.nan if i == 15 else 1.0)).backward()
        if i == 15:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()

    first = seen_in(model, optimizer, step, 15).first_nonfinite
    assert first is not None
    assert (first.step, first.place) == (14, "gradient")


def test_a_batch_that_the_loop_left_out_at_its_end_is_no_fault():
    model = net()
    optimizer = sgd(model)

    def step(i):
        if i == 6:
            model(BAD)
        else:
            train(model, optimizer)

    assert seen_in(model, optimizer, step, 6).findings == ()


def test_a_batch_of_a_step_that_a_fused_optimizer_skips_is_not_blamed(every_fourth):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)

    def step(i):
        optimizer.zero_grad()
        loss = functional.mse_loss(model(BAD if i == 9 else X), Y)
        scaler.scale(loss).backward()
        if i == 10:
            with torch.no_grad():
                model[0].weight.fill_(torch.nan)
        scaler.step(optimizer)
        scaler.update()

    first = seen_in(model, optimizer, step, 10).first_nonfinite
    assert first is not None
    assert first.place == "parameters"


def test_codes_of_which_a_unit_is_used_once_in_hundreds_of_rows():
    """A batch of eight rows shows at most 8 of 300 units; every unit is alive."""
    model = nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 1))
    rows = torch.eye(300)
    with torch.no_grad():
        model[0].weight.copy_(rows)
        model[0].bias.fill_(-0.01)
    optimizer = torch.optim.SGD(model.parameters(), 1e-5)
    generator = torch.Generator().manual_seed(0)

    def step(_):
        optimizer.zero_grad()
        model(rows[torch.randint(300, (8,), generator=generator)]).mean().backward()
        optimizer.step()

    seen = seen_in(model, optimizer, step, 150, 1)
    assert {row.dead > 0.9 for row in seen.measurements if row.layer == "0"} == {True}
    assert seen.findings == ()


def test_the_batch_before_a_closure_is_not_lost():
    """The search goes on after the first evaluation that is not finite."""
    model = net(nn.Tanh)
    optimizer = torch.optim.LBFGS(model.parameters(), 0.1, max_iter=3)

    def step(i):
        def closure():
            optimizer.zero_grad()
            loss = functional.mse_loss(model(BAD if i == 6 else X), Y)
            loss.backward()
            return loss

        optimizer.step(closure)

    first = seen_in(model, optimizer, step, 8).first_nonfinite
    assert first == FirstNonFinite(6, "", "input", (3,), (1,))


def test_two_forwards_for_one_loss_both_have_their_part():
    model = net()
    optimizer = sgd(model)

    def step(i):
        optimizer.zero_grad()
        first = model(copy.deepcopy(BAD) if i == 3 else X)
        (first - model(X)).square().mean().backward()
        optimizer.step()

    first = seen_in(model, optimizer, step, 4).first_nonfinite
    assert first == FirstNonFinite(3, "", "input", (3,), (1,))
