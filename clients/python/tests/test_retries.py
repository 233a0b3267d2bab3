"""What is sent again with the same key, after what wait, and what is never. The table of docs/errors, code by code."""

import pickle
import socket
import time
from email.utils import formatdate
from unittest import mock

from scripted import (
    HELLO,
    REQUEST_ID,
    Answer,
    Scripted,
    TestCase,
    drips,
    envelope,
    holds,
    html,
    http,
    json_answer,
    reply,
    resets,
    until_gone,
)

import turnkeep


class SentAgain(TestCase):
    def test_what_passes_is_sent_again_with_the_same_key_and_body(self) -> None:
        passing = {
            "service_unavailable": envelope(503, "service_unavailable", 5),
            "api_rate_limit_unavailable": envelope(503, "api_rate_limit_unavailable", 5),
            "rate_limit_exceeded": envelope(429, "rate_limit_exceeded", 5),
            "conversation_busy": envelope(409, "conversation_busy", 5),
            "idempotency_in_progress": envelope(409, "idempotency_in_progress", 5),
            "a proxy's 502": html(502, {"Retry-After": "5"}),
            "a proxy's 500": html(500, {"Retry-After": "5"}),
            "a proxy's 429": html(429, {"Retry-After": "5"}),
            "a proxy's 408": html(408, {"Retry-After": "5"}),
        }
        for name, answer in passing.items():
            with self.subTest(name), Scripted(answer, reply("Hi.")) as server:
                self.slept.clear()
                self.assertEqual(server.client().chat(**HELLO).message.content, "Hi.")
                self.assertEqual(self.slept, [5.0])
                self.assertEqual(len(set(server.keys())), 1)
                self.assertEqual(server.requests[0], server.requests[1])

    def test_a_connection_that_breaks_is_made_again(self) -> None:
        whole = reply("Hi.")
        broken: dict[str, Answer] = {
            "closed without an answer": b"",
            "reset without an answer": resets(b""),
            "cut in the head": whole[:30],
            "cut in the body": whole[:-10],
            "cut without a length": whole.replace(b"Content-Length", b"X-Length")[:-10],
            "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
            "a page by a proxy with 200": html(200),
            "JSON of something else": json_answer({"ok": True}),
            "a list": json_answer([]),
            "JSON without an end": json_answer(None).replace(b"null", b"[[[["),
        }
        for name, answer in broken.items():
            with self.subTest(name), Scripted(answer, reply("Hi.")) as server:
                self.slept.clear()
                self.assertEqual(server.client().chat(**HELLO).message.content, "Hi.")
                self.assertEqual(self.slept, [0.5])
                self.assertEqual(len(set(server.keys())), 1)

    def test_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        client = turnkeep.Turnkeep(base_url=f"http://127.0.0.1:{port}", agent_id="agt_1", api_key="k", max_retries=2)
        with self.fails(turnkeep.APIConnectionError, idempotency_key="kept"):
            client.chat(**HELLO, idempotency_key="kept")
        self.assertEqual(self.slept, [0.5, 1.0])

    def test_everything_else_is_final(self) -> None:
        final = {
            (400, "bad_request"): turnkeep.BadRequestError,
            (408, "bad_request"): turnkeep.APIError,
            (401, "invalid_api_key"): turnkeep.AuthenticationError,
            (402, "insufficient_balance"): turnkeep.InsufficientBalanceError,
            (402, "spend_limit_exceeded"): turnkeep.SpendLimitError,
            (403, "agent_mismatch"): turnkeep.PermissionDeniedError,
            (403, "permission_denied"): turnkeep.PermissionDeniedError,
            (403, "agent_disabled"): turnkeep.PermissionDeniedError,
            (404, "agent_not_found"): turnkeep.NotFoundError,
            (404, "not_found"): turnkeep.NotFoundError,
            (405, "method_not_allowed"): turnkeep.APIError,
            (409, "idempotency_conflict"): turnkeep.ConflictError,
            (413, "payload_too_large"): turnkeep.APIError,
            (422, "validation_error"): turnkeep.ValidationError,
            (500, "internal_error"): turnkeep.InternalServerError,
            (503, "a_code_of_a_later_version"): turnkeep.ServiceUnavailableError,
        }
        for (status, code), kind in final.items():
            fields = {"code": code, "status": status, "request_id": REQUEST_ID, "retry_after": 7.0, "idempotency_key": "kept"}
            with self.subTest(code), Scripted(envelope(status, code, 7)) as server, self.fails(kind, **fields):
                server.client().chat(**HELLO, idempotency_key="kept")
        for status, kind in {401: turnkeep.AuthenticationError, 404: turnkeep.NotFoundError, 418: turnkeep.APIError}.items():
            fields = {"code": None, "status": status, "request_id": "by-proxy"}
            with self.subTest(status), Scripted(html(status, {"X-Request-ID": "by-proxy"})) as server, self.fails(kind, **fields):
                server.client().chat(**HELLO)
        self.assertEqual(self.slept, [])

    def test_a_redirect_is_not_followed(self) -> None:
        with Scripted() as elsewhere:
            for status in (301, 302, 303, 307, 308):
                with Scripted(html(status, {"Location": elsewhere.url})) as server, self.fails(turnkeep.APIError, status=status, code=None):
                    server.client().chat(**HELLO)

    def test_a_refusal_before_the_whole_message_was_read_is_what_counts(self) -> None:
        def refuse(connection: socket.socket) -> None:
            connection.sendall(envelope(413, "payload_too_large"))

        with mock.patch.object(turnkeep._Wire, "sendall", self._broken_sendall), Scripted(refuse) as server:
            with self.fails(turnkeep.APIError, status=413):
                server.client().chat(**HELLO)

    @staticmethod
    def _broken_sendall(wire: "turnkeep._Wire", data: bytes) -> None:
        wire._timed().sendall(data)
        if data.endswith(b"}"):
            raise BrokenPipeError


