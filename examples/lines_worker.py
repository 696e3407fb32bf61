#!/usr/bin/env python3
"""A program for `retryq work --lines`: reads messages from stdin, one JSON object per line, and
writes a reply for each of them to stdout, one JSON object per line.

    retryq work --queue orders --lines -- examples/lines_worker.py
"""

import base64
import json
import sys


def handle(message, body):
    """Handles an order. ValueError parks the message, RuntimeError retries it."""
    order = json.loads(body)  # raises ValueError if the body is not JSON
    if "order" not in order:
        raise ValueError('the field "order" is missing')
    if order.get("busy") and message["attempt"] == 0:
        raise RuntimeError("busy")
    print("order", order["order"], "after", message["attempt"], "failures", file=sys.stderr)


for line in sys.stdin:
    message = json.loads(line)
    body = message.get("body")
    if body is None:
        body = base64.b64decode(message["body_base64"])
    reply = {"id": message["id"]}
    try:
        handle(message, body)
        reply["ok"] = True
    except ValueError as error:
        reply["park"] = str(error)
    except RuntimeError as error:
        reply["error"] = str(error)
        reply["retry_after"] = "2s"
    print(json.dumps(reply), flush=True)
