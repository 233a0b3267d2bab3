"""A real HTTP server on a free port that answers as a test scripts it, byte for byte; and the time, which tests own.

with Scripted(envelope(503, "service_unavailable", retry_after=5), reply("Hello.")) as server:
    ...
server.requests   # what came, one for each answer
"""

import contextlib
import gc
import json
import socket
import ssl
import struct
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import turnkeep

REQUEST_ID = "01a1fe73-16c6-7702-915f-b08d4a8d9af0"
HELLO: dict[str, Any] = {"external_user_id": "ann", "message": "Hello"}
API_KEY = "svc_live_0123456789abcdef.secret"


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, bytes]
    body: bytes


Answer = Union[bytes, Callable[[socket.socket], None]]


class Scripted:
    """Answers one connection after the other, in the order of the script; a connection too many fails the test."""

    def __init__(self, *answers: Answer, tls: Optional[ssl.SSLContext] = None) -> None:
        self.requests: list[Request] = []
        self._answers = list(answers)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._tls = tls
        self._problem: Optional[Exception] = None
        port = self._socket.getsockname()[1]
        self.url = f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
        # Set when the script is over.
        self.done = threading.Event()
        if not answers:
            self.done.set()

    def __enter__(self) -> "Scripted":
        self._thread.start()
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if kind is None:
            self.done.wait(10)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        if kind is None and self._problem is not None:
            raise AssertionError("what the server did failed") from self._problem
        if kind is None and len(self.requests) != len(self._answers):
            raise AssertionError(f"{len(self.requests)} requests came, the script has {len(self._answers)} answers")

    def client(self, **limits: Any) -> turnkeep.Turnkeep:
        return turnkeep.Turnkeep(base_url=self.url, agent_id="agt_1", api_key=API_KEY, **limits)

    def keys(self) -> list[bytes]:
        return [request.headers["idempotency-key"] for request in self.requests]

    def asked(self) -> list[str]:
        """Method, path below the agent and Last-Event-ID of each request."""
        return [
            " ".join([one.method, one.path.replace("/v1/agents/agt_1", ""), one.headers.get("last-event-id", b"").decode()]).strip()
            for one in self.requests
        ]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            try:
                with self._secured(connection) as secured:
                    self._answer(secured)
            except (ConnectionError, ssl.SSLError):
                # A caller who left, or does not trust the certificate.
                pass
            except (OSError, AssertionError) as problem:
                self._problem = problem
            if len(self.requests) >= len(self._answers):
                self.done.set()

    def _secured(self, connection: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(connection, server_side=True) if self._tls else connection

    def _answer(self, connection: socket.socket) -> None:
        request = _read_request(connection)
        if request is None:
            return
        self.requests.append(request)
        at = len(self.requests) - 1
        answer = self._answers[at] if at < len(self._answers) else b""
        if isinstance(answer, bytes):
            connection.sendall(answer)
        else:
            answer(connection)


def _read_request(connection: socket.socket) -> Optional[Request]:
    with connection.makefile("rb") as reader:
        line = reader.readline()
        if not line:
            return None
        method, path, _ = line.decode().split(" ")
        headers: dict[str, bytes] = {}
        for row in iter(reader.readline, b"\r\n"):
            name, _, value = row.partition(b":")
            headers[name.decode().lower()] = value.strip()
        return Request(method, path, headers, reader.read(int(headers.get("content-length", b"0"))))


def http(status: int, body: bytes, headers: dict[str, str], length: Optional[int] = None) -> bytes:
    rows = {"Content-Length": str(len(body) if length is None else length), **headers}
    head = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
    return f"HTTP/1.1 {status} Some\r\n{head}\r\n".encode() + body


def json_answer(value: object, status: int = 200, headers: Optional[dict[str, str]] = None) -> bytes:
    return http(status, json.dumps(value).encode(), {"Content-Type": "application/json; charset=utf-8", **(headers or {})})


def envelope(status: int, code: str, retry_after: Optional[object] = None) -> bytes:
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return json_answer({"error": {"code": code, "message": "Some words.", "request_id": REQUEST_ID}}, status, headers)


def html(status: int, headers: Optional[dict[str, str]] = None) -> bytes:
    return http(status, b"<html>a proxy</html>", {"Content-Type": "text/html", **(headers or {})})


def reply_object(content: str) -> dict[str, Any]:
    message = {"id": "msg_1", "role": "assistant", "content": content, "created_at": "2026-11-21T14:11:58.332Z"}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "charged_usd": "0.00000700"}
    # A field that this version does not know is no reason to fail.
    return {"request_id": REQUEST_ID, "conversation_id": "conv_1", "message": {**message, "mood": "good"}, "usage": usage}


