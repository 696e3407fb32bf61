#!/usr/bin/env python3
"""A program for `retryq work --lines`: reads messages from stdin, a line of JSON each, and answers
each with a line on stdout.

    retryq work --queue orders --lines -- examples/lines_worker.py
"""

import base64
import json
import sys


def handle(message, body):
    """Does the work. What it raises decides: ValueError parks, anything else retries."""
    order = json.loads(body)  # no JSON is a ValueError
    if "order" not in order:
        raise ValueError("no order in it")
    if order.get("busy") and message["attempt"] == 0:
        raise RuntimeError("busy")
    print("order", order["order"], "after", message["attempt"], "failures", file=sys.stderr)


for line in sys.stdin:
    message = json.loads(line)
    body = message.get("body")
    if body is None:
        body = base64.b64decode(message["body_base64"])
    answer = {"id": message["id"]}
    try:
        handle(message, body)
        answer["ok"] = True
    except ValueError as error:
        answer["park"] = str(error)
    except RuntimeError as error:
        answer["error"] = str(error)
        answer["retry_after"] = "2s"
    print(json.dumps(answer), flush=True)
