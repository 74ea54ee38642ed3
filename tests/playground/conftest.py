import pytest
from playground.engine_process import Engine


@pytest.fixture(scope="session")
def engine():
    """One Node process with the engine for all tests."""
    engine = Engine()
    yield engine
    engine.close()
