"""
Signs and verifies messages with the package standardwebhooks of PyPI.

The input is a JSON object with a `secret`, an `id`, a `timestamp` in seconds since 1970, a `body`
and, to verify, the value of `webhook-signature` as `signatures`. The output is a JSON object with
the `signature` that the package makes and, if there was something to verify, whether it is
`verified`.
"""

import json
import sys
from datetime import datetime, timezone

from standardwebhooks import Webhook, WebhookVerificationError


def main() -> None:
    """Replies to one question."""
    asked = json.load(sys.stdin)
    webhook = Webhook(asked["secret"])
    at = datetime.fromtimestamp(asked["timestamp"], timezone.utc)
    result = {"signature": webhook.sign(asked["id"], at, asked["body"])}
    if "signatures" in asked:
        result["verified"] = is_verified(webhook, asked)
    print(json.dumps(result))


def is_verified(webhook: Webhook, asked: dict) -> bool:
    """Whether the package accepts the message."""
    headers = {
        "webhook-id": asked["id"],
        "webhook-timestamp": str(asked["timestamp"]),
        "webhook-signature": asked["signatures"],
    }
    try:
        webhook.verify(asked["body"], headers)
    except WebhookVerificationError:
        return False
    return True


main()
