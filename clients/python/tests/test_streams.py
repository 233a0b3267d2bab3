"""Streams: whatever breaks, one Created, one Completed, and deltas that add up to the reply, none twice. Specification 4.2 and 6."""

import gc
import json
import os
import random
import re
import socket
import threading
import time
from typing import Any, Iterable
from unittest import mock

from scripted import (
    CREATED,
    HELLO,
    REQUEST_ID,
    STREAM_HEAD,
    Answer,
    Scripted,
    TestCase,
    chunks,
    completed,
    deltas,
    drips,
    envelope,
    error_event,
    event,
    holds,
    html,
    json_answer,
    reply_object,
    resets,
    stream,
    until_gone,
)

import turnkeep
from turnkeep import Completed, Created, Delta, Reset, StreamEvent

SEED = int(os.environ.get("SEED") or random.randrange(2**32))

WHOLE = stream(CREATED, b":\n\n", deltas("Grü"), deltas("ße", " an"), deltas(" 👋"), completed("Grüße an 👋"))


def shown(events: Iterable[StreamEvent]) -> str:
    """What stands on a screen that obeys the events."""
    text = ""
    for one in events:
        if isinstance(one, Delta):
            text += one.delta
        elif isinstance(one, Reset):
            text = ""
    return text


class Streams(TestCase):
    def read(self, *answers: Answer, **limits: Any) -> list[StreamEvent]:
        """All events, which keep the promises of every stream that ends well."""
        with Scripted(*answers) as server:
            made = server.client(**limits).stream(**HELLO)
            events = list(made)
            self.assertEqual(len(set(server.keys())), 1)
            self.assertEqual(server.keys()[0].decode(), made.idempotency_key)
            self.assertEqual({request.path for request in server.requests}, {"/v1/agents/agt_1/chat/stream"})
        self.check(events)
        self.assertEqual(made.text(), shown(events))
        self.assertEqual(made.completed(), turnkeep._record(reply_object(made.text()), turnkeep.Reply))
        return events

    def check(self, events: list[StreamEvent]) -> None:
        self.assertEqual(events[0], Created(REQUEST_ID, "conv_1"))
        self.assertEqual([type(event) for event in events].count(Created), 1)
        self.assertEqual([at for at, event in enumerate(events) if isinstance(event, Completed)], [len(events) - 1])
        last = events[-1]
        assert isinstance(last, Completed)
        self.assertEqual(shown(events), last.message.content)
        self.assertNotIn(Delta(""), events)

    def test_events_as_they_are(self) -> None:
        events = self.read(WHOLE)
        self.assertEqual([event.type.rpartition(".")[2] for event in events], ["created", "delta", "delta", "delta", "delta", "completed"])
        self.assertEqual([event.delta for event in events if isinstance(event, Delta)], ["Grü", "ße", " an", " 👋"])

    def test_a_replay_is_shown_whole(self) -> None:
        self.assertEqual([type(event) for event in self.read(stream(CREATED, completed("All.")))], [Created, Delta, Completed])
        self.assertEqual([type(event) for event in self.read(stream(CREATED, completed("")))], [Created, Completed])

    def test_a_stream_cut_at_any_byte_is_finished_by_its_key(self) -> None:
        whole_at = WHOLE.index(b'"charged_usd"')
        last = WHOLE.index(b"\n\n", whole_at) + 2
        cuts: list[Answer] = []
        for at in range(last):
            cuts += [WHOLE[:at]] if at % 3 else [WHOLE[:at], resets(WHOLE[:at])]
        answers = [answer for cut in cuts for answer in (cut, stream(CREATED, completed("Grüße an 👋")))]
        with Scripted(*answers) as server:
            client = server.client()
            for _ in cuts:
                events = list(client.stream(**HELLO))
                self.check(events)
                self.assertNotIn(Reset(), events)
            keys = server.keys()
            self.assertEqual(keys[0::2], keys[1::2])
            self.assertEqual(len(set(keys)), len(cuts))

    def test_a_stream_cut_behind_its_last_event_was_whole(self) -> None:
        end = WHOLE.index(b"\n\n", WHOLE.index(b'"charged_usd"')) + 2
        for at in range(end, len(WHOLE)):
            self.read(WHOLE[:at])

    def test_a_turn_that_is_run_anew_and_says_something_else_begins_with_a_reset(self) -> None:
        events = self.read(
            stream(CREATED, deltas("One ", "two "), end=b""), stream(CREATED, deltas("One ", "three"), completed("One three"))
        )
        self.assertEqual(events[1:-1], [Delta("One "), Delta("two "), Reset(), Delta("One three")])

    def test_what_was_shown_already_is_not_shown_again(self) -> None:
        events = self.read(
            stream(CREATED, deltas("One ", "two "), end=b""), stream(CREATED, deltas("One", " two three"), completed("One two three."))
        )
        self.assertEqual(events[1:-1], [Delta("One "), Delta("two "), Delta("three"), Delta(".")])

    def test_a_reply_that_is_shorter_than_what_was_shown_begins_with_a_reset(self) -> None:
        events = self.read(stream(CREATED, deltas("One two"), end=b""), stream(CREATED, deltas("One"), completed("One")))
        self.assertEqual(events[1:-1], [Delta("One two"), Reset(), Delta("One")])

    def test_what_interrupts_a_stream_is_waited_for(self) -> None:
        interruptions = [
            stream(CREATED, deltas("One "), error_event("service_unavailable")),
            envelope(409, "idempotency_in_progress", 2),
            html(502),
            envelope(429, "rate_limit_exceeded", 30),
            html(200),
            json_answer(reply_object("no stream")),
            stream(CREATED, event("response.output_text.delta", {"text": "of another form"})),
            stream(CREATED, b"event: response.output_text.delta\ndata: {\n\n"),
            stream(CREATED, b"event: of-a-later-version\ndata: {}\n\n", deltas("One "), b"data: nothing here\n\n"),
            STREAM_HEAD + b"zz\r\n",
        ]
        events = self.read(*interruptions, stream(CREATED, completed("One two")))
        self.assertEqual(events[1:-1], [Delta("One "), Delta("two")])
        self.assertEqual(self.slept[1], 2.0)
        self.assertEqual(self.slept[3], 30.0)

    def test_a_failure_is_raised_again_by_whoever_asks(self) -> None:
        failed = stream(CREATED, deltas("One "), error_event("insufficient_balance"))
        fields = {"code": "insufficient_balance", "status": 402, "request_id": REQUEST_ID, "idempotency_key": "kept"}
        with Scripted(failed) as server:
            made = server.client().stream(**HELLO, idempotency_key="kept")
            for ask in (lambda: list(made), made.text, made.completed, lambda: list(made)):
                with self.fails(turnkeep.InsufficientBalanceError, **fields):
                    ask()
        with Scripted(stream(CREATED, error_event("internal_error"))) as server:
            with self.fails(turnkeep.InternalServerError, code="internal_error", status=500):
                server.client().stream(**HELLO).text()
        with Scripted(envelope(401, "invalid_api_key")) as server, self.fails(turnkeep.AuthenticationError):
            server.client().stream(**HELLO).completed()

    def test_nothing_is_sent_before_it_is_read(self) -> None:
        with Scripted() as server:
            with server.client().stream(**HELLO):
                pass
            unread = server.client().stream(**HELLO)
            unread.close()
            with self.fails(turnkeep.APIUserAbortError, idempotency_key=unread.idempotency_key):
                unread.text()

    def test_leaving_the_loop_closes_the_connection_and_sends_nothing_more(self) -> None:
        gone = threading.Event()

        def speak(connection: socket.socket) -> None:
            connection.sendall(stream(CREATED, deltas("One "), end=b""))
            until_gone(connection)
            gone.set()

        with Scripted(speak) as server:
            with server.client().stream(**HELLO) as made:
                for event in made:
                    if isinstance(event, Delta):
                        break
            self.assertTrue(gone.wait(10))
            with self.fails(turnkeep.APIUserAbortError, idempotency_key=made.idempotency_key):
                made.text()
            with self.fails(turnkeep.APIUserAbortError):
                list(made)
        gone.clear()
        with Scripted(speak) as server:
            kept = server.client().stream(**HELLO)
            for _ in kept:
                break
            gc.collect()
            self.assertTrue(gone.wait(10))
            del kept

    def test_another_thread_may_close_it_while_it_waits_for_bytes(self) -> None:
        with Scripted(holds(stream(CREATED, end=b""))) as server:
            made = server.client().stream(**HELLO)
            reader = iter(made)
            next(reader)
            timer = threading.Timer(0.05, made.close)
            timer.start()
            with self.fails(turnkeep.APIUserAbortError, idempotency_key=made.idempotency_key):
                next(reader)
            timer.join()

    def test_another_thread_may_close_it_while_it_waits_for_the_next_attempt(self) -> None:
        asleep = threading.Event()

        def sleep(_seconds: float, stopped: threading.Event) -> None:
            asleep.set()
            self.assertTrue(stopped.wait(10))

        with mock.patch.object(turnkeep, "_sleep", sleep), Scripted(envelope(503, "service_unavailable", 5)) as server:
            made = server.client().stream(**HELLO)

            def close_when_asleep() -> None:
                asleep.wait(10)
                made.close()

            closer = threading.Thread(target=close_when_asleep)
            closer.start()
            with self.fails(turnkeep.APIUserAbortError):
                made.text()
            closer.join()

    def test_each_event_leaves_as_soon_as_its_last_byte_is_there(self) -> None:
        seen = threading.Event()

        def speak(connection: socket.socket) -> None:
            connection.sendall(STREAM_HEAD)
            for piece in (CREATED, deltas("One "), deltas("two"), completed("One two")):
                # Without the end of the chunk, which a server may send with the next one.
                connection.sendall(b"%x\r\n%s" % (len(piece), piece))
                self.assertTrue(seen.wait(10))
                seen.clear()
                connection.sendall(b"\r\n")

        with Scripted(speak) as server:
            for _ in server.client().stream(**HELLO):
                seen.set()

    def test_a_stream_that_is_silent_or_drips_is_given_up_and_finished(self) -> None:
        started = stream(CREATED, deltas("One "), end=b"")
        with mock.patch.object(turnkeep, "_STREAM_IDLE_SECONDS", 0.5):
            self.read(holds(started), stream(CREATED, completed("One two")))
            # A byte now and then is no silence, but the attempt has its end.
            self.read(drips(b"1\r\n:\r\n" * 1000, first=started), stream(CREATED, completed("One two")), timeout=1.0)

    def test_a_reader_who_takes_longer_than_an_attempt_misses_nothing(self) -> None:
        events = self.read_late(200, b"", stream(CREATED, completed("One two")))
        self.check(events)
        self.assertNotIn(Reset(), events)

    def test_what_has_come_is_read_however_late_and_not_asked_for_again(self) -> None:
        rest = chunks(deltas("two "), b":" * 50_000 + b"\n", deltas("three"), completed("One two three"))
        # Longer than an attempt, and than the whole call.
        for seconds in (200, 400):
            events = self.read_late(seconds, rest)
            self.check(events)
            self.assertEqual(events[1:-1], [Delta("One "), Delta("two "), Delta("three")])
        self.assertEqual(self.slept, [])
        with self.fails(turnkeep.APIConnectionTimeoutError):
            self.read_late(400, chunks(deltas("two ")))

    def test_who_never_stops_to_speak_is_given_up(self) -> None:
        with mock.patch.object(turnkeep, "_LATE_BYTES", 10_000):
            rest = chunks(b":" * 50_000 + b"\n", completed("One two"))
            self.check(self.read_late(200, rest, stream(CREATED, completed("One two"))))
        self.assertEqual(self.slept, [0.5])

    def test_whatever_attempts_say_the_deltas_add_up(self) -> None:
        chance = random.Random(SEED)
        for case in range(150):
            with self.subTest(f"SEED={SEED}, case {case}"):
                self._check_case(chance)

    def _check_case(self, chance: random.Random) -> None:
        letters = "ab 👋ü\n"
        contents = ["".join(chance.choices(letters, k=chance.randrange(12))) for _ in range(chance.randrange(1, 4))]
        last = contents[-1]
        answers: list[Answer] = []
        beginnings = True
        for _ in range(chance.randrange(4)):
            content = chance.choice(contents)
            said = content[: chance.randrange(len(content) + 1)]
            beginnings = beginnings and last.startswith(said)
            answers.append(self._cut(chance, stream(CREATED, *_pieces(chance, said), end=b"")))
        # A reader who was too slow for the service got no more deltas than these, but the whole content.
        said = last[: chance.randrange(len(last) + 1)]
        answers.append(self._cut(chance, stream(CREATED, *_pieces(chance, said), completed(last))))
        events = self.read(*answers)
        if beginnings:
            self.assertNotIn(Reset(), events)

    @staticmethod
    def _cut(chance: random.Random, answer: bytes) -> Answer:
        """The same bytes in writes of any size."""

        def send(connection: socket.socket) -> None:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            at = 0
            while at < len(answer):
                size = chance.choice((1, 2, 7, 60, 1000))
                connection.sendall(answer[at : at + size])
                at += size

        return send


