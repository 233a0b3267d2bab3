"""verify_webhook: what it accepts and what it refuses. The first signature is that of the specification of Standard Webhooks."""

import base64
import hmac
import time
import unittest
from unittest import mock

from turnkeep import TurnkeepError, WebhookVerificationError, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_dGhpcyBpcyBhbm90aGVyIHNlY3JldCBrZXkhISE="
BODY = '{"type":"turn.completed","timestamp":"2026-11-21T14:11:58.332Z","data":{"reply":"Grüße"}}'


def signed(secret: str = SECRET, ago: int = 0, event_id: str = "evt_1_turn_completed") -> "dict[str, str]":
    timestamp = int(time.time()) - ago
    key = base64.b64decode(secret[6:])
    digest = hmac.new(key, f"{event_id}.{timestamp}.{BODY}".encode(), "sha256").digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return {"webhook-id": event_id, "webhook-timestamp": str(timestamp), "webhook-signature": signature}


class Webhooks(unittest.TestCase):
    def refused(self, message: str, headers: "dict[str, str]", secret: str = SECRET, body: str = BODY) -> None:
        with self.assertRaisesRegex(WebhookVerificationError, message):
            verify_webhook(body, headers, secret)

    def test_the_example_of_the_specification(self) -> None:
        headers = {
            "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "Webhook-Timestamp": "1614265330",
            "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        # It is signed correctly: only what it contains is not an event.
        with mock.patch("time.time", return_value=1614265330.0), self.assertRaises(KeyError):
            verify_webhook('{"test": 2432232314}', headers, SECRET)

    def test_a_signed_body_is_its_event(self) -> None:
        for body in (BODY, BODY.encode()):
            event = verify_webhook(body, signed(), SECRET)
            self.assertEqual((event.id, event.type, event.data), ("evt_1_turn_completed", "turn.completed", {"reply": "Grüße"}))

    def test_while_a_secret_rotates_one_of_them_is_enough(self) -> None:
        both = signed()
        both["webhook-signature"] = f"v1a,x {signed(OTHER)['webhook-signature']} {both['webhook-signature']}"
        for secrets in (SECRET, [OTHER, SECRET]):
            verify_webhook(BODY, both, secrets)

    def test_anything_else_is_refused(self) -> None:
        headers = signed()
        self.refused("No signature", headers, OTHER)
        self.refused("No signature", headers, body=BODY.replace("completed", "failed"))
        self.refused("No signature", {**headers, "webhook-id": "evt_2"})
        for signature in ("v1,", "v2,x", "v1,\u00e9", headers["webhook-signature"].replace("v1", "v2")):
            self.refused("No signature", {**headers, "webhook-signature": signature})
        for name in headers:
            self.refused("is missing", {**headers, name: ""})
        self.refused("not a time", {**headers, "webhook-timestamp": "soon"})

    def test_a_request_that_is_sent_again_later_is_refused(self) -> None:
        verify_webhook(BODY, signed(ago=290), SECRET)
        self.refused("too old", signed(ago=310))
        self.refused("future", signed(ago=-310))
        verify_webhook(BODY, signed(ago=310), SECRET, tolerance_seconds=600)

    def test_a_secret_that_is_not_one_is_an_error_of_the_program(self) -> None:
        for wrong in ("", "whsec_", "whsec_%%%", SECRET[6:]):
            with self.assertRaises(ValueError):
                verify_webhook(BODY, signed(), wrong)
        with self.assertRaises(ValueError):
            verify_webhook(BODY, signed(), [])
        self.assertTrue(issubclass(WebhookVerificationError, TurnkeepError))


if __name__ == "__main__":
    unittest.main()