def reply(content: str, headers: Optional[dict[str, str]] = None) -> bytes:
    return json_answer(reply_object(content), headers=headers)


CREATED = f'event: response.created\ndata: {{"request_id":"{REQUEST_ID}","conversation_id":"conv_1"}}\n\n'.encode()


def event(name: str, data: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def deltas(*texts: str) -> bytes:
    return b"".join(event("response.output_text.delta", {"delta": text}) for text in texts)


def completed(content: str) -> bytes:
    return event("response.completed", reply_object(content))


def with_id(one: bytes, event_id: str) -> bytes:
    """An event as a service with event ids sends it."""
    name, data = one.split(b"\n", 1)
    return name + b"\nid: " + event_id.encode() + b"\n" + data


def numbered(*texts: str, at: int = 0) -> bytes:
    """Deltas with ids: at-5 after five characters of the text. `at`: the characters before the first one."""
    events = []
    for text in texts:
        at += len(text)
        events.append(with_id(deltas(text), f"at-{at}"))
    return b"".join(events)


def error_event(code: str) -> bytes:
    return event("error", {"code": code, "message": "Some words.", "request_id": REQUEST_ID})


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def stream(*pieces: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    """Each piece a chunk of its own. Without an `end` it breaks off."""
    return STREAM_HEAD + chunks(*pieces) + end


def resets(answer: bytes) -> Callable[[socket.socket], None]:
    """The connection is reset behind these bytes."""

    def send(connection: socket.socket) -> None:
        connection.sendall(answer)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return send


def until_gone(connection: socket.socket) -> None:
    """Waits for the caller to close; one who stays fails the test."""
    connection.settimeout(5)
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while connection.recv(4096):
            pass


def holds(answer: bytes) -> Callable[[socket.socket], None]:
    """These bytes, and then silence."""

    def send(connection: socket.socket) -> None:
        connection.sendall(answer)
        until_gone(connection)

    return send


def drips(answer: bytes, first: bytes = b"") -> Callable[[socket.socket], None]:
    """`first`, and then a byte every 20 ms, for as long as someone reads."""

    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        for byte in answer:
            connection.sendall(bytes([byte]))
            time.sleep(0.02)

    return send


class TestCase(unittest.TestCase):
    """Waits take no time: they are kept in `slept`, and the clock goes `ahead`. Chance is what `chance` says."""

    def setUp(self) -> None:
        self.slept: list[float] = []
        self.chance = 0.0
        self.ahead = 0.0

        def sleep(seconds: float, _stopped: threading.Event) -> None:
            self.slept.append(seconds)
            self.ahead += seconds

        for name, stand_in in (("_now", lambda: time.monotonic() + self.ahead), ("_sleep", sleep), ("_random", lambda: self.chance)):
            patch = mock.patch.object(turnkeep, name, stand_in)
            patch.start()
            self.addCleanup(patch.stop)
        left: list[Any] = []
        self.addCleanup(self._check_nothing_was_left_open, sys.unraisablehook, left)
        sys.unraisablehook = left.append

    def _check_nothing_was_left_open(self, hook: Callable[[Any], object], left: list[Any]) -> None:
        """With warnings as errors, Python reports sockets there that were not closed."""
        gc.collect()
        sys.unraisablehook = hook
        self.assertEqual(left, [])

    def read_late(self, seconds: float, rest: bytes, *again: Answer, tls: Optional[ssl.SSLContext] = None) -> list[turnkeep.StreamEvent]:
        """The events, for a reader who takes `seconds` for the first delta, "One "; meanwhile the service says the `rest`."""
        slow, said = threading.Event(), threading.Event()

        def speak(connection: socket.socket) -> None:
            # What is said has arrived, and does not wait for the other side to confirm what came before.
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(stream(CREATED, deltas("One "), end=b""))
            slow.wait(10)
            connection.sendall(rest)
            said.set()
            until_gone(connection)

        events = []
        with Scripted(speak, *again, tls=tls) as server:
            for event in server.client().stream(**HELLO):
                events.append(event)
                if event == turnkeep.Delta("One "):
                    slow.set()
                    self.assertTrue(said.wait(10))
                    self.ahead += seconds
        return events

    @contextlib.contextmanager
    def fails(self, kind: type, **fields: object) -> Iterator[None]:
        """The block raises exactly this class, with these fields."""
        with self.assertRaises(turnkeep.TurnkeepError) as caught:
            yield
        error = caught.exception
        self.assertIs(type(error), kind, repr(error))
        self.assertEqual({name: getattr(error, name) for name in fields}, fields)
        self.assertNotIn("secret", f"{error!r} {error} {vars(error)} {error.__cause__!r}")
