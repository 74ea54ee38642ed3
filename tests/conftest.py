"""Shapes and types of every pellucid function are checked while the tests run."""

import jaxtyping
import pytest
from hypothesis import settings

jaxtyping.install_import_hook("pellucid", "typechecking.check")
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("ci")


@pytest.fixture
def as_users_run():
    """Switch the type checks off: what a user's wrong argument meets is then our own message."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
