"""Streams that are continued where they broke, turns by their request id, and messages in the background."""

import json
from typing import Any

from scripted import (
    CREATED,
    HELLO,
    REQUEST_ID,
    Answer,
    Scripted,
    TestCase,
    completed,
    deltas,
    envelope,
    error_event,
    event,
    http,
    json_answer,
    numbered,
    reply,
    reply_object,
    stream,
    with_id,
)

import turnkeep
from turnkeep import Delta, StreamEvent

POST = "POST /chat/stream"
GET = f"GET /turns/{REQUEST_ID}/stream"
STARTED = with_id(CREATED, "at-0")
RESET = with_id(event("response.output_text.reset", {}), "at-0")
NOTHING_LEFT = http(204, b"", {})
UNAVAILABLE = with_id(error_event("service_unavailable"), "end")
TURN: dict[str, Any] = {
    "request_id": REQUEST_ID, "conversation_id": "conv_1", "external_user_id": "ann", "status": "running", "created_at": "t1",
    "ended_at": None, "message": None, "usage": None, "error": None, "cancel_requested": False,
}


DETAILS: dict[str, Any] = {
    "prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 1},
    "completion_tokens_details": {"reasoning_tokens": 3},
    "tool_calls_usd": "0.01000000",
}


def finished(content: str) -> bytes:
    return with_id(completed(content), "end")


def broken(*pieces: bytes) -> bytes:
    return stream(*pieces, end=b"")


def turn(**fields: object) -> bytes:
    return json_answer({**TURN, **fields})


def names(events: list[StreamEvent]) -> list[str]:
    """A text is a delta."""
    return [one.delta if isinstance(one, Delta) else f"({type(one).__name__.lower()})" for one in events]


