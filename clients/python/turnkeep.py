"""Client for the Turnkeep API: one module without dependencies, for Python 3.9 or newer.

    client = Turnkeep(base_url="http://127.0.0.1:8080", agent_id=AGENT_ID, api_key=API_KEY)
    reply = client.chat(external_user_id="ann", message="Hello")

It does the caller's part of "answered once": it keeps one Idempotency-Key for all attempts at a call, decides what is sent again and when,
and completes a broken stream with the same key. It does not follow redirects, use proxies from the environment or reveal the API key. A
client holds no connection and may be used from many threads.
"""

import contextlib
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
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Callable, Generator, Iterator, Literal, Mapping, Optional, TypeVar, Union
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.1.0"
__all__ = ["Turnkeep", "Stream", "Conversations", "Reply", "AssistantMessage", "Usage", "Conversation", "Message", "RateLimit"]
__all__ += ["Created", "Delta", "Reset", "Completed", "StreamEvent", "TurnkeepError", "APIError", "BadRequestError", "AuthenticationError"]
__all__ += ["InsufficientBalanceError", "PermissionDeniedError", "NotFoundError", "ConflictError", "ValidationError", "RateLimitError"]
__all__ += ["InternalServerError", "ServiceUnavailableError", "APIConnectionError", "APIConnectionTimeoutError", "APIUserAbortError"]

