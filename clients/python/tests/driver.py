"""Makes one call with this client, as clients/README.md says: one line of JSON in, lines of JSON out. Decides nothing."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Optional, Union

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from turnkeep import Completed, Created, Delta, Reply, Turnkeep, TurnkeepError


def say(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def tell_completed(reply: Union[Reply, Completed]) -> None:
    fields = asdict(reply)
    for name in ("type", "id"):
        fields.pop(name, None)
    say("completed", **fields)


def drive_stream(client: Turnkeep, call: dict[str, Any], cancel_after: Optional[int]) -> None:
    deltas, request_id = 0, ""
    with client.stream(**call) as stream:
        for event in stream:
            if isinstance(event, Created):
                request_id = event.request_id
                say("created", request_id=event.request_id, conversation_id=event.conversation_id)
            elif isinstance(event, Delta):
                deltas += 1
                say("delta", delta=event.delta)
            elif isinstance(event, Completed):
                tell_completed(event)
            else:
                say("reset")
            if isinstance(event, (Created, Delta)) and deltas == cancel_after:
                client.turns.cancel(request_id)


def drive(asked: dict[str, Any]) -> None:
    limits = {name: asked[name] for name in ("max_retries", "max_wait", "timeout") if name in asked}
    client = Turnkeep(base_url=asked["base_url"], agent_id=asked["agent_id"], api_key=asked["api_key"], **limits)
    call: dict[str, Any] = {name: asked.get(name) for name in ("external_user_id", "message", "idempotency_key")}
    try:
        if asked["call"] == "stream":
            drive_stream(client, call, asked.get("cancel_after_deltas"))
        else:
            reply = client.chat(**call, background=asked["call"] == "background")
            if isinstance(reply, Reply):
                tell_completed(reply)
            else:
                say("started", request_id=reply.request_id, conversation_id=reply.conversation_id)
    except TurnkeepError as error:
        fields = {name: getattr(error, name, None) for name in ("code", "status", "request_id", "retry_after", "idempotency_key")}
        say("error", kind=type(error).__name__, **{name: value for name, value in fields.items() if value is not None})


if __name__ == "__main__":
    drive(json.loads(sys.stdin.readline()))