class Waits(TestCase):
    def test_retry_after_is_never_undercut_and_jitter_is_at_most_a_second(self) -> None:
        for chance, seconds, wait in ((0.0, 2, 2.0), (0.5, 2, 2.2), (1.0, 2, 2.4), (1.0, 60, 61.0), (0.5, 60, 60.5)):
            self.chance = chance
            self.slept.clear()
            with self.subTest(seconds), Scripted(envelope(429, "rate_limit_exceeded", seconds), reply("Hi.")) as server:
                server.client().chat(**HELLO)
                self.assertEqual(self.slept, [wait])

    def test_without_retry_after_waits_double_up_to_eight_seconds_and_jitter_halves_them_at_most(self) -> None:
        for chance, factor in ((0.0, 1.0), (1.0, 0.5)):
            self.chance = chance
            self.slept.clear()
            with Scripted(*[envelope(503, "service_unavailable")] * 6, reply("Hi.")) as server:
                server.client().chat(**HELLO)
                self.assertEqual(self.slept, [factor * seconds for seconds in (0.5, 1, 2, 4, 8, 8)])

    def test_what_retry_after_may_be(self) -> None:
        in_a_minute = formatdate(time.time() + 60, usegmt=True)
        for written, least, most in (
            (in_a_minute, 55, 60),
            ("soon", 0.5, 0.5),
            ("-3", 0.5, 0.5),
            ("0", 0.5, 0.5),
            ("²", 0.5, 0.5),
            ("1.5", 1.5, 1.5),
        ):
            self.slept.clear()
            answer = html(503, {"Retry-After": "?"}).replace(b"?", written.encode("latin-1"))
            with self.subTest(written), Scripted(answer, reply("Hi.")) as server:
                server.client().chat(**HELLO)
                self.assertTrue(least <= self.slept[0] <= most, self.slept)

    def test_max_retries_counts_failures(self) -> None:
        with Scripted(*[envelope(503, "service_unavailable", 5)] * 3) as server:
            with self.fails(turnkeep.ServiceUnavailableError, code="service_unavailable", retry_after=5.0):
                server.client(max_retries=2).chat(**HELLO)
        with Scripted(envelope(429, "rate_limit_exceeded", 5)) as server, self.fails(turnkeep.RateLimitError):
            server.client().chat(**HELLO, max_retries=0)

    def test_max_retries_does_not_count_waiting_for_a_turn(self) -> None:
        runs = [envelope(409, code, 2) for code in ["conversation_busy"] * 5 + ["idempotency_in_progress"] * 30]
        with Scripted(*runs, reply("Hi.")) as server:
            server.client(max_retries=0).chat(**HELLO)
        self.assertEqual(self.slept, [2.0] * 35)

    def test_max_wait_bounds_everything(self) -> None:
        with Scripted(*[envelope(409, "idempotency_in_progress", 2)] * 5) as server:
            with self.fails(turnkeep.ConflictError, code="idempotency_in_progress"):
                server.client(max_wait=10).chat(**HELLO)
        self.assertEqual(self.slept, [2.0] * 4)

    def test_a_wait_that_would_end_after_max_wait_is_not_begun(self) -> None:
        with Scripted(envelope(429, "rate_limit_exceeded", 60)) as server, self.fails(turnkeep.RateLimitError, retry_after=60.0):
            server.client().chat(**HELLO, max_wait=59)
        self.assertEqual(self.slept, [])