class Resume(TestCase):
    def read(self, *answers: Answer, asked: list[str]) -> list[str]:
        with Scripted(*answers) as server:
            made = server.client().stream(**HELLO)
            events = list(made)
            self.assertEqual(server.asked(), asked)
            keys = {request.headers.get("idempotency-key") for request in server.requests if request.method == "POST"}
            self.assertEqual(keys, {str(made.idempotency_key).encode()})
            self.assertTrue(all("idempotency-key" not in request.headers for request in server.requests if request.method == "GET"))
        return names(events)

    def test_a_broken_stream_is_continued_after_its_last_event(self) -> None:
        seen = self.read(
            broken(STARTED, numbered("Hel")),
            broken(numbered("lo", at=3)),
            envelope(429, "rate_limit_exceeded", retry_after=1),
            stream(numbered(" Ann", at=5), finished("Hello Ann")),
            asked=[POST, f"{GET} at-3", f"{GET} at-5", f"{GET} at-5"],
        )
        self.assertEqual(seen, ["(created)", "Hel", "lo", " Ann", "(completed)"])

    def test_events_have_the_ids_of_the_service(self) -> None:
        with Scripted(stream(STARTED, numbered("Hel", "lo"), finished("Hello"))) as server:
            events = list(server.client().stream(**HELLO))
        self.assertEqual([one.id for one in events], ["at-0", "at-3", "at-5", "end"])

    def test_a_reset_is_passed_on_if_the_text_differs(self) -> None:
        seen = self.read(
            broken(STARTED, numbered("It rains.")),
            broken(RESET, numbered("It ")),
            stream(numbered("is dry.", at=3), finished("It is dry.")),
            asked=[POST, f"{GET} at-9", f"{GET} at-3"],
        )
        self.assertEqual(seen, ["(created)", "It rains.", "(reset)", "It is dry.", "(completed)"])
        same = stream(RESET, numbered("It rai", "ns."), finished("It rains."))
        self.assertEqual(
            self.read(broken(STARTED, numbered("It rains.")), same, asked=[POST, f"{GET} at-9"]),
            ["(created)", "It rains.", "(completed)"],
        )

    def test_a_released_turn_runs_again_with_the_same_key(self) -> None:
        again = stream(STARTED, numbered("Hello"), finished("Hello"))
        first = stream(STARTED, numbered("Hel"), UNAVAILABLE)
        expected = ["(created)", "Hel", "lo", "(completed)"]
        self.assertEqual(self.read(first, NOTHING_LEFT, again, asked=[POST, f"{GET} end", POST]), expected)
        broke = broken(STARTED, numbered("Hel"))
        self.assertEqual(self.read(broke, stream(UNAVAILABLE), again, asked=[POST, f"{GET} at-3", POST]), expected)

    def test_a_turn_that_is_running_again_starts_from_the_beginning(self) -> None:
        first = stream(STARTED, numbered("Hel"), UNAVAILABLE)
        seen = self.read(first, stream(STARTED, numbered("He", "llo"), finished("Hello")), asked=[POST, f"{GET} end"])
        self.assertEqual(seen, ["(created)", "Hel", "lo", "(completed)"])

    def test_a_process_that_stops_is_followed_by_another(self) -> None:
        first = stream(STARTED, numbered("Hel"), UNAVAILABLE)
        seen = self.read(first, stream(numbered("lo", at=3), finished("Hello")), asked=[POST, f"{GET} end"])
        self.assertEqual(seen, ["(created)", "Hel", "lo", "(completed)"])

    def test_what_cannot_be_continued_is_sent_again(self) -> None:
        whole = stream(CREATED, deltas("Hello"), completed("Hello"))
        expected = ["(created)", "Hel", "lo", "(completed)"]
        for refusal in (envelope(404, "not_found"), envelope(422, "validation_error"), http(404, b"", {})):
            seen = self.read(broken(STARTED, numbered("Hel")), refusal, whole, asked=[POST, f"{GET} at-3", POST])
            self.assertEqual(seen, expected)
        # Without ids of the service, or after an event without one.
        for first in (broken(CREATED, deltas("Hel")), broken(STARTED, numbered("H"), deltas("el"))):
            self.assertEqual("".join(self.read(first, whole, asked=[POST, POST])), "(created)Hello(completed)")

    def test_a_running_key_is_continued_where_the_reader_is(self) -> None:
        seen = self.read(
            broken(STARTED, numbered("Hel")),
            envelope(404, "not_found"),
            envelope(409, "idempotency_in_progress", retry_after=2),
            stream(numbered("lo", at=3), finished("Hello")),
            asked=[POST, f"{GET} at-3", POST, f"{GET} at-3"],
        )
        self.assertEqual(seen, ["(created)", "Hel", "lo", "(completed)"])

    def test_a_refusal_before_the_stream_is_repeated_with_the_key(self) -> None:
        busy = envelope(409, "conversation_busy", retry_after=2)
        self.read(busy, stream(STARTED, UNAVAILABLE), NOTHING_LEFT, busy, stream(STARTED, finished("")), asked=[POST, POST, f"{GET} end", POST, POST])

    def test_a_canceled_turn_is_final(self) -> None:
        cancelled = with_id(error_event("turn_cancelled"), "end")
        for answers in (
            [envelope(409, "turn_cancelled")],
            [stream(STARTED, cancelled)],
            [broken(STARTED), stream(cancelled)],
        ):
            with Scripted(*answers) as server, self.fails(turnkeep.ConflictError, code="turn_cancelled", status=409):
                server.client().stream(**HELLO).text()

    def test_the_last_error_of_used_up_retries_has_the_key(self) -> None:
        away = envelope(503, "service_unavailable")
        with Scripted(broken(STARTED, numbered("Hel")), away, away) as server:
            with self.fails(turnkeep.ServiceUnavailableError, idempotency_key="k"):
                server.client().stream(**HELLO, idempotency_key="k", max_retries=2).text()


