"""Shapes and types of every pellucid function are checked while the tests run."""

import os
import signal

import jaxtyping
import pytest
from hypothesis import settings

# The tests run side by side: threads that wait for each other in busy loops (PyTorch, gradient
# boosting) would take ten times longer. Set before any of those libraries is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background has them ignore Ctrl-C, which some tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)

jaxtyping.install_import_hook("pellucid", "typechecking.check")
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")


@pytest.fixture
def as_users_run():
    """Switch the type checks off: what a user's wrong argument meets is then our own message."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def isa(request, monkeypatch):
    """Run the test once on each instruction set that this machine has."""
    from pellucid._kernels import native_module

    native = native_module()
    assert native is not None, "the compiled kernel is not built: pip install -e ."
    if request.param not in native.instruction_sets():
        # A processor without these instructions cannot run this case; baseline runs everywhere.
        pytest.skip(f"no {request.param} on this machine or in this build")
    monkeypatch.setenv("PELLUCID_ISA", request.param)
    assert native.instruction_set() == request.param
    return request.param
