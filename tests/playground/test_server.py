"""The server: what it refuses, that nothing ends it, and that it keeps nothing."""

import json
import os
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest
from playground.serving import served

import pellucid
from pellucid.datasets import load_dataset
from pellucid.playground.bodies import MESSAGE, UPLOAD
from pellucid.playground.documents import table_document

LONG = 300.0  # seconds that a verdict may take which a test cancels


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def question():
    table = table_document(load_dataset("moons", n=60, seed=0))
    return {"table": table, "recipe": {"hidden": [4], "steps": 100}, "seed": 0, "budget": 0.01}


@pytest.fixture
def long_question(question):
    return question | {"recipe": {"hidden": [4], "steps": 200_000_000}, "budget": LONG}


def lines_of(server, question):
    """The status of a verdict that is asked for, and its lines."""
    connection = server.connection()
    headers = {"content-type": "application/json", "x-pellucid-token": server.token}
    connection.request("POST", "/api/verdict", json.dumps(question), headers)
    answer = connection.getresponse()
    return connection, answer


# ---- who is let in


def test_the_address_with_the_token_leads_to_the_page_and_sets_a_cookie(server):
    status, headers, _ = server.request("GET", f"/?token={server.token}", token=False)
    assert status == 303
    assert headers["location"] == "/"
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    given = {"cookie": cookie.partition(";")[0]}
    status, headers, body = server.request("GET", "/", headers=given, token=False)
    assert status == 200
    assert b'<meta name="pellucid-server"' in body
    assert headers["content-type"].startswith("text/html")


def test_only_this_machine_can_connect(server):
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1", "::1"}:
        with socket.socket() as s:
            s.settimeout(2)
            assert s.connect_ex((address, server.port)) != 0


ENTRANCES = [("GET", "/"), ("GET", "/api/start"), ("POST", "/api/verdict"), ("GET", "/index.html")]


@pytest.mark.parametrize(("method", "path"), ENTRANCES)
@pytest.mark.parametrize("given", ["", "wrong", "pellucid-0=wrong"])
def test_a_wrong_token_is_refused_and_logged(server, method, path, given):
    headers = {"x-pellucid-token": given} if given == "wrong" else {"cookie": given}
    headers |= {"origin": f"http://127.0.0.1:{server.port}"}
    status, answered, _ = server.request(method, path, headers=headers, token=False)
    assert status == 403
    assert "default-src 'none'" in answered["content-security-policy"]
    assert "no token, or a wrong one" in server.log()
    assert server.is_alive()


