"""What is sent, what may be given, what is never shown, and TLS."""

import contextlib
import errno
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

from scripted import (
    API_KEY,
    CREATED,
    HELLO,
    Scripted,
    TestCase,
    chunks,
    completed,
    deltas,
    envelope,
    json_answer,
    reply,
    stream,
    until_gone,
)

import turnkeep


class Requests(TestCase):
    def test_what_is_sent(self) -> None:
        with Scripted(reply("Hi.")) as server:
            client = turnkeep.Turnkeep(base_url=f"{server.url}/under/this/", agent_id="agt/1", api_key=f"{API_KEY}\n")
            client.chat(external_user_id="änn", message="Hello\u2028 👋")
            request = server.requests[0]
        self.assertEqual((request.method, request.path), ("POST", "/under/this/v1/agents/agt%2F1/chat"))
        self.assertEqual(request.body.decode(), '{"external_user_id": "änn", "message": "Hello\u2028 👋"}')
        headers = {name: value.decode() for name, value in request.headers.items()}
        self.assertRegex(headers.pop("idempotency-key"), "^[0-9a-f-]{36}$")
        self.assertEqual(
            headers,
            {
                "host": server.url[len("http://") :],
                "authorization": f"Bearer {API_KEY}",
                "content-type": "application/json",
                "content-length": str(len(request.body)),
                "accept-encoding": "identity",
                "user-agent": "turnkeep-client/0.1.0 (python)",
                "connection": "close",
            },
        )

    def test_each_call_has_a_key_of_its_own_and_a_given_one_goes_as_utf8(self) -> None:
        given = ["plain", "Grüße", "ключ", "鍵 👋", "x" * 255, "👋" * 255]
        with Scripted(*[reply("Hi.")] * (2 + len(given))) as server:
            client = server.client()
            for key in [None, None, *given]:
                client.chat(**HELLO, idempotency_key=key)
            self.assertEqual(len(set(server.keys())), 2 + len(given))
            self.assertEqual([key.decode() for key in server.keys()[2:]], given)

    def test_a_key_that_no_header_carries_is_refused_before_anything_is_sent(self) -> None:
        with Scripted() as server:
            for key in ("", "x" * 256, "a\nb", "a\x00", "\x7f", "\x85", "\ud800", " a", "a ", "\ta", "a\t", " "):
                for call in (server.client().chat, server.client().stream):
                    with self.subTest(repr(key)), self.assertRaises(ValueError):
                        call(**HELLO, idempotency_key=key)

    def test_what_cannot_be_meant_is_refused_at_once(self) -> None:
        good: dict[str, Any] = {"base_url": "http://127.0.0.1:1", "agent_id": "agt_1", "api_key": API_KEY}
        bad: list[dict[str, Any]] = [
            {"base_url": url}
            for url in ("", "127.0.0.1:8080", "ftp://a", "http://", "http://a:b", "http://a/?b", "http://u:p@a", "http://a b")
        ]
        bad += [{"api_key": ""}, {"api_key": "se\ncret"}, {"api_key": "secrét"}, *({"agent_id": step} for step in ("", ".", ".."))]
        bad += [{"timeout": 0}, {"max_wait": -1}, {"max_retries": -1}, {"timeout": float("nan")}]
        for fields in bad:
            with self.subTest(fields), self.assertRaises(ValueError) as caught:
                turnkeep.Turnkeep(**{**good, **fields})
            self.assertNotIn("cr", str(caught.exception))
        with self.assertRaises(ValueError):
            turnkeep.Turnkeep(**good).chat(**HELLO, timeout=0)
        for step in ("", ".", ".."):
            with self.subTest(step), self.assertRaises(ValueError):
                turnkeep.Turnkeep(**good).conversations.messages(step)

    def test_the_key_is_never_shown(self) -> None:
        with Scripted(envelope(401, "invalid_api_key"), b"", stream(CREATED)) as server:
            client = server.client(max_retries=0)
            shown = [repr(client), repr(client.conversations)]
            for call in (client.chat, client.chat, lambda **hello: client.stream(**hello).text()):
                try:
                    call(**HELLO)
                except turnkeep.TurnkeepError as error:
                    shown += [repr(error), str(vars(error)), traceback.format_exc()]
        self.assertNotIn("secret", " ".join(shown))
        self.assertEqual(shown[0], f"Turnkeep(base_url='{server.url}', agent_id='agt_1')")

    def test_proxies_of_the_environment_are_not_used(self) -> None:
        with (
            mock.patch.dict(os.environ, {"http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"}),
            Scripted(reply("Hi.")) as server,
        ):
            server.client().chat(**HELLO)

    def test_a_silent_address_leaves_time_for_the_next(self) -> None:
        with Scripted(reply("Hi.")) as server:
            port = urlsplit(server.url).port
            here = socket.getaddrinfo("127.0.0.1", port, type=socket.SOCK_STREAM)
            with socket.socket() as silent:
                # It does not accept a second connection, and does not refuse it either.
                silent.bind(("127.0.0.1", 0))
                silent.listen(0)
                there = silent.getsockname()
                with contextlib.ExitStack() as full:
                    for _ in range(2):
                        waiting = full.enter_context(socket.socket())
                        waiting.setblocking(False)
                        waiting.connect_ex(there)
                    addresses = [(*here[0][:4], there), *here]
                    with mock.patch.object(socket, "getaddrinfo", return_value=addresses):
                        self.assertEqual(server.client(timeout=2, max_retries=0).chat(**HELLO).message.content, "Hi.")

    def test_an_address_of_a_kind_that_this_machine_has_not_is_passed_over(self) -> None:
        make = socket.socket

        class WithoutIpv6(make):  # type: ignore[valid-type, misc]
            def __init__(self, family: int = -1, *rest: Any, **named: Any) -> None:
                if family == socket.AF_INET6:
                    raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
                super().__init__(family, *rest, **named)

        with Scripted(reply("Hi.")) as server:
            here = socket.getaddrinfo("127.0.0.1", urlsplit(server.url).port, type=socket.SOCK_STREAM)
            addresses = [(socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 1, 0, 0)), *here]
            with mock.patch.object(socket, "getaddrinfo", return_value=addresses), mock.patch.object(socket, "socket", WithoutIpv6):
                self.assertEqual(server.client(max_retries=0).chat(**HELLO).message.content, "Hi.")

    def test_one_client_in_many_threads(self) -> None:
        with Scripted(*[reply("Hi.")] * 40) as server:
            client = server.client()
            with ThreadPoolExecutor(8) as pool:
                replies = list(pool.map(lambda at: client.chat(external_user_id=str(at), message="Hello"), range(40)))
            self.assertEqual({reply.message.content for reply in replies}, {"Hi."})
            self.assertEqual(len(set(server.keys())), 40)


