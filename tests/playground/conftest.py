"""The page for its tests, in a folder and from the server; and its engine in Node."""

import shutil

import pytest
from playground.browsing import CHROMIUM, Visit, chromium, static_server
from playground.engine_process import Engine
from playground.serving import served

from pellucid.playground import export_page


def need_node():
    """Skip where there is no Node; `.ci/run` installs it."""
    if shutil.which("node") is None:
        pytest.skip("there is no node: apt-get install nodejs")


@pytest.fixture(scope="session")
def node():
    """The program `node`."""
    need_node()
    return "node"


@pytest.fixture(scope="session")
def engine():
    """One Node process with the engine for all tests."""
    need_node()
    engine = Engine()
    yield engine
    engine.close()


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; `.ci/run` installs it."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}: apt-get install chromium")
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def folder_url(tmp_path_factory):
    """The address of an exported page, some folders below the root of a plain web server."""
    root = tmp_path_factory.mktemp("www")
    export_page(root / "school" / "class 7" / "page")
    with static_server(root) as address:
        yield f"{address}/school/class%207/page/"


@pytest.fixture(scope="session")
def page_server(tmp_path_factory):
    """`pellucid playground` in a process of its own."""
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture(params=["folder", "server"])
def page_url(request):
    """The address of the page: each test runs on the folder and on the server."""
    if request.param == "folder":
        return request.getfixturevalue("folder_url")
    found = request.getfixturevalue("page_server")
    return f"http://127.0.0.1:{found.port}/?token={found.token}"


@pytest.fixture
def visit(browser):
    """Make visitors; at the end none may have complained or asked for anything elsewhere.

    A complaint that holds one of the texts in `visit.forgiven` is expected.
    `visit(url, **options)` takes the options of a browser context, such as viewport, color_scheme
    and reduced_motion.
    """
    visits: list[Visit] = []

    def make(url=None, **options):
        visits.append(Visit(browser, **options))
        if url is not None:
            visits[-1].page.goto(url)
        return visits[-1]

    make.forgiven = []
    yield make
    for one in visits:
        one.close()
    for one in visits:
        assert not one.strangers()
        left = [c for c in one.complaints if not any(part in c for part in make.forgiven)]
        assert not left