class Turns(TestCase):
    def test_get_returns_a_turn_in_each_status(self) -> None:
        answer = reply_object("Hello")
        failure = {"code": "turn_cancelled", "message": "Some words."}
        with Scripted(
            envelope(503, "service_unavailable"),
            turn(),
            turn(status="completed", ended_at="t2", message={**answer["message"], "incomplete": True}, usage={**answer["usage"], **DETAILS}),
            turn(status="cancelled", ended_at="t2", error=failure, cancel_requested=True),
            envelope(404, "not_found"),
        ) as server:
            turns = server.client().turns
            expected = turnkeep.Turn(REQUEST_ID, "conv_1", "ann", "running", "t1", None, None, None, None, False)
            self.assertEqual(turns.get(REQUEST_ID), expected)
            done = turns.get(REQUEST_ID)
            assert done.message is not None and done.usage is not None
            self.assertEqual((done.message.content, done.message.incomplete, done.usage.total_tokens), ("Hello", True, 7))
            expected_usage = turnkeep.TurnUsage(
                3, 4, 7, "0.00000700", turnkeep.PromptTokensDetails(2, 1), turnkeep.CompletionTokensDetails(3), "0.01000000"
            )
            self.assertEqual(done.usage, expected_usage)
            self.assertEqual(turns.get(REQUEST_ID).error, turnkeep.TurnFailure(**failure))
            with self.fails(turnkeep.NotFoundError, code="not_found", idempotency_key=None):
                turns.get(REQUEST_ID)
        self.assertEqual(set(server.asked()), {f"GET /turns/{REQUEST_ID}"})

    def test_find_asks_for_the_key_of_a_message_and_a_cancelled_turn_that_was_charged_has_usage(self) -> None:
        usage = {**reply_object("Hello")["usage"], **DETAILS}
        failure = {"code": "turn_cancelled", "message": "Some words."}
        with Scripted(
            turn(), turn(status="cancelled", ended_at="t2", error=failure, usage=usage), envelope(404, "not_found")
        ) as server:
            turns = server.client().turns
            self.assertEqual(turns.find("a b&c=d ü").request_id, REQUEST_ID)
            cancelled = turns.find("k")
            assert cancelled.usage is not None
            self.assertEqual((cancelled.message, cancelled.usage.tool_calls_usd), (None, "0.01000000"))
            with self.fails(turnkeep.NotFoundError, code="not_found", idempotency_key=None):
                turns.find("k")
            for key in ("", " a", "a\n"):
                with self.assertRaises(ValueError):
                    turns.find(key)
        base = "GET /turns?idempotency_key="
        self.assertEqual(server.asked(), [f"{base}a%20b%26c%3Dd%20%C3%BC", f"{base}k", f"{base}k"])

    def test_a_usage_without_a_detail_is_not_from_the_service(self) -> None:
        answer = reply_object("Hello")
        for name in DETAILS:
            usage = {key: value for key, value in {**answer["usage"], **DETAILS}.items() if key != name}
            done = {**TURN, "status": "completed", "message": answer["message"], "usage": usage}
            with Scripted(json_answer(done)) as server, self.fails(turnkeep.APIConnectionError):
                server.client(max_retries=0).turns.get(REQUEST_ID)

    def test_a_turn_without_a_field_is_not_from_the_service(self) -> None:
        for name in TURN:
            broken_turn = {key: value for key, value in TURN.items() if key != name}
            # Only a completed turn needs these.
            if name in ("message", "usage"):
                broken_turn["status"] = "completed"
            with Scripted(json_answer(broken_turn)) as server, self.fails(turnkeep.APIConnectionError):
                server.client(max_retries=0).turns.get(REQUEST_ID)

    def test_ids_that_lead_elsewhere_are_refused(self) -> None:
        with Scripted() as server:
            turns = server.client().turns
            for wrong in ("", ".", ".."):
                with self.assertRaises(ValueError):
                    turns.stream(wrong)
            for after in ("", "a b", "a\nb", "é"):
                with self.assertRaises(ValueError):
                    turns.stream(REQUEST_ID, after=after)

    def test_a_stream_starts_with_all_the_text_and_is_continued(self) -> None:
        with Scripted(
            envelope(503, "service_unavailable"),
            broken(STARTED, numbered("Hello")),
            stream(numbered(" Ann", at=5), finished("Hello Ann")),
        ) as server:
            made = server.client().turns.stream(REQUEST_ID)
            self.assertEqual(names(list(made)), ["(created)", "Hello", " Ann", "(completed)"])
            self.assertIsNone(made.idempotency_key)
            self.assertEqual(server.asked(), [GET, GET, f"{GET} at-5"])

    def test_without_ids_it_is_read_again_from_the_start(self) -> None:
        with Scripted(broken(CREATED, deltas("Hel")), stream(CREATED, deltas("Hello"), completed("Hello"))) as server:
            self.assertEqual(names(list(server.client().turns.stream(REQUEST_ID))), ["(created)", "Hel", "lo", "(completed)"])

    def test_after_an_event_only_what_follows_is_returned(self) -> None:
        with Scripted(
            broken(numbered("l", at=3)),
            stream(numbered("o", at=4), finished("Hello")),
            stream(RESET, numbered("Bye"), finished("Bye")),
            envelope(422, "validation_error"),
        ) as server:
            turns = server.client().turns
            self.assertEqual(names(list(turns.stream(REQUEST_ID, after="at-3"))), ["l", "o", "(completed)"])
            self.assertEqual(names(list(turns.stream(REQUEST_ID, after="at-3"))), ["(reset)", "Bye", "(completed)"])
            with self.fails(turnkeep.ValidationError):
                turns.stream(REQUEST_ID, after="x").text()

    def test_after_the_last_event_nothing_is_left(self) -> None:
        answer = reply_object("Hello")
        failure = {"code": "internal_error", "message": "Some words."}
        with Scripted(
            NOTHING_LEFT,
            turn(status="completed", message=answer["message"], usage={**answer["usage"], **DETAILS}),
            NOTHING_LEFT,
            turn(status="failed", error=failure),
        ) as server:
            turns = server.client().turns
            made = turns.stream(REQUEST_ID, after="end")
            self.assertEqual(list(made), [])
            self.assertEqual(made.text(), "Hello")
            with self.fails(turnkeep.InternalServerError, code="internal_error", request_id=REQUEST_ID):
                turns.stream(REQUEST_ID, after="end").text()

    def test_a_released_turn_is_not_waited_for_and_a_stopping_process_is(self) -> None:
        first = stream(STARTED, numbered("Hel"), UNAVAILABLE)
        failure = {"code": "service_unavailable", "message": "Some words."}
        with Scripted(first, turn(status="released", error=failure)) as server:
            with self.fails(turnkeep.ServiceUnavailableError):
                server.client().turns.stream(REQUEST_ID).text()
        with Scripted(first, turn(), stream(numbered("lo", at=3), finished("Hello"))) as server:
            self.assertEqual(names(list(server.client().turns.stream(REQUEST_ID))), ["(created)", "Hel", "lo", "(completed)"])

    def test_cancel_has_no_body_and_is_repeated(self) -> None:
        with Scripted(envelope(503, "service_unavailable"), turn(cancel_requested=True)) as server:
            self.assertTrue(server.client().turns.cancel(REQUEST_ID).cancel_requested)
            self.assertEqual(server.asked(), [f"POST /turns/{REQUEST_ID}/cancel"] * 2)
            self.assertEqual([(one.body, one.headers.get("content-type")) for one in server.requests], [(b"", None)] * 2)

    def test_feedback_sends_what_is_given(self) -> None:
        stored = {"request_id": REQUEST_ID, "rating": "down", "comment": None, "tags": ["wrong"], "created_at": "t1", "updated_at": "t2"}
        with Scripted(json_answer(stored), json_answer({**stored, "comment": "No."}), json_answer({**stored, "tags": [1]})) as server:
            turns = server.client(max_retries=0).turns
            self.assertEqual(turns.feedback(REQUEST_ID, rating="down", tags=["wrong"]), turnkeep.Feedback(**stored))
            self.assertEqual(turns.feedback(REQUEST_ID, rating="down", comment="No.").comment, "No.")
            with self.fails(turnkeep.APIConnectionError):
                turns.feedback(REQUEST_ID, rating="down")
            self.assertEqual(json.loads(server.requests[0].body), {"rating": "down", "tags": ["wrong"]})
            self.assertEqual(json.loads(server.requests[1].body), {"rating": "down", "tags": [], "comment": "No."})
            self.assertEqual(server.asked()[0], f"POST /turns/{REQUEST_ID}/feedback")


