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