_Made = TypeVar("_Made")


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

    def chat(
        self, *, external_user_id: str, message: str, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Reply":
        """Sends one message and waits for the reply. Every error has its `idempotency_key`, with which the message can be sent again."""
        limits = self._limits.but(timeout, max_retries, max_wait)
        call = _Call(self._service, limits, _checked_key(idempotency_key))
        return call.fetch("POST", "/chat", lambda data: _record(data, Reply), _message_body(external_user_id, message))

    def stream(
        self, *, external_user_id: str, message: str, idempotency_key: Optional[str] = None,
        timeout: Optional[float] = None, max_retries: Optional[int] = None, max_wait: Optional[float] = None,
    ) -> "Stream":
        """As `chat`, but streamed. Nothing is sent, and no timeout starts, before the stream is read."""
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
    loop: nothing more is sent, the turn continues, and a call with `idempotency_key` returns its reply. Any thread may call `close`.
    """

    def __init__(self, call: "_Call", body: bytes) -> None:
        self.idempotency_key = str(call.key)
        self._call = call
        self._body = body
        self._events = self._read()
        self._reading = threading.Lock()
        self._created = False
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
        shown = _Shown()
        self._call.begin()
        while True:
            try:
                with self._call.request("POST", "/chat/stream", self._body, idle=_STREAM_IDLE_SECONDS) as response:
                    yield from self._read_attempt(response, shown)
                return
            except TurnkeepError as error:
                self._call.wait_after(error)

    def _read_attempt(self, response: HTTPResponse, shown: "_Shown") -> Iterator["StreamEvent"]:
        """The events of one attempt that no earlier attempt has returned."""
        said = ""
        for name, data in _events_of(response):
            if name == "response.created":
                yield from self._create(_record(data, Created))
            elif name == "response.output_text.delta":
                said += _field(data, "delta", str)
                yield from shown.follow(said)
            elif name == "response.completed":
                last = _record(data, Completed)
                self._reply = Reply(last.request_id, last.conversation_id, last.message, last.usage)
                yield from self._create(Created(last.request_id, last.conversation_id))
                yield from shown.finish(last.message.content)
                yield last
                return
            elif name == "error":
                raise _event_failure(data)
        raise APIConnectionError("The stream ended before its last event.")

    def _create(self, event: "Created") -> Iterator["Created"]:
        if not self._created:
            self._created = True
            yield event


class Conversations:
    """The conversations of this API key, newest first. Each page is fetched when the loop reaches it, as a call with its own limits."""

    def __init__(self, service: "_Service", limits: "_Limits") -> None:
        self._service = service
        self._limits = limits

    def list(self, *, external_user_id: Optional[str] = None, limit: Optional[int] = None) -> Iterator["Conversation"]:
        """All of them, or that of one external user. `limit`: the page size, 1 to 100."""
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

@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    charged_usd: str  # A decimal with 8 places: Decimal(charged_usd) is exact, a float is not.

@dataclass(frozen=True)
class Reply:
    request_id: str
    conversation_id: str
    message: AssistantMessage
    usage: Usage

@dataclass(frozen=True)
class Created:
    request_id: str
    conversation_id: str
    type: Literal["response.created"] = "response.created"

@dataclass(frozen=True)
class Delta:
    delta: str
    type: Literal["response.output_text.delta"] = "response.output_text.delta"

@dataclass(frozen=True)
class Reset:
    """Discard the text so far: the turn was run again and the text differs; it follows from its beginning. Created by this client."""

    type: Literal["response.output_text.reset"] = "response.output_text.reset"

@dataclass(frozen=True)
class Completed:
    request_id: str
    conversation_id: str
    message: AssistantMessage
    usage: Usage
    type: Literal["response.completed"] = "response.completed"


StreamEvent = Union[Created, Delta, Reset, Completed]


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

@dataclass(frozen=True)
class RateLimit:
    """Requests per window, how many are left, and when the window ends."""

    limit: int
    remaining: int
    reset_at: datetime


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

class APIUserAbortError(TurnkeepError):
    """The stream was closed while it was read. The turn may continue."""


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
    402: "insufficient_balance",
    403: "agent_mismatch permission_denied agent_disabled",
    404: "agent_not_found not_found",
    409: "idempotency_conflict idempotency_in_progress conversation_busy",
    422: "validation_error",
    429: "rate_limit_exceeded",
    503: "api_rate_limit_unavailable service_unavailable",
}
_STATUS_OF_CODE = {code: status for status, codes in _CODES_OF_STATUS.items() for code in codes.split()}


def _api_error(message: str, status: int, code: Optional[str], request_id: Optional[str], retry_after: Optional[float]) -> APIError:
    error = _BY_STATUS.get(status, InternalServerError if status >= 500 else APIError)(message)
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

    def fetch(self, method: str, path: str, parse: "Callable[[object], _Made]", body: Optional[bytes] = None) -> _Made:
        """The content of a JSON response, after as many attempts as necessary."""
        while True:
            try:
                with self.request(method, path, body) as response:
                    return parse(_json(response.read()))
            except TurnkeepError as error:
                self.wait_after(error)

    @contextlib.contextmanager
    def request(self, method: str, path: str, body: Optional[bytes] = None, idle: float = _ANSWER_IDLE_SECONDS) -> Iterator[HTTPResponse]:
        """One attempt: a 200 response with an unread body. Raises TurnkeepError for other responses, and for a broken body."""
        wire = self._wire = _Wire(min(_now() + self._limits.timeout, self._end), idle)
        if self._stopped.is_set():
            wire.cut()
        try:
            yield self._service.send(wire, method, path, self.key, body)
        except (socket.timeout, TimeoutError) as error:
            raise APIConnectionTimeoutError(f"{self._service.base_url} took too long to answer.") from error
        except (OSError, HTTPException) as error:
            raise APIConnectionError(f"The connection to {self._service.base_url} failed: {error or type(error).__name__}") from error
        finally:
            wire.hang_up()

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
            self.failure = self.closed() if self._stopped.is_set() else error
            self.failure.idempotency_key = self.key
            raise self.failure from error.__cause__

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

    def send(self, wire: "_Wire", method: str, path: str, key: Optional[str], body: Optional[bytes]) -> HTTPResponse:
        """A 200 response; raises APIError for any other."""
        http = HTTPConnection(self._host, self._port)
        http.sock = wire
        wire.connect(self._host, self._port, self._tls)
        # A refusal may arrive before the whole body was sent; then the refusal counts.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            http.request(method, self._path + path, body, self._headers(key, body))
        response = http.getresponse()
        self.rate_limit = _rate_limit(response) or self.rate_limit
        if response.status != 200:
            raise _refusal(response)
        return response

    def _headers(self, key: Optional[str], body: Optional[bytes]) -> dict[str, Any]:
        headers: dict[str, Any] = {"Host": self._host_header, "Authorization": f"Bearer {self._api_key}", "Connection": "close"}
        headers["User-Agent"] = f"turnkeep-client/{__version__} (python)"
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            # http.client would encode text as latin-1; the service expects UTF-8.
            headers["Idempotency-Key"] = key.encode()
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


def _message_body(external_user_id: str, message: str) -> bytes:
    # A lone surrogate is sent as it is; the service refuses it with an explanation.
    return json.dumps({"external_user_id": external_user_id, "message": message}, ensure_ascii=False).encode("utf-8", "surrogatepass")


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
    return _failure(data, _STATUS_OF_CODE.get(_field(data, "code", str), 500), None)


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
        elif field.name != "type":
            made[field.name] = _field(data, field.name, field.type)  # type: ignore[arg-type]
    return kind(**made)


def _page(data: object, kind: type[_Made]) -> tuple[list[_Made], Optional[str]]:
    cursor = data.get("next_cursor") if isinstance(data, dict) else None
    return [_record(item, kind) for item in _field(data, "data", list)], cursor if isinstance(cursor, str) else None


# --- Streams ---


class _Shown:
    """Compares the text that a stream has returned since its last Reset with the text of an attempt."""

    def __init__(self) -> None:
        self._text = ""

    def follow(self, said: str) -> Iterator[Union[Delta, Reset]]:
        """Call with the text of the attempt so far. While it is a prefix of what was shown, it may still become the same text."""
        if not self._text.startswith(said):
            yield from self.finish(said)

    def finish(self, content: str) -> Iterator[Union[Delta, Reset]]:
        """Call with the whole text of the attempt."""
        if not content.startswith(self._text):
            self._text = ""
            yield Reset()
        rest = content[len(self._text) :]
        self._text = content
        if rest:
            yield Delta(rest)


def _events_of(response: HTTPResponse) -> Iterator[tuple[str, object]]:
    """Yields name and data of each event when it is complete. Raises APIConnectionError for anything but an event stream."""
    if response.headers.get_content_type() != "text/event-stream":
        raise _not_ours()
    parser = _EventParser()
    piece = response.read1(65_536)
    while piece:
        for name, data in parser.feed(piece):
            yield name, _json(data)
        piece = response.read1(65_536)


class _EventParser:
    """Parses bytes of an event stream in any chunking to names and data. An incomplete event is kept."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []
        self._after_cr = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> Iterator[tuple[str, str]]:
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

    def _take(self, line: str) -> Optional[tuple[str, str]]:
        if line == "":
            name, data, self._name, self._data = self._name, self._data, "", []
            return (name or "message", "\n".join(data)) if data else None
        # A comment has nothing before the colon.
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None