@pytest.mark.parametrize("origin", ["https://example.org", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused_and_logged(server, origin, question):
    for method, path in (("POST", "/api/verdict"), ("GET", "/api/start")):
        status, _, body = server.request(
            method, path, json.dumps(question), {"origin": origin}, token=True
        )
        assert status == 403
        assert "foreign origin" in json.loads(body)["error"]
    assert f"foreign origin {origin!r}" in server.log()


def test_a_foreign_host_is_refused_and_logged(server):
    status, _, _ = server.request("GET", "/", headers={"host": "rebound.example"})
    assert status == 403
    assert "foreign host 'rebound.example'" in server.log()


def test_a_cookie_alone_changes_nothing_without_the_pages_origin(server):
    headers = {"cookie": f"pellucid-{server.port}={server.token}"}
    status, _, _ = server.request("POST", "/api/save", "{}", headers, token=False)
    assert status == 403


def test_requests_that_another_site_makes_are_refused(server):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert server.request("GET", "/api/start", headers=headers)[0] == 403


def test_every_answer_has_the_strict_headers(server):
    for path in ("/", "/api/start", "/no/such/file", "/engine/core.js"):
        _, headers, _ = server.request("GET", path)
        policy = headers["content-security-policy"]
        assert "script-src 'self' 'wasm-unsafe-eval'" in policy
        assert "unsafe-inline" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["x-frame-options"] == "DENY"


# ---- what cannot be read

MALFORMED = {
    "nothing": b"",
    "no JSON": b"{",
    "a list": b"[1]",
    "NaN": b'{"seed": NaN}',
    "deep": b"[" * 100_000,
    "deep object": b'{"table":' + b"[" * 50_000,
    "no UTF-8": b"\xff\xfe{}",
    "no table": b"{}",
    "a text as table": b'{"table": "x"}',
    "ragged rows": b'{"table": {"X": [[1, 2], [3]], "y": [0, 1]}}',
    "a huge number": b'{"table": {"X": [[1e999, 2]], "y": [0]}}',
    "texts": b'{"table": {"X": [["a", 2]], "y": [0]}}',
    "a number of 400 digits": b'{"seed": 1' + b"0" * 400 + b"}",
    "true": b'{"table": {"X": [[true, 2]], "y": [0]}}',
}


@pytest.mark.parametrize("name", MALFORMED)
@pytest.mark.parametrize("path", ["/api/verdict", "/api/save?format=onnx"])
def test_a_malformed_message_is_answered_in_a_sentence(server, path, name):
    headers = {"content-type": "application/json"}
    status, _, body = server.request("POST", path, MALFORMED[name], headers)
    answers = [json.loads(line) for line in body.splitlines()]
    assert status in (200, 400)  # a verdict's stream tells its error in its last line
    assert "bug" not in answers[-1]["error"]
    assert server.is_alive()


def test_bytes_that_are_no_request_are_refused(server):
    for sent in (b"\0" * 1000, b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"x" * 100_000):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
            s.sendall(sent)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(1000)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"")
    assert server.is_alive()


def test_a_refusal_is_one_line_of_the_log_that_cannot_steer_a_terminal(server):
    before = len(server.log().splitlines())
    server.request("GET", "/" + quote("\x1b[31m\nx"), token=False)
    added = server.log().splitlines()[before:]
    assert len(added) == 1
    assert added[0].isprintable()


@pytest.mark.parametrize("path", ["/api/network?name=a.onnx", "/api/table?name=a.csv"])
def test_a_huge_upload_is_refused_before_it_has_arrived(server, path):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += f"X-Pellucid-Token: {server.token}\r\nContent-Length: {UPLOAD + 1}\r\n\r\n"
        s.sendall(head.encode())
        assert b" 413 " in s.recv(1000)
    assert "larger than 64 MiB" in server.log()
    assert server.is_alive()


def test_a_huge_message_in_parts_is_refused_at_the_limit(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as s:
        head = f"POST /api/verdict HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += f"X-Pellucid-Token: {server.token}\r\nContent-Type: application/json\r\n"
        s.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        sent = 0
        try:
            while sent <= MESSAGE + 2**22:
                s.sendall(part)
                sent += 0x10000
        except ConnectionError:
            pass
        assert b" 413 " in s.recv(1000)
    assert server.is_alive()


def test_paths_stay_within_the_page(server):
    for path in ("/../pyproject.toml", "/%2e%2e/server.py", "//etc/passwd", "/engine/../server.py"):
        assert server.request("GET", path)[0] in (400, 404)


# ---- files


def test_a_network_comes_in_and_goes_out_in_every_format(server, tmp_path):
    network = pellucid.initialize([2, 5, 3], activation="tanh", seed=1)
    pellucid.save(network, tmp_path / "net.pellucid")
    body = (tmp_path / "net.pellucid").read_bytes()
    status, _, answer = server.request("POST", "/api/network?name=net.pellucid", body)
    document = json.loads(answer)
    assert status == 200
    assert document["widths"] == [2, 5, 3]
    assert document["hidden"] == [{"name": "tanh", "parameters": []}]
    x = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
    for suffix in ("onnx", "npz", "pellucid"):
        headers = {"content-type": "application/json"}
        status, _, data = server.request(
            "POST", f"/api/save?format={suffix}", json.dumps(document), headers
        )
        assert status == 200
        (tmp_path / f"out.{suffix}").write_bytes(data)
        again = pellucid.load(tmp_path / f"out.{suffix}")
        np.testing.assert_array_equal(again(x).astype(np.float32), network(x).astype(np.float32))


def test_a_table_is_listed_and_read(server):
    text = "a,b,kind\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2]}\n" for i in range(30))
    status, _, body = server.request("POST", "/api/table?name=rows.csv", text)
    listed = json.loads(body)
    assert status == 200
    assert [c["name"] for c in listed["columns"]] == ["a", "b", "kind"]
    status, _, body = server.request("POST", "/api/table?name=rows.csv&target=kind", text)
    table = json.loads(body)
    assert status == 200
    assert table["classes"] == ["u", "v"]
    assert table["task"] == "classification"


HOSTILE = {
    "a pickle": ("net.pkl", b"\x80\x04cos\nsystem\n(S'true'\ntR."),
    "nothing": ("net.onnx", b""),
    "noise": ("net.onnx", b"\x08\x07\x12" + b"\xff" * 500),
    "no network": ("../../etc/passwd", b"root:x:0:0"),
    "a long name": ("a" * 5000 + ".npz", b"PK\x03\x04" + b"\0" * 100),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(server, name):
    file, content = HOSTILE[name]
    status, _, body = server.request("POST", f"/api/network?name={quote(file)}", content)
    assert status == 400
    error = json.loads(body)["error"]
    assert error.endswith(".")
    assert "/tmp" not in error
    assert server.is_alive()


# ---- verdicts


@pytest.mark.slow
def test_a_verdict_comes_in_stages_and_is_diagnoses_own(server, question):
    connection, answer = lines_of(server, question)
    lines = [json.loads(line) for line in answer.read().splitlines()]
    connection.close()
    assert answer.status == 200
    assert {"stage", "done"} <= set(lines[0])
    found = lines[-1]["verdict"]
    data = question["table"]
    table = pellucid.datasets.as_table(
        np.array(data["X"]),
        np.array(data["y"]),
        classes=data["classes"],
        feature_names=data["columns"],
        name=data["name"],
        target_name=data["target"],
    )
    expected = pellucid.diagnose(table, hidden=[4], steps=100, seed=0, budget=0.01).to_dict()
    del found["timing"], expected["timing"]
    assert found == json.loads(json.dumps(expected))
    assert lines[-1]["text"]


def _wait_until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def test_a_verdict_ends_when_its_client_goes(server, long_question):
    connection, answer = lines_of(server, long_question)
    assert json.loads(answer.readline())["stage"]
    assert server.children()
    connection.close()
    answer.close()
    _wait_until(lambda: not server.children())
    assert server.is_alive()


def test_of_eight_verdicts_at_once_one_runs_three_wait_and_four_are_refused(server, long_question):
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: lines_of(server, long_question), range(8)))
    taken = [(c, a) for c, a in opened if a.status == 200]
    refused = [a for _, a in opened if a.status == 429]
    assert (len(taken), len(refused)) == (4, 4)
    assert all("too many jobs" in json.loads(a.read())["error"] for a in refused)
    first = [json.loads(a.readline()) for _, a in taken]
    assert sum("stage" in line for line in first) == 1
    assert sorted(line["queued"] for line in first if "queued" in line) == [1, 2, 3]
    assert len(server.children()) == 1
    assert server.log().count("too many jobs wait already") >= 4
    for connection, answer in opened:
        answer.close()
        connection.close()
    _wait_until(lambda: not server.children())
    assert server.is_alive()


