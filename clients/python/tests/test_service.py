"""The client against the real service, which test/clients/python.test.ts starts; its callers come as JSON in TURNKEEP_TEST_SERVICE."""

import json
import os
import threading
import unittest
import uuid
from decimal import Decimal
from typing import Any, Optional

from scripted import HELLO, TestCase

import turnkeep
from turnkeep import Completed, Created, Delta

CALLERS: Optional[dict[str, Any]] = json.loads(os.environ.get("TURNKEEP_TEST_SERVICE", "null"))


@unittest.skipUnless(CALLERS, "needs the service: node test/run.ts clients/python")
class Service(TestCase):
    def client(self, caller: str = "usual", **limits: Any) -> turnkeep.Turnkeep:
        assert CALLERS is not None
        return turnkeep.Turnkeep(**{"base_url": CALLERS["base_url"], **CALLERS[caller], **limits})

    def test_chat_and_its_replay(self) -> None:
        client, user = self.client(), f"user {uuid.uuid4()} 👋"
        reply = client.chat(external_user_id=user, message="Grüße\u2028", idempotency_key=f"ключ {user}")
        self.assertEqual(reply.message.content, "You said: Grüße\u2028")
        self.assertEqual(reply.message.role, "assistant")
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        self.assertGreater(Decimal(reply.usage.charged_usd), 0)
        self.assertIsNotNone(client.rate_limit)
        self.assertEqual(client.chat(external_user_id=user, message="Grüße\u2028", idempotency_key=f"ключ {user}"), reply)
        with client.stream(external_user_id=user, message="Grüße\u2028", idempotency_key=f"ключ {user}") as stream:
            self.assertEqual([type(event) for event in stream], [Created, Delta, Completed])
        self.assertEqual(stream.completed(), reply)

    def test_stream(self) -> None:
        with self.client().stream(external_user_id=f"user {uuid.uuid4()}", message="In pieces, please") as stream:
            events = list(stream)
        self.assertEqual([event.delta for event in events if isinstance(event, Delta)], ["Piece ", "by ", "piece."])
        self.assertEqual(stream.text(), "Piece by piece.")
        self.assertEqual((events[0].type, events[-1].type), ("response.created", "response.completed"))

    def test_a_stream_that_is_left_has_its_reply_by_its_key(self) -> None:
        client = self.client()
        message: dict[str, Any] = {"external_user_id": f"user {uuid.uuid4()}", "message": "In pieces, please"}
        with client.stream(**message) as stream:
            next(iter(stream))
        self.assertEqual(client.chat(**message, idempotency_key=stream.idempotency_key).message.content, "Piece by piece.")

    def test_a_turn_in_the_background_is_followed_continued_canceled_and_rated(self) -> None:
        client, user = self.client(), f"user {uuid.uuid4()}"
        started = client.chat(external_user_id=user, message="In pieces, please", background=True)
        assert isinstance(started, turnkeep.StartedTurn)
        events = list(client.turns.stream(started.request_id))
        deltas = [event for event in events if isinstance(event, Delta)]
        self.assertEqual("".join(event.delta for event in deltas), "Piece by piece.")
        rest = list(client.turns.stream(started.request_id, after=events[0].id))
        self.assertEqual([type(event) for event in rest], [Delta, Completed])
        self.assertEqual(list(client.turns.stream(started.request_id, after=events[-1].id)), [])
        turn = client.turns.get(started.request_id)
        assert turn.message is not None
        self.assertEqual((turn.status, turn.message.content, turn.external_user_id), ("completed", "Piece by piece.", user))
        # A turn that has ended stays as it is.
        self.assertEqual(client.turns.cancel(started.request_id), turn)
        feedback = client.turns.feedback(started.request_id, rating="down", comment="Too short.", tags=["short"])
        self.assertEqual((feedback.rating, feedback.comment, feedback.tags), ("down", "Too short.", ["short"]))
        key = str(uuid.uuid4())
        reply = client.chat(external_user_id=user, message="In pieces, please", idempotency_key=key)
        self.assertEqual(client.turns.find(key).request_id, reply.request_id)
        with self.fails(turnkeep.NotFoundError, code="not_found"):
            client.turns.get(str(uuid.uuid4()))
        with self.fails(turnkeep.NotFoundError, code="not_found"):
            client.turns.find(str(uuid.uuid4()))
        with self.fails(turnkeep.PermissionDeniedError, code="permission_denied"):
            self.client("read_only").turns.cancel(started.request_id)

    def test_two_messages_of_one_user_at_once_are_both_answered(self) -> None:
        client, user = self.client(), f"user {uuid.uuid4()}"
        said: list[str] = []

        def say(at: int) -> None:
            said.append(client.chat(external_user_id=user, message=f"Number {at}").message.content)

        threads = [threading.Thread(target=say, args=(at,)) for at in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(said), ["You said: Number 0", "You said: Number 1"])

    def test_a_model_that_fails_is_asked_again_under_the_same_key(self) -> None:
        with self.client().stream(external_user_id=f"user {uuid.uuid4()}", message="Fail at first") as stream:
            self.assertEqual(stream.text(), "Well now.")
        self.assertEqual(len(self.slept), 1)

    def test_listings_over_pages(self) -> None:
        client = self.client("listed")
        users = [f"user {at}" for at in range(5)]
        for user in users:
            client.chat(external_user_id=user, message="Hello")
            client.chat(external_user_id=user, message="Hello again")
        found = list(client.conversations.list(limit=2))
        self.assertEqual([conversation.external_user_id for conversation in found], users[::-1])
        [only] = client.conversations.list(external_user_id="user 3")
        self.assertEqual(only.message_count, 4)
        messages = list(client.conversations.messages(only.conversation_id, limit=3))
        self.assertEqual(
            [message.content for message in messages][::-1], ["Hello", "You said: Hello", "Hello again", "You said: Hello again"]
        )
        with self.fails(turnkeep.ValidationError, code="validation_error"):
            list(client.conversations.list(limit=0))
        with self.fails(turnkeep.NotFoundError, code="not_found"):
            list(self.client().conversations.messages(only.conversation_id))

    def test_refusals(self) -> None:
        with self.fails(turnkeep.AuthenticationError, code="invalid_api_key", status=401):
            self.client(api_key="svc_live_0123456789abcdef.secret").chat(**HELLO)
        with self.fails(turnkeep.PermissionDeniedError, code="permission_denied", status=403):
            self.client("read_only").chat(**HELLO)
        with self.fails(turnkeep.PermissionDeniedError, code="agent_mismatch", status=403):
            self.client(agent_id="agt_of_another").stream(**HELLO).text()
        with self.fails(turnkeep.InsufficientBalanceError, code="insufficient_balance", status=402):
            self.client("poor").stream(**HELLO).text()
        for message in ("", "\ud800", "x" * 40_000):
            with self.fails(turnkeep.ValidationError, code="validation_error", status=422):
                self.client().chat(external_user_id="ann", message=message)
        with self.fails(turnkeep.APIError, code="payload_too_large", status=413):
            self.client().chat(external_user_id="ann", message="x" * 5_000_000)
        self.client().chat(**HELLO, idempotency_key="taken")
        with self.fails(turnkeep.ConflictError, code="idempotency_conflict", status=409, idempotency_key="taken"):
            self.client().chat(external_user_id="ann", message="Other", idempotency_key="taken")
        self.assertEqual(self.slept, [])

    def test_a_window_that_is_used_up(self) -> None:
        client = self.client("limited", max_retries=0)
        client.chat(external_user_id="ann", message="Hello")
        with self.fails(turnkeep.RateLimitError, code="rate_limit_exceeded", status=429):
            client.chat(external_user_id="ann", message="Hello")
        assert client.rate_limit is not None
        self.assertEqual((client.rate_limit.limit, client.rate_limit.remaining), (1, 0))
