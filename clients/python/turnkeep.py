"""Client for the Turnkeep API: one module without dependencies, for Python 3.9 or newer.

    client = Turnkeep(base_url="http://127.0.0.1:8080", agent_id=AGENT_ID, api_key=API_KEY)
    reply = client.chat(external_user_id="ann", message="Hello")

It does the caller's part of "answered once": it keeps one Idempotency-Key for all attempts at a call, decides what is sent again and when,
and continues a broken stream where it broke, or completes it with the same key. It does not follow redirects, use proxies from the environment or reveal the API key. A
client holds no connection and may be used from many threads.
"""

import base64
import binascii
import contextlib
import hmac
import io
import json
import random
import re
import socket
import ssl
import threading
import time
import unicodedata
import uuid
from codecs import getincrementaldecoder
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Callable, Generator, Iterator, Literal, Mapping, NoReturn, Optional, Sequence, TypeVar, Union, overload
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.1.0"
__all__ = ["Turnkeep", "Stream", "Conversations", "Reply", "AssistantMessage", "Usage", "Conversation", "Message", "RateLimit"]
__all__ += ["Turns", "Turn", "TurnFailure", "StartedTurn", "Feedback", "TurnUsage", "PromptTokensDetails", "CompletionTokensDetails", "verify_webhook", "WebhookEvent", "WebhookVerificationError"]
__all__ += ["Created", "Delta", "Reset", "Completed", "StreamEvent", "TurnkeepError", "APIError", "BadRequestError", "AuthenticationError"]
__all__ += ["InsufficientBalanceError", "SpendLimitError", "PermissionDeniedError", "NotFoundError", "ConflictError", "ValidationError", "RateLimitError"]
__all__ += ["InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIConnectionTimeoutError", "APIUserAbortError"]

_Made = TypeVar("_Made")
_Other = TypeVar("_Other")


# --- Public API ---