class Background(TestCase):
    RUNNING = {"request_id": REQUEST_ID, "conversation_id": "conv_1", "status": "running"}

    def test_the_turn_that_started_or_the_reply_of_a_replay(self) -> None:
        with Scripted(envelope(503, "service_unavailable"), json_answer(self.RUNNING, 202), reply("Hello"), reply("Hi")) as server:
            client = server.client()
            started = client.chat(**HELLO, background=True, idempotency_key="k")
            self.assertEqual(started, turnkeep.StartedTurn(REQUEST_ID, "conv_1"))
            replay = client.chat(**HELLO, background=True, idempotency_key="k")
            assert isinstance(replay, turnkeep.Reply)
            self.assertEqual(replay.message.content, "Hello")
            self.assertEqual(client.chat(**HELLO).message.content, "Hi")
            self.assertEqual([one.headers.get("prefer") for one in server.requests], [b"respond-async"] * 3 + [None])
            self.assertEqual(server.keys()[:3], [b"k"] * 3)

    def test_a_202_that_was_not_requested_or_not_from_the_service(self) -> None:
        with Scripted(json_answer(self.RUNNING, 202), json_answer({"status": "asleep"}, 202)) as server:
            client = server.client(max_retries=0)
            with self.fails(turnkeep.APIError, status=202):
                client.chat(**HELLO)
            with self.fails(turnkeep.APIConnectionError):
                client.chat(**HELLO, background=True)