def _pieces(chance: random.Random, text: str) -> list[bytes]:
    pieces = []
    while text:
        size = chance.randrange(1, 5)
        pieces.append(deltas(text[:size]))
        text = text[size:]
    return pieces


class Parsing(TestCase):
    def parse(self, pieces: Iterable[bytes]) -> list[object]:
        parser = turnkeep._EventParser()
        return [found[:2] if found[2] == "" else found for piece in pieces for found in parser.feed(piece)]

    def test_the_forms_of_an_event_stream(self) -> None:
        forms = {
            b"event: a\ndata: 1\n\n": [("a", "1")],
            b"event: a\r\ndata: 1\r\n\r\n": [("a", "1")],
            b"event: a\rdata: 1\r\r": [("a", "1")],
            b"\xef\xbb\xbfevent:a\ndata:1\n\n": [("a", "1")],
            b"event: a\ndata:  1\ndata\ndata: 2 \n\n": [("a", " 1\n\n2 ")],
            b": comment\n:\n\nevent: a\n: more\ndata: 1\n\n": [("a", "1")],
            b"data: 1\n\ndata: 2\n\n": [("message", "1"), ("message", "2")],
            b"event: a\n\ndata: 1\n\n": [("message", "1")],
            b"id: 7\nretry: 9\nevent: a\nwhat: ever\ndata: 1\n\ndata: 2\n\n": [("a", "1", "7"), ("message", "2")],
            b"id: 8\n\ndata: 3\n\nid\ndata: 4\n\nid: a\0b\ndata: 5\n\n": [("message", "3"), ("message", "4"), ("message", "5")],
            b"event: a\ndata: 1\n": [],
            "data: \u2028\u0085 👋\n\n".encode(): [("message", "\u2028\u0085 👋")],
        }
        for text, found in forms.items():
            with self.subTest(text):
                self.assertEqual(self.parse([text]), found)
                self.assertEqual(self.parse(bytes([byte]) for byte in text), found)

    def test_any_chunking_gives_the_same_events(self) -> None:
        chance = random.Random(SEED)
        for case in range(300):
            lines = [
                chance.choice(("event: a", "data: Grüße 👋", "data:", ": c", "", "", "data: \u2028")) for _ in range(chance.randrange(20))
            ]
            ends = [chance.choice(("\n", "\r\n", "\r")) for _ in lines]
            text = "".join(line + end for line, end in zip(lines, ends)).encode()
            # A CR and a LF that were meant as two ends of lines are one.
            expected = self._expected(text.decode())
            cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(10)))
            pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)])]
            with self.subTest(f"SEED={SEED}, case {case}"):
                self.assertEqual(self.parse(pieces), expected)

    @staticmethod
    def _expected(text: str) -> list[object]:
        """In the slow and plain way: whole blocks of whole lines."""
        *blocks, _ = re.sub("\r\n|\r", "\n", "\n" + text).replace("\n", "\n\x00").split("\x00\n")
        found: list[object] = []
        for block in blocks:
            lines = block.replace("\x00", "").split("\n")
            data = [line.partition(":")[2][1:] for line in lines if line.startswith("data")]
            names = [line[7:] for line in lines if line.startswith("event")]
            if data:
                found.append((names[-1] if names else "message", "\n".join(data)))
        return found

    def test_a_long_event_byte_by_byte_takes_no_time(self) -> None:
        data = json.dumps({"delta": "x" * 300_000})
        began = time.process_time()
        self.assertEqual(self.parse(bytes([byte]) for byte in f"data: {data}\n\n".encode()), [("message", data)])
        self.assertLess(time.process_time() - began, 5)