class Deadlines(TestCase):
    def test_timeout_is_of_the_whole_attempt_however_the_bytes_come(self) -> None:
        slow = {
            "silent": holds(b""),
            "dripping its head": drips(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000),
            "dripping its body": drips(b"x" * 1000, first=http(200, b"", {}, length=1000)),
            "dripping a refusal": drips(b"x" * 1000, first=http(503, b"", {}, length=1000)),
        }
        for name, answer in slow.items():
            with self.subTest(name), Scripted(answer) as server:
                began = time.monotonic()
                with self.fails(turnkeep.APIConnectionTimeoutError, idempotency_key="kept"):
                    server.client(max_retries=0).chat(**HELLO, idempotency_key="kept", timeout=0.15)
                self.assertLess(time.monotonic() - began, 5.0)

    def test_an_attempt_that_timed_out_is_made_again(self) -> None:
        def take_too_long(connection: socket.socket) -> None:
            self.ahead += 200
            # Wakes the reader, who looks at the clock.
            holds(b"H")(connection)

        with Scripted(take_too_long, reply("Hi.")) as server:
            self.assertEqual(server.client().chat(**HELLO).message.content, "Hi.")
            self.assertEqual(len(set(server.keys())), 1)

    def test_max_wait_bounds_an_attempt_as_well(self) -> None:
        with Scripted(holds(b"")) as server, self.fails(turnkeep.APIConnectionTimeoutError):
            server.client().chat(**HELLO, max_wait=0.1)

    def test_who_does_not_take_the_message_is_given_up(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as full:
            client = turnkeep.Turnkeep(base_url=f"http://127.0.0.1:{full.getsockname()[1]}", agent_id="agt_1", api_key="k")
            began = time.monotonic()
            with self.fails(turnkeep.APIConnectionTimeoutError):
                client.chat(external_user_id="ann", message="x" * 20_000_000, timeout=0.2, max_retries=0)
            self.assertLess(time.monotonic() - began, 4.0)

    def test_ctrl_c_ends_a_wait_and_an_attempt(self) -> None:
        with mock.patch.object(turnkeep, "_sleep", side_effect=KeyboardInterrupt):
            with Scripted(envelope(503, "service_unavailable", 5)) as server, self.assertRaises(KeyboardInterrupt):
                server.client().chat(**HELLO)
        with mock.patch.object(turnkeep._Wire, "receive_into", side_effect=KeyboardInterrupt):
            with Scripted(until_gone) as server, self.assertRaises(KeyboardInterrupt):
                server.client().chat(**HELLO)


class Errors(TestCase):
    def test_an_error_is_of_a_class_that_a_caller_can_name(self) -> None:
        for answer in (html(200), json_answer([]), html(502), b""):
            with Scripted(answer) as server, self.assertRaises(turnkeep.TurnkeepError) as caught:
                server.client(max_retries=0).chat(**HELLO)
            self.assertIn(type(caught.exception).__name__, turnkeep.__all__)

    def test_an_error_survives_pickle(self) -> None:
        with Scripted(envelope(429, "rate_limit_exceeded", 7)) as server, self.assertRaises(turnkeep.RateLimitError) as caught:
            server.client(max_retries=0).chat(**HELLO)
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), str(again), vars(again)), (turnkeep.RateLimitError, str(caught.exception), vars(caught.exception)))