def test_a_verdict_whose_process_is_killed_says_so(server, long_question):
    connection, answer = lines_of(server, long_question)
    answer.readline()
    (child,) = server.children()
    os.kill(child, signal.SIGKILL)
    last = [json.loads(line) for line in answer.read().splitlines()][-1]
    assert "ended by signal 9" in last["error"]
    connection.close()
    assert server.is_alive()


def test_with_the_server_its_verdict_ends(tmp_path, long_question):
    with served(tmp_path) as found:
        connection, answer = lines_of(found, long_question)
        answer.readline()
        (child,) = found.children()
        found.process.kill()
        found.process.wait()
        _wait_until(lambda: not os.path.exists(f"/proc/{child}") or _is_zombie(child))
        connection.close()


def _is_zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


# ---- nothing is kept


def _come_and_go(server, n):
    """So many clients that leave at different moments."""
    head = f"HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-Pellucid-Token: {server.token}\r\n"
    for i in range(n):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as s:
            if i % 4 == 1:
                s.sendall(b"GET /api/start ")
            elif i % 4 == 2:
                s.sendall(f"GET /api/start {head}\r\n".encode())
                s.recv(100)
            elif i % 4 == 3:
                size = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
                s.sendall(f"POST /api/verdict {head}{size}".encode())


@pytest.mark.slow
def test_a_thousand_connects_and_disconnects_leak_nothing(tmp_path):
    with served(tmp_path) as found:
        _come_and_go(found, 200)  # until every buffer has been needed once
        time.sleep(0.5)
        before = found.descriptors(), found.threads(), found.kilobytes()
        _come_and_go(found, 1000)
        _wait_until(lambda: found.descriptors() <= before[0])
        assert found.threads() <= before[1]
        assert found.kilobytes() < before[2] + 4000
        assert found.is_alive()


@pytest.mark.slow
def test_verdicts_that_are_left_leak_nothing(tmp_path, long_question):
    with served(tmp_path) as found:
        counts = []
        for _ in range(6):
            connection, answer = lines_of(found, long_question)
            answer.readline()
            answer.close()
            connection.close()
            _wait_until(lambda: not found.children())
            time.sleep(0.2)
            counts.append((found.descriptors(), found.threads()))
        assert counts[-1] <= counts[1]