class Turnkeep:
    """One agent of a Turnkeep service, with one API key.

    `timeout`: seconds for one whole attempt. `max_retries`: how often a call is repeated after a failure; waits for a running turn do not
    count. `max_wait`: seconds for all attempts and waits of a call (the system's look-up of a host name is not interrupted). Each call may
    override them. Raises ValueError for invalid values.
    """

    def __init__(
        self, *, base_url: str, agent_id: str, api_key: str, timeout: float = 120.0, max_retries: int = 10, max_wait: float = 300.0
    ) -> None:
        self._limits = _Limits(timeout, max_retries, max_wait)
        self._service = _Service(base_url, agent_id, api_key)
        self.conversations = Conversations(self._service, self._limits)
        self.turns = Turns(self._service, self._limits)

    @overload
    def chat(
        self, *, external_user_id: str, message: str, background: Literal[False] = False, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Reply": ...

    @overload
    def chat(
        self, *, external_user_id: str, message: str, background: bool, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Union[Reply, StartedTurn]": ...

    def chat(
        self, *, external_user_id: str, message: str, background: bool = False, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Union[Reply, StartedTurn]":
        """Sends one message and waits for the reply. Every error has its `idempotency_key`, with which the message can be sent again.

        `background`: returns a StartedTurn as soon as the turn has started; `turns.get` and `turns.stream` have its reply. If the key was
        sent before, the result is the Reply of its turn, which is waited for if it is still running.
        """
        limits = self._limits.but(timeout, max_retries, max_wait)
        call = _Call(self._service, limits, _checked_key(idempotency_key))
        body = _message_body(external_user_id, message)
        if not background:
            return call.fetch("POST", "/chat", lambda data: _record(data, Reply), body)
        return call.fetch("POST", "/chat", lambda data: _record(data, Reply), body, {"Prefer": "respond-async"}, _started)

    def stream(
        self, *, external_user_id: str, message: str, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Stream":
        """As `chat`, but streamed. Nothing is sent, and no timeout starts, before the stream is read.

        A stream that breaks is continued where it broke, or finished with the same key.
        """
        limits = self._limits.but(timeout, max_retries, max_wait)
        return Stream(_Call(self._service, limits, _checked_key(idempotency_key)), _message_body(external_user_id, message))

    @property
    def rate_limit(self) -> Optional["RateLimit"]:
        """This key's rate limit, from the last response that contained it; None: unknown. Streams and most errors do not contain it."""
        return self._service.rate_limit

    def __repr__(self) -> str:
        return f"Turnkeep(base_url={self._service.base_url!r}, agent_id={self._service.agent_id!r})"


class Stream:
    """The events of one reply: one Created, then Delta and perhaps Reset, then one Completed, always last. A failure is raised.

    The deltas since the last Reset, or since the start, always add up to the reply. `with` closes the connection, and so does leaving the
    loop: nothing more is sent, and the turn continues. `turns.stream` with its request id, or a call with `idempotency_key`, returns its
    reply. `idempotency_key` is None for a stream of `turns.stream`. Any thread may call `close`.
    """

    def __init__(self, call: "_Call", body: Optional[bytes], request_id: Optional[str] = None, after: Optional[str] = None) -> None:
        self.idempotency_key = call.key
        self._call = call
        # None: the message was sent by someone else, so it cannot be sent again.
        self._body = body
        self._request_id = request_id
        # The position of what was shown in the text. None: no event has been read, or the last one had no id.
        self._last_id = after
        # The next attempt continues the turn instead of sending the message.
        self._continues = body is None
        self._events = self._read()
        self._reading = threading.Lock()
        self._created = after is not None
        self._reply: Optional[Reply] = None

    def __iter__(self) -> Iterator["StreamEvent"]:
        try:
            event = self._next()
            while event is not None:
                yield event
                event = self._next()
            self.completed()
        finally:
            self.close()

    def completed(self) -> "Reply":
        """Reads to the end and returns what `chat` returns. Raises the error of the stream."""
        while self._next() is not None:
            pass
        if self._reply is None:
            raise self._call.failure or self._call.closed()
        return self._reply

    def text(self) -> str:
        """Reads to the end and returns the whole text of the reply. Raises the error of the stream."""
        return self.completed().message.content

    def close(self) -> None:
        """Stops reading immediately; the turn continues. A read before the end of the stream raises APIUserAbortError."""
        self._call.stop()
        # A thread that is reading is woken by the stop and ends the events itself.
        if self._reading.acquire(blocking=False):
            try:
                self._events.close()
            finally:
                self._reading.release()

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> Optional["StreamEvent"]:
        with self._reading:
            return next(self._events, None)

    def _read(self) -> Generator["StreamEvent", None, None]:
        shown = _Shown(continues=self._last_id is not None)
        self._call.begin()
        while True:
            try:
                if not self._continues or not (yield from self._continue(shown)):
                    yield from self._send(shown)
                return
            except _TurnEnded as ended:
                self._call.fail(ended.failure)
            except _FailedByEvent as failed:
                self._call.wait_after(failed.failure)
            except TurnkeepError as error:
                self._call.wait_after(error)

    def _continue(self, shown: "_Shown") -> Generator["StreamEvent", None, bool]:
        """Returns False where the turn cannot be continued, so that its message must be sent again."""
        path = _turn_path(self._request_id, "/stream")
        headers = {} if self._last_id is None else {"Last-Event-ID": self._last_id}
        try:
            with self._call.request("GET", path, None, headers, also=204, idle=_STREAM_IDLE_SECONDS) as response:
                if response.status == 200:
                    yield from self._read_attempt(response, shown)
                    return True
            # 204: ended, and its last event was read: an error that a retry may resolve.
        except _FailedByEvent as failed:
            # Released: it runs again when its message is sent again. Or the process is being stopped, and the turn continues elsewhere.
            if _sent_again(failed.failure) == "never":
                raise
        except APIError as error:
            # 404: erased, or the server is older than this endpoint. 422: another version of it does not know the event.
            if self._body is None or error.status not in (404, 422):
                raise
        if self._body is None:
            self._read_end()
            return True
        self._continues = False
        return False

    def _send(self, shown: "_Shown") -> Iterator["StreamEvent"]:
        started = False
        try:
            with self._call.request("POST", "/chat/stream", self._body, idle=_STREAM_IDLE_SECONDS) as response:
                started = True
                yield from self._read_attempt(response, shown)
        except (TurnkeepError, _FailedByEvent) as error:
            runs = isinstance(error, APIError) and error.code == "idempotency_in_progress"
            self._continues = (started or runs) and self._request_id is not None and self._last_id is not None
            raise

    def _read_attempt(self, response: HTTPResponse, shown: "_Shown") -> Iterator["StreamEvent"]:
        """The events of one attempt that no earlier attempt has returned."""
        for name, data, event_id in _events_of(response):
            if name not in _EVENTS:
                continue
            self._last_id = event_id
            if name == "error":
                raise _FailedByEvent(_event_failure(data))
            yield from _with_id(self._take(name, data, shown), event_id)
            if self._reply is not None:
                return
        raise APIConnectionError("The stream ended before its last event.")

    def _take(self, name: str, data: object, shown: "_Shown") -> Iterator["StreamEvent"]:
        if name == "response.created":
            created = _record(data, Created)
            self._request_id = created.request_id
            yield from self._create(created)
            # Its text starts from the beginning, also if it was asked to continue: the turn has been run again.
            yield from shown.reset()
        elif name == "response.output_text.delta":
            yield from shown.say(_field(data, "delta", str))
        elif name == "response.output_text.reset":
            yield from shown.reset()
        else:
            last = _record(data, Completed)
            self._reply = Reply(last.request_id, last.conversation_id, last.message, last.usage)
            yield from self._create(Created(last.request_id, last.conversation_id))
            yield from shown.finish(last.message.content)
            yield last

    def _read_end(self) -> None:
        """How the turn ended, when its stream has nothing more to say."""
        with self._call.request("GET", _turn_path(self._request_id)) as response:
            turn = _turn(_json(response.read()))
        if turn.message is not None and turn.usage is not None:
            used = turn.usage
            usage = Usage(used.prompt_tokens, used.completion_tokens, used.total_tokens, used.charged_usd)
            self._reply = Reply(turn.request_id, turn.conversation_id, turn.message, usage)
        elif turn.error is not None:
            raise _TurnEnded(_failure_of(turn.error.code, turn.error.message, turn.request_id))
        else:
            raise APIConnectionError("The stream ended before its last event.")

    def _create(self, event: "Created") -> Iterator["Created"]:
        if not self._created:
            self._created = True
            yield event


class Turns:
    """The turns of this API key by their request ids or idempotency keys: their status, their streams, and how to cancel and rate them.

    Each method takes `timeout`, `max_retries` and `max_wait` as the client does, and raises NotFoundError for a turn that is unknown,
    erased, or of another API key.
    """

    def __init__(self, service: "_Service", limits: "_Limits") -> None:
        self._service = service
        self._limits = limits

    def get(
        self, request_id: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None
    ) -> "Turn":
        """The turn as it is now."""
        return self._call(timeout, max_retries, max_wait).fetch("GET", _turn_path(request_id), _turn)

    def find(
        self, idempotency_key: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None
    ) -> "Turn":
        """The turn of the message that was sent with this key, for a process that did not get its response.

        Raises NotFoundError if no message with this key has been accepted yet, if the turn was erased, and 24 hours after its end.
        """
        path = f"/turns?idempotency_key={quote(_checked_key(idempotency_key), safe='')}"
        return self._call(timeout, max_retries, max_wait).fetch("GET", path, _turn)

    def stream(
        self, request_id: str, *, after: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> Stream:
        """The events of a turn that runs or has ended: from the beginning, with all the text so far in one Delta, or after an event.

        `after`: the `id` of an event. Then there is no Created, and nothing after the last event of an ended turn, but `completed` still
        returns the reply. A stream that breaks is continued. Raises the error of a turn that ends without a reply; a released turn is not
        run again, because that needs its message. Raises ValueError if `after` cannot be an id.
        """
        _turn_path(request_id)
        if after is not None and not _is_event_id(after):
            raise ValueError("after must be the id of an event")
        return Stream(self._call(timeout, max_retries, max_wait), None, request_id, after)

    def cancel(
        self, request_id: str, *, timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None
    ) -> "Turn":
        """Requests the end of a running turn, and returns it as it is then: usually ended, or still running with `cancel_requested`.

        Has no effect on a turn that has ended, and can be repeated. Before any text, the turn ends as `cancelled`: its calls and streams
        raise ConflictError with the code `turn_cancelled`, and nothing is charged except finished tool calls that have a price. After text,
        the text so far becomes the reply: `message.incomplete` is True, and it is charged.
        """
        return self._call(timeout, max_retries, max_wait).fetch("POST", _turn_path(request_id, "/cancel"), _turn)

    def feedback(
        self, request_id: str, *, rating: Literal["up", "down"], comment: Optional[str] = None, tags: Sequence[str] = (),
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Feedback":
        """Stores what the end user thinks of the reply. The last one replaces those before it.

        `comment`: 1 to 2,000 characters; `tags`: up to 20 different ones, each with 1 to 64 characters. Raises ValidationError if they are
        longer, and if the turn is still running.
        """
        given: dict[str, object] = {"rating": rating, "tags": list(tags)}
        if comment is not None:
            given["comment"] = comment
        call = self._call(timeout, max_retries, max_wait)
        return call.fetch("POST", _turn_path(request_id, "/feedback"), _feedback, _json_body(given))

    def _call(self, timeout: Optional[float], max_retries: Optional[int], max_wait: Optional[float]) -> "_Call":
        return _Call(self._service, self._limits.but(timeout, max_retries, max_wait), None)


class Conversations:
    """The conversations of this API key, newest first. Each page is fetched when the loop reaches it, as a call with its own limits."""

    def __init__(self, service: "_Service", limits: "_Limits") -> None:
        self._service = service
        self._limits = limits

    def list(self, *, external_user_id: Optional[str] = None, limit: Optional[int] = None) -> Iterator["Conversation"]:
        """All of them, or that of one end user. `limit`: the page size, 1 to 100."""
        return self._pages("/conversations", {"external_user_id": external_user_id, "limit": limit}, Conversation)

    def messages(self, conversation_id: str, *, limit: Optional[int] = None) -> Iterator["Message"]:
        """All messages of a conversation. `limit`: the page size, 1 to 100. Raises NotFoundError for a conversation of another key."""
        return self._pages(f"/conversations/{_path_step('conversation_id', conversation_id)}/messages", {"limit": limit}, Message)

    def _pages(self, path: str, query: Mapping[str, object], kind: type[_Made]) -> Iterator[_Made]:
        cursor: Optional[str] = None
        while True:
            given = {name: value for name, value in {**query, "cursor": cursor}.items() if value is not None}
            target = f"{path}?{urlencode(given)}" if given else path
            items, cursor = _Call(self._service, self._limits, None).fetch("GET", target, lambda data: _page(data, kind))
            yield from items
            if cursor is None:
                return


# --- Responses ---


@dataclass(frozen=True)
class AssistantMessage:
    id: str
    role: str
    content: str
    created_at: str  # ISO 8601, UTC, as of all times here.
    incomplete: bool = False  # The content ends before its end: at the token limit, by a content filter, or by a cancel.

@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    charged_usd: str  # A decimal with 8 places: Decimal(charged_usd) is exact, a float is not.

@dataclass(frozen=True)
class PromptTokensDetails:
    cached_tokens: int  # Read from the cache of the provider.
    cache_write_tokens: int

@dataclass(frozen=True)
class CompletionTokensDetails:
    reasoning_tokens: int

@dataclass(frozen=True)
class TurnUsage(Usage):
    """The usage of a turn in detail. The details are parts of the totals."""

    prompt_tokens_details: PromptTokensDetails
    completion_tokens_details: CompletionTokensDetails
    tool_calls_usd: str  # The price of the finished tool calls, part of `charged_usd`.

@dataclass(frozen=True)
class Reply:
    request_id: str
    conversation_id: str
    message: AssistantMessage
    usage: Usage

# `id` of an event names the position in the text of the turn after it: `turns.stream(request_id, after=id)` continues there. Events from
# older servers, and some that this client creates, have None.

@dataclass(frozen=True)
class Created:
    request_id: str
    conversation_id: str
    type: Literal["response.created"] = "response.created"
    id: Optional[str] = None

@dataclass(frozen=True)
class Delta:
    delta: str
    type: Literal["response.output_text.delta"] = "response.output_text.delta"
    id: Optional[str] = None

@dataclass(frozen=True)
class Reset:
    """Discard the text so far: the turn was run again and the text differs; it follows from its beginning."""

    type: Literal["response.output_text.reset"] = "response.output_text.reset"
    id: Optional[str] = None

@dataclass(frozen=True)
class Completed:
    request_id: str
    conversation_id: str
    message: AssistantMessage
    usage: Usage
    type: Literal["response.completed"] = "response.completed"
    id: Optional[str] = None


StreamEvent = Union[Created, Delta, Reset, Completed]


@dataclass(frozen=True)
class StartedTurn:
    """A turn that runs in the background."""

    request_id: str
    conversation_id: str
    status: Literal["running"] = "running"

@dataclass(frozen=True)
class TurnFailure:
    code: str
    message: str

@dataclass(frozen=True)
class Turn:
    """A message on its way to its reply. `message` and `usage` exist if `status` is `completed`, and are None otherwise.

    A cancelled turn that was charged for finished tool calls has `usage`, too.
    """

    request_id: str
    conversation_id: str
    external_user_id: str
    status: str  # running, completed, failed, released (the same message with the same key runs it again) or cancelled
    created_at: str
    ended_at: Optional[str]  # None while it is running.
    message: Optional[AssistantMessage]
    usage: Optional[TurnUsage]
    error: Optional[TurnFailure]
    cancel_requested: bool
    # stop, length, refused or filtered; None without a reply, of a cancelled one, and from a server that does not know.
    finish_reason: Optional[str] = None

@dataclass(frozen=True)
class Feedback:
    request_id: str
    rating: str  # up or down
    comment: Optional[str]
    tags: list[str]
    created_at: str
    updated_at: str

@dataclass(frozen=True)
class Conversation:
    conversation_id: str
    external_user_id: str
    created_at: str
    last_message_at: str
    message_count: int

@dataclass(frozen=True)
class Message:
    id: str
    role: str  # user or assistant
    content: str
    created_at: str
    request_id: str
    incomplete: bool = False  # Of a reply, as in AssistantMessage.

@dataclass(frozen=True)
class RateLimit:
    """Requests per window, how many are left, and when the window ends."""

    limit: int
    remaining: int
    reset_at: datetime

@dataclass(frozen=True)
class WebhookEvent:
    """What `verify_webhook` returns. `id` is the same for every attempt to deliver this event: handle each id once."""

    id: str
    type: str  # such as turn.completed
    timestamp: str
    data: dict[str, Any]


# --- Errors ---


class TurnkeepError(Exception):
    """The base class of errors. With `idempotency_key` the same message can be sent again, from anywhere; None for a list."""

    idempotency_key: Optional[str] = None

class APIError(TurnkeepError):
    """The service refused the call, or a proxy did: then `code` is None. `retry_after`: seconds, from the response."""

    code: Optional[str] = None
    status: int = 500
    request_id: Optional[str] = None
    retry_after: Optional[float] = None

class BadRequestError(APIError):
    """400"""

class AuthenticationError(APIError):
    """401"""

class InsufficientBalanceError(APIError):
    """402; nothing was charged."""

class SpendLimitError(APIError):
    """402 `spend_limit_exceeded`. `retry_after`: seconds to the end of the window, None if it never ends."""

class PermissionDeniedError(APIError):
    """403"""

class NotFoundError(APIError):
    """404"""

class ConflictError(APIError):
    """409; `idempotency_in_progress` and `conversation_busy` only if `max_wait` would end before the turn."""

class ValidationError(APIError):
    """422"""

class RateLimitError(APIError):
    """429"""

class InternalServerError(APIError):
    """500, and other statuses from 501 on, from a proxy"""

class ServiceUnavailableError(APIError):
    """503. The turn may still complete: a call with the same key returns its reply."""

class APIConnectionError(TurnkeepError):
    """There was no response of the service: the connection failed, or the response was not from it. The turn may have run."""

class APIConnectionTimeoutError(APIConnectionError):
    """There was no response in time. The turn may have run."""

class WebhookVerificationError(TurnkeepError):
    """The request did not come from the service, or was changed or sent again later. Answer it with 400."""

class APIUserAbortError(TurnkeepError):
    """The stream was closed while it was read. The turn may continue."""


# --- Webhooks ---


def verify_webhook(
    body: Union[bytes, str], headers: Mapping[str, str], secrets: Union[str, Sequence[str]], *, tolerance_seconds: float = 300
) -> WebhookEvent:
    """The event of a request to a webhook, if one of its signatures is of one of the secrets. Needs no client and no API key.

    `body`: as it was received, before any parsing. `tolerance_seconds`: how old, and how far ahead of this machine's clock, a request may be.
    Raises WebhookVerificationError, and ValueError for a secret that is not one.
    """
    keys = [_webhook_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise ValueError("a webhook is verified with at least one secret")
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (_webhook_header(given, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature"))
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise WebhookVerificationError("The header webhook-timestamp is not a time.")
    age = time.time() - int(timestamp)
    if age > tolerance_seconds:
        raise WebhookVerificationError("The webhook is too old: it may have been sent again by someone else.")
    if age < -tolerance_seconds:
        raise WebhookVerificationError("The webhook is from the future: compare the clocks.")
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{event_id}.{timestamp}.".encode() + content
    found = False
    for key in keys:
        expected = b"v1," + base64.b64encode(hmac.new(key, signed, "sha256").digest())
        for signature in signatures.split(" ")[:20]:
            # All are compared, whichever fits.
            found |= hmac.compare_digest(expected, signature.encode())
    if not found:
        raise WebhookVerificationError("No signature of the webhook is of this secret.")
    event = json.loads(content)
    return WebhookEvent(event_id, event["type"], event["timestamp"], event["data"])


def _webhook_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[6:], validate=True) if secret.startswith("whsec_") else b""
    except binascii.Error:
        key = b""
    if not key:
        raise ValueError("the secret of a webhook starts with whsec_, followed by base64")
    return key


def _webhook_header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookVerificationError(f"The header {name} is missing.")
    return value


# --- Failures ---


_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: InsufficientBalanceError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    422: ValidationError,
    429: RateLimitError,
    503: ServiceUnavailableError,
}

# The status for the code of an `error` event, which follows a 200. Any other code is a 500.
_CODES_OF_STATUS = {
    401: "invalid_api_key",
    402: "insufficient_balance spend_limit_exceeded",
    403: "agent_mismatch permission_denied agent_disabled",
    404: "agent_not_found not_found",
    409: "idempotency_conflict idempotency_in_progress conversation_busy turn_cancelled",
    422: "validation_error",
    429: "rate_limit_exceeded",
    503: "api_rate_limit_unavailable service_unavailable",
}
_STATUS_OF_CODE = {code: status for status, codes in _CODES_OF_STATUS.items() for code in codes.split()}


class _FailedByEvent(Exception):
    """The turn failed with an event of its stream."""

    def __init__(self, failure: APIError) -> None:
        super().__init__()
        self.failure = failure


class _TurnEnded(_FailedByEvent):
    """The turn has ended without a reply, and the call must not be repeated."""


def _api_error(message: str, status: int, code: Optional[str], request_id: Optional[str], retry_after: Optional[float]) -> APIError:
    by_status = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIError)
    error = (SpendLimitError if code == "spend_limit_exceeded" else by_status)(message)
    error.status, error.code, error.request_id, error.retry_after = status, code, request_id, retry_after
    return error


# --- Retries ---

# A turn is running, this one or another of the same user: nothing has failed.
_TURN_RUNS = ("conversation_busy", "idempotency_in_progress")
_PASSES = ("service_unavailable", "api_rate_limit_unavailable", "rate_limit_exceeded")

_FIRST_WAIT_SECONDS = 0.5
# Long enough for a restart, short enough for a person who waits.
_LONGEST_WAIT_SECONDS = 8.0
_LONGEST_JITTER_SECONDS = 1.0
# The service sends at least a comment every 15 s, so three missing ones are not a coincidence.
_STREAM_IDLE_SECONDS = 45.0
# As long as the attempt, because a socket accepts no infinite timeout.
_ANSWER_IDLE_SECONDS = 86_400.0
# More than a socket buffers, so that data that arrived in time is read, but an endless sender is not.
_LATE_BYTES = 2**23

# Replaced by tests.
_now = time.monotonic
_random = random.random


def _sleep(seconds: float, stopped: threading.Event) -> None:
    """Ends early if `stopped` is set."""
    end = _now() + seconds
    # One second at a time, because Ctrl-C does not interrupt a wait on Windows.
    while _now() < end and not stopped.wait(min(1.0, max(0.0, end - _now()))):
        pass


def _sent_again(error: TurnkeepError) -> Literal["never", "fails", "runs"]:
    """`fails` counts against max_retries; `runs` waits for a running turn, limited only by max_wait."""
    if isinstance(error, APIError):
        if error.code is not None:
            return "runs" if error.code in _TURN_RUNS else "fails" if error.code in _PASSES else "never"
        # Without a code it is the response of a proxy, which knows nothing about the turn.
        return "fails" if error.status >= 500 or error.status in (408, 429) else "never"
    # A certificate does not become valid by repeating.
    hopeless = not isinstance(error, APIConnectionError) or isinstance(error.__cause__, ssl.SSLCertVerificationError)
    return "never" if hopeless else "fails"


def _wait_seconds(error: TurnkeepError, sent: int) -> float:
    """The wait before the next attempt; `sent`: attempts before the failed one. At least Retry-After, of which zero is ignored."""
    retry_after = error.retry_after if isinstance(error, APIError) else None
    if retry_after:
        return retry_after + _random() * min(_LONGEST_JITTER_SECONDS, retry_after * 0.2)
    return min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** min(sent, 10)) * (1 - _random() / 2)


@dataclass(frozen=True)
class _Limits:
    timeout: float
    max_retries: int
    max_wait: float

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.max_wait > 0 and self.max_retries >= 0):
            raise ValueError("timeout and max_wait must be more than 0 seconds, max_retries 0 or more")

    def but(self, timeout: Optional[float], max_retries: Optional[int], max_wait: Optional[float]) -> "_Limits":
        return _Limits(
            self.timeout if timeout is None else timeout,
            self.max_retries if max_retries is None else max_retries,
            self.max_wait if max_wait is None else max_wait,
        )


class _Call:
    """One logical call: one key, one time limit, attempts one after the other. `stop` may be called by another thread."""

    def __init__(self, service: "_Service", limits: _Limits, key: Optional[str]) -> None:
        self.key = key
        self._service = service
        self._limits = limits
        self._stopped = threading.Event()
        self._wire: Optional[_Wire] = None
        self.failure: Optional[TurnkeepError] = None
        self.begin()

    def begin(self) -> None:
        self._end = _now() + self._limits.max_wait
        self._sent = 0
        self._failures = 0

    def fetch(
        self, method: str, path: str, parse: "Callable[[object], _Made]", body: Optional[bytes] = None,
        headers: Optional[Mapping[str, str]] = None, parse_accepted: "Optional[Callable[[object], _Other]]" = None,
    ) -> "Union[_Made, _Other]":
        """The content of a JSON response, after as many attempts as necessary. `parse_accepted`: for the status 202."""
        while True:
            try:
                with self.request(method, path, body, headers, also=202 if parse_accepted else 200) as response:
                    data = _json(response.read())
                    return parse_accepted(data) if parse_accepted and response.status == 202 else parse(data)
            except TurnkeepError as error:
                self.wait_after(error)

    @contextlib.contextmanager
    def request(
        self, method: str, path: str, body: Optional[bytes] = None, headers: Optional[Mapping[str, str]] = None, also: int = 200,
        idle: float = _ANSWER_IDLE_SECONDS,
    ) -> Iterator[HTTPResponse]:
        """One attempt: a response with status 200 or `also` and an unread body. Raises TurnkeepError for others, and for a broken body."""
        wire = self._wire = _Wire(min(_now() + self._limits.timeout, self._end), idle)
        if self._stopped.is_set():
            wire.cut()
        try:
            yield self._service.send(wire, method, path, {**self._headers(method), **(headers or {})}, body, also)
        except (socket.timeout, TimeoutError) as error:
            raise APIConnectionTimeoutError(f"{self._service.base_url} took too long to answer.") from error
        except (OSError, HTTPException) as error:
            raise APIConnectionError(f"The connection to {self._service.base_url} failed: {error or type(error).__name__}") from error
        finally:
            wire.hang_up()

    def _headers(self, method: str) -> dict[str, Any]:
        # Only a message has a key. http.client would encode text as latin-1; the service expects UTF-8.
        return {} if self.key is None or method != "POST" else {"Idempotency-Key": self.key.encode()}

    def wait_after(self, error: TurnkeepError) -> None:
        """Returns when the next attempt is due; raises if there is no next attempt."""
        again = _sent_again(error)
        seconds = _wait_seconds(error, self._sent)
        self._sent += 1
        self._failures += again == "fails"
        last = again == "never" or self._failures > self._limits.max_retries or _now() + seconds >= self._end
        if not last:
            _sleep(seconds, self._stopped)
        if last or self._stopped.is_set():
            self.fail(self.closed() if self._stopped.is_set() else error, error.__cause__)

    def fail(self, error: TurnkeepError, cause: Optional[BaseException] = None) -> NoReturn:
        """Ends the call with this error."""
        self.failure = error
        error.idempotency_key = self.key
        raise error from cause

    def closed(self) -> APIUserAbortError:
        error = APIUserAbortError("The stream was closed before its end.")
        error.idempotency_key = self.key
        return error

    def stop(self) -> None:
        self._stopped.set()
        if self._wire is not None:
            self._wire.cut()


# --- One request on its own connection ---


class _Service:
    """The URL, the API key, and the rate limit from responses."""

    def __init__(self, base_url: str, agent_id: str, api_key: str) -> None:
        self._tls, self._host, self._port, self._host_header, path = _address(base_url)
        # Often read from a file, including its line break.
        self._api_key = api_key.strip()
        if not re.fullmatch(r"[\x21-\x7e]+", self._api_key):
            raise ValueError("api_key is empty, or has characters that no API key has")
        self.base_url = base_url
        self.agent_id = agent_id
        self.rate_limit: Optional[RateLimit] = None
        self._path = f"{path}/v1/agents/{_path_step('agent_id', agent_id)}"

    def send(
        self, wire: "_Wire", method: str, path: str, headers: Mapping[str, Any], body: Optional[bytes], also: int
    ) -> HTTPResponse:
        """A response with status 200 or `also`; raises APIError for any other."""
        http = HTTPConnection(self._host, self._port)
        http.sock = wire
        wire.connect(self._host, self._port, self._tls)
        # A refusal may arrive before the whole body was sent; then the refusal counts.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            http.request(method, self._path + path, body, {**self._headers(body), **headers})
        response = http.getresponse()
        self.rate_limit = _rate_limit(response) or self.rate_limit
        if response.status not in (200, also):
            raise _refusal(response)
        return response

    def _headers(self, body: Optional[bytes]) -> dict[str, Any]:
        headers: dict[str, Any] = {"Host": self._host_header, "Authorization": f"Bearer {self._api_key}", "Connection": "close"}
        headers["User-Agent"] = f"turnkeep-client/{__version__} (python)"
        if body is not None:
            headers["Content-Type"] = "application/json"
        return headers


def _address(base_url: str) -> tuple[Optional[ssl.SSLContext], str, int, str, str]:
    """TLS, host, port, Host header and path of a base URL. Raises ValueError."""
    url = urlsplit(base_url)
    odd = re.search(r"[\x00-\x20\x7f?#@]", base_url) or re.search(r"[^\x21-\x7e]", url.path)
    if odd or url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("base_url must be like https://turnkeep.example.com, without user, query and fragment")
    host = url.hostname.encode("idna").decode()
    header = f"[{host}]" if ":" in host else host
    if url.port is not None:
        header += f":{url.port}"
    secure = url.scheme == "https"
    return ssl.create_default_context() if secure else None, host, url.port or (443 if secure else 80), header, url.path.rstrip("/")


class _Wire:
    """A connection with a deadline and a limit of `idle` seconds of silence; the part of a socket that HTTPConnection needs.

    A socket's own timeout restarts with each byte, so it is set to the remaining time before each read and write.
    """

    def __init__(self, end: float, idle: float) -> None:
        self._end = end
        self._idle = idle
        self._late_bytes = 0
        self._socket: Optional[socket.socket] = None
        self._cut = False

    def connect(self, host: str, port: int, tls: Optional[ssl.SSLContext]) -> None:
        """Connects to the first address that accepts. Each gets a share of the time, so that a silent one leaves some for the others."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for left, (family, kind, protocol, _, address) in zip(range(len(addresses), 0, -1), addresses):
            try:
                self._take(socket.socket(family, kind, protocol))
                self._timed(left).connect(address)
                break
            except OSError:
                self.hang_up()
                if left == 1:
                    raise
        connection = self._timed()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self._take(tls.wrap_socket(connection, server_hostname=host))

    def _take(self, connection: socket.socket) -> None:
        self._socket = connection
        # Stopped before the socket existed.
        if self._cut:
            raise ConnectionAbortedError("cut")

    def _timed(self, shares: int = 1, late: bool = False) -> socket.socket:
        """`late`: if no time is left, the socket does not wait."""
        seconds = max(0.0, min(self._end - _now(), self._idle) / shares)
        if seconds == 0 and not late:
            raise socket.timeout("timed out")
        if self._socket is None:
            raise ConnectionAbortedError("hung up")
        self._socket.settimeout(seconds)
        return self._socket

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._timed().send(rest) :]

    def receive_into(self, buffer: Any) -> int:
        """Data that has already arrived is also read after the deadline: the reader was slow, not the sender."""
        connection = self._timed(late=self._late_bytes < _LATE_BYTES)
        try:
            count = connection.recv_into(buffer)
        except (BlockingIOError, ssl.SSLWantReadError):
            raise socket.timeout("timed out") from None
        if connection.gettimeout() == 0:
            self._late_bytes += count
        return count

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self))

    def close(self) -> None:
        """Not yet: HTTPConnection closes after the head of a response, and the body is still to be read."""

    def hang_up(self) -> None:
        connection, self._socket = self._socket, None
        if connection is not None:
            connection.close()

    def cut(self) -> None:
        """From another thread: interrupts a read, which closing does not. Not SSLSocket's own shutdown, which breaks that read."""
        self._cut = True
        connection = self._socket
        if connection is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Reader(io.RawIOBase):
    def __init__(self, wire: _Wire) -> None:
        super().__init__()
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._wire.receive_into(buffer)


# --- Requests and responses ---


def _checked_key(given: Optional[str]) -> str:
    """Raises ValueError for a key that the service would refuse or that a header cannot contain."""
    key = str(uuid.uuid4()) if given is None else given
    if not 1 <= len(key) <= 255 or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in key):
        raise ValueError("idempotency_key must have 1 to 255 characters, and no control characters")
    # HTTP removes spaces from both ends of a header, so two keys could become one. A tab is a control character.
    if key != key.strip(" "):
        raise ValueError("idempotency_key must not begin or end with a blank")
    return key


def _path_step(name: str, value: str) -> str:
    """Raises ValueError for a text that would lead to another path."""
    if value in ("", ".", ".."):
        raise ValueError(f"{name} must not be {value!r}")
    return quote(value, safe="")


def _turn_path(request_id: Optional[str], below: str = "") -> str:
    return f"/turns/{_path_step('request_id', request_id or '')}{below}"


def _is_event_id(text: str) -> bool:
    """What a header can carry. The id of an event with other characters is not used to continue a stream."""
    return re.fullmatch(r"[\x21-\x7e]+", text) is not None


def _message_body(external_user_id: str, message: str) -> bytes:
    return _json_body({"external_user_id": external_user_id, "message": message})


def _json_body(given: Mapping[str, object]) -> bytes:
    # A lone surrogate is sent as it is; the service refuses it with an explanation.
    return json.dumps(given, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _refusal(response: HTTPResponse) -> APIError:
    status = response.status
    if 300 <= status < 400:
        words = "A redirect came, which is not followed with an API key. Set base_url to where it leads."
        return _api_error(words, status, None, None, None)
    retry_after = _retry_after(response.getheader("Retry-After"))
    try:
        return _failure(_field(_json(response.read()), "error", dict), status, retry_after)
    except APIConnectionError:
        words = f"{status}, and not by the service: is base_url right, or is a proxy in between?"
        return _api_error(words, status, None, response.getheader("X-Request-ID"), retry_after)


def _event_failure(data: object) -> APIError:
    return _failure_of(_field(data, "code", str), _field(data, "message", str), _field(data, "request_id", str))


def _failure_of(code: str, message: str, request_id: str) -> APIError:
    status = _STATUS_OF_CODE.get(code, 500)
    return _api_error(f"{status} {code}: {message}", status, code, request_id, None)


def _failure(data: object, status: int, retry_after: Optional[float]) -> APIError:
    code, request_id = _field(data, "code", str), _field(data, "request_id", str)
    return _api_error(f"{status} {code}: {_field(data, 'message', str)}", status, code, request_id, retry_after)


def _retry_after(header: Optional[str]) -> Optional[float]:
    """Seconds, from a number or from a date, which a proxy may send."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def _rate_limit(response: HTTPResponse) -> Optional[RateLimit]:
    limit, remaining, reset = (response.getheader(f"X-RateLimit-{name}") or "" for name in ("Limit", "Remaining", "Reset"))
    try:
        return RateLimit(int(limit), int(remaining), datetime.fromtimestamp(int(reset), timezone.utc))
    except (ValueError, OverflowError, OSError):
        return None


def _not_ours() -> APIConnectionError:
    return APIConnectionError("An answer came that is not the service's: is base_url right, or is a proxy in between?")


def _json(text: Union[str, bytes]) -> object:
    try:
        return json.loads(text)
    # JSON that is nested too deeply raises RecursionError.
    except (ValueError, RecursionError):
        raise _not_ours() from None


def _field(data: object, name: str, kind: type[_Made]) -> _Made:
    value = data.get(name) if isinstance(data, dict) else None
    if not isinstance(value, kind):
        raise _not_ours()
    return value


def _record(data: object, kind: type[_Made]) -> _Made:
    """A dataclass from the fields with the same names. Others are ignored, because a newer service may send more."""
    made: dict[str, object] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        if is_dataclass(field.type):
            made[field.name] = _record(_field(data, field.name, dict), field.type)  # type: ignore[arg-type]
        elif field.default is MISSING:
            made[field.name] = _field(data, field.name, field.type)  # type: ignore[arg-type]
        elif field.name == "incomplete":
            made[field.name] = isinstance(data, dict) and data.get(field.name) is True
    return kind(**made)


def _started(data: object) -> StartedTurn:
    if _field(data, "status", str) != "running":
        raise _not_ours()
    return _record(data, StartedTurn)


def _turn(data: object) -> Turn:
    status = _field(data, "status", str)
    error = _nullable(data, "error", dict)
    return Turn(
        request_id=_field(data, "request_id", str),
        conversation_id=_field(data, "conversation_id", str),
        external_user_id=_field(data, "external_user_id", str),
        status=status,
        created_at=_field(data, "created_at", str),
        ended_at=_nullable(data, "ended_at", str),
        message=_record(_field(data, "message", dict), AssistantMessage) if status == "completed" else None,
        usage=_turn_usage(data, status),
        error=None if error is None else _record(error, TurnFailure),
        cancel_requested=_field(data, "cancel_requested", bool),
        finish_reason=_nullable({"finish_reason": None, **data}, "finish_reason", str),
    )


def _turn_usage(data: object, status: str) -> Optional[TurnUsage]:
    if status == "completed":
        return _record(_field(data, "usage", dict), TurnUsage)
    usage = _nullable(data, "usage", dict) if status == "cancelled" else None
    return None if usage is None else _record(usage, TurnUsage)


def _feedback(data: object) -> Feedback:
    tags = _field(data, "tags", list)
    if not all(isinstance(tag, str) for tag in tags):
        raise _not_ours()
    request_id, rating, created_at, updated_at = (_field(data, name, str) for name in ("request_id", "rating", "created_at", "updated_at"))
    return Feedback(request_id, rating, _nullable(data, "comment", str), tags, created_at, updated_at)


def _nullable(data: object, name: str, kind: type[_Made]) -> Optional[_Made]:
    """None if the field is null. The field must exist."""
    is_null = isinstance(data, dict) and name in data and data[name] is None
    return None if is_null else _field(data, name, kind)


def _page(data: object, kind: type[_Made]) -> tuple[list[_Made], Optional[str]]:
    cursor = data.get("next_cursor") if isinstance(data, dict) else None
    return [_record(item, kind) for item in _field(data, "data", list)], cursor if isinstance(cursor, str) else None


# --- Streams ---


# Others are of a newer service, and are ignored.
_EVENTS = ("response.created", "response.output_text.delta", "response.output_text.reset", "response.completed", "error")


class _Shown:
    """Compares the text that a stream has returned since its last Reset with the text of an attempt.

    `continues`: the reader has already a text before the first event, which is not known here.
    """

    def __init__(self, continues: bool = False) -> None:
        self._continues = continues
        self._text = ""
        # The text of the attempt so far.
        self._said = ""

    def say(self, delta: str) -> Iterator[Union[Delta, Reset]]:
        """While the text of the attempt is a prefix of what was shown, it may still become the same text."""
        self._said += delta
        if not self._text.startswith(self._said):
            yield from self._show(self._said)

    def reset(self) -> Iterator[Union[Delta, Reset]]:
        """The text starts from the beginning. The reader gets a Reset only if it differs, which an unknown text cannot be compared with."""
        self._said = ""
        if self._continues:
            self._continues = False
            self._text = ""
            yield Reset()

    def finish(self, content: str) -> Iterator[Union[Delta, Reset]]:
        """Call with the whole text of the attempt."""
        if not self._continues or not content.endswith(self._text):
            yield from self._show(content)

    def _show(self, text: str) -> Iterator[Union[Delta, Reset]]:
        if not text.startswith(self._text):
            self._text = ""
            yield Reset()
        rest = text[len(self._text) :]
        self._text = text
        if rest:
            yield Delta(rest)


def _with_id(events: "Iterator[StreamEvent]", event_id: Optional[str]) -> "Iterator[StreamEvent]":
    """The last of the events gets the id."""
    all_events = list(events)
    yield from all_events[:-1]
    for last in all_events[-1:]:
        yield replace(last, id=event_id)


def _events_of(response: HTTPResponse) -> Iterator[tuple[str, object, Optional[str]]]:
    """Yields name, data and id of each event when it is complete. Raises APIConnectionError for anything but an event stream."""
    if response.headers.get_content_type() != "text/event-stream":
        raise _not_ours()
    parser = _EventParser()
    piece = response.read1(65_536)
    while piece:
        for name, data, event_id in parser.feed(piece):
            yield name, _json(data), event_id if _is_event_id(event_id) else None
        piece = response.read1(65_536)


class _EventParser:
    """Parses bytes of an event stream in any chunking to names, data and ids. An incomplete event is kept.

    An id belongs only to the event that contains it, so that an event without one is not mistaken for the one before it.
    """

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []
        self._after_cr = False
        self._name = ""
        self._id = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, str, str]]:
        text = self._decoder.decode(piece)
        if not text:
            return
        # A CR ends its line, whether or not a LF follows.
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
        self._after_cr = text.endswith("\r")
        *lines, rest = re.split("\r\n|\r|\n", text)
        for line in lines:
            event = self._take("".join([*self._line, line]))
            self._line = []
            if event is not None:
                yield event
        self._line.append(rest)

    def _take(self, line: str) -> Optional[tuple[str, str, str]]:
        if line == "":
            name, data, event_id, self._name, self._data, self._id = self._name, self._data, self._id, "", [], ""
            return (name or "message", "\n".join(data), event_id) if data else None
        # A comment has nothing before the colon.
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value
        return None