class RateLimits(TestCase):
    def test_what_an_answer_says_stays_until_another_says_more(self) -> None:
        fields = {"X-RateLimit-Limit": "120", "X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "1790000000"}
        with Scripted(envelope(422, "validation_error"), reply("Hi.", fields), reply("Hi.")) as server:
            client = server.client()
            self.assertIsNone(client.rate_limit)
            with self.fails(turnkeep.ValidationError):
                client.chat(**HELLO)
            self.assertIsNone(client.rate_limit)
            for _ in range(2):
                client.chat(**HELLO)
                expected = turnkeep.RateLimit(120, 7, datetime.fromtimestamp(1790000000, timezone.utc))
                self.assertEqual(client.rate_limit, expected)

    def test_headers_of_another_form_say_nothing(self) -> None:
        with Scripted(reply("Hi.", {"X-RateLimit-Limit": "many", "X-RateLimit-Remaining": "7", "X-RateLimit-Reset": "9" * 30})) as server:
            client = server.client()
            client.chat(**HELLO)
            self.assertIsNone(client.rate_limit)


def conversation(at: int) -> dict[str, object]:
    times = {"created_at": "2026-11-21T14:11:58.332Z", "last_message_at": "2026-11-21T14:11:59.332Z"}
    return {"conversation_id": f"conv_{at}", "external_user_id": f"user {at}", "message_count": 2 * at, **times}


class Listings(TestCase):
    def test_page_after_page_as_they_are_needed(self) -> None:
        first = json_answer({"data": [conversation(1), conversation(2)], "next_cursor": "a&b"})
        with Scripted(
            first, envelope(503, "service_unavailable", 5), json_answer({"data": [conversation(3)], "next_cursor": None})
        ) as server:
            listing = server.client().conversations.list(external_user_id="änn & co", limit=2)
            self.assertEqual(server.requests, [])
            self.assertEqual(next(listing).conversation_id, "conv_1")
            self.assertEqual(next(listing).message_count, 4)
            self.assertEqual(len(server.requests), 1)
            self.assertEqual([one.external_user_id for one in listing], ["user 3"])
            queries = [parse_qs(urlsplit(request.path).query) for request in server.requests]
            self.assertEqual(queries[0], {"external_user_id": ["änn & co"], "limit": ["2"]})
            self.assertEqual(queries[1], {"external_user_id": ["änn & co"], "limit": ["2"], "cursor": ["a&b"]})
            self.assertEqual(queries[1], queries[2])
            self.assertNotIn("idempotency-key", server.requests[0].headers)
        self.assertEqual(self.slept, [5.0])

    def test_messages(self) -> None:
        message = {"id": "msg_1", "role": "user", "content": "Hello", "created_at": "2026-11-21T14:11:58.332Z", "request_id": "r"}
        with Scripted(json_answer({"data": [message], "next_cursor": None}), envelope(404, "not_found")) as server:
            conversations = server.client().conversations
            self.assertEqual(list(conversations.messages("conv/1")), [turnkeep.Message(**message)])
            self.assertEqual(server.requests[0].path, "/v1/agents/agt_1/conversations/conv%2F1/messages")
            with self.fails(turnkeep.NotFoundError, idempotency_key=None):
                list(conversations.messages("conv_2"))


@unittest.skipUnless(shutil.which("openssl"), "needs openssl: apt-get install openssl")
class OverTls(TestCase):
    certificate: Path
    context: ssl.SSLContext

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.certificate = Path(folder.name) / "certificate.pem"
        command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost"
        options = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(cls.certificate), "-out", f"{cls.certificate}.crt"]
        subprocess.run([*command.split(), *options], check=True, capture_output=True)
        cls.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cls.context.load_cert_chain(f"{cls.certificate}.crt", cls.certificate)

    def test_a_trusted_service_answers_and_streams(self) -> None:
        answers = reply("Hi."), stream(CREATED, deltas("One "), end=b""), stream(CREATED, completed("One two"))
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": f"{self.certificate}.crt"}), Scripted(*answers, tls=self.context) as server:
            self.assertEqual(server.client().chat(**HELLO).message.content, "Hi.")
            self.assertEqual(server.client().stream(**HELLO).text(), "One two")

    def test_a_certificate_that_is_not_trusted_is_final(self) -> None:
        with Scripted(tls=self.context) as server, self.fails(turnkeep.APIConnectionError):
            server.client().chat(**HELLO)
        self.assertEqual(self.slept, [])

    def test_what_has_come_is_read_however_late(self) -> None:
        # More than one record of TLS: some of it waits in the SSL object, some in the socket.
        rest = chunks(deltas("two"), b":" * 50_000 + b"\n", completed("One two"))
        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": f"{self.certificate}.crt"}):
            self.assertEqual(self.read_late(400, rest, tls=self.context)[-1].type, "response.completed")
            self.assertEqual(self.slept, [])
            with self.fails(turnkeep.APIConnectionTimeoutError):
                self.read_late(400, b"", tls=self.context)

    def test_another_thread_may_close_a_stream(self) -> None:
        def speak(connection: socket.socket) -> None:
            connection.sendall(stream(CREATED, end=b""))
            until_gone(connection)

        with mock.patch.dict(os.environ, {"SSL_CERT_FILE": f"{self.certificate}.crt"}), Scripted(speak, tls=self.context) as server:
            made = server.client().stream(**HELLO)
            reader = iter(made)
            next(reader)
            closer = threading.Timer(0.05, made.close)
            closer.start()
            with self.fails(turnkeep.APIUserAbortError):
                next(reader)
            closer.join()
