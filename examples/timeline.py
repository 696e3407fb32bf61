#!/usr/bin/env python3
"""Prints the output of examples/run: a timeline of all events, and the result of each message.

    timeline.py QUEUE PREFIX [COUNT]

QUEUE is the work queue, and the names of its delay queues begin with PREFIX. The program ends when COUNT messages have
ended, or with an error after a minute; without COUNT it does not end. RETRYQ_URL names the broker, and
RETRYQ_MANAGEMENT_URL its management API (default: port 15672 of the same host).

It reads JSON objects from stdin, one per line: the events of examples/run ("sending", "sent"), of flaky_endpoint
("answered") and of webhook_worker (the events of its observer). It asks the management API for the queues.
"""

import base64
import datetime
import json
import os
import re
import select
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

LONGEST = 60  # seconds until COUNT messages must have ended
WITHOUT_MANAGEMENT = 10  # seconds without a response of the management API
PAUSE = 0.2  # seconds between two requests to it

COLORED = sys.stdout.isatty() and "NO_COLOR" not in os.environ
FAINT, GREEN, YELLOW, RED, BLUE = 2, 32, 33, 31, 36


def show(line, color=None):
    print(f"\033[{color}m{line}\033[0m" if COLORED and color else line, flush=True)


def short(seconds):
    """Returns a duration as "205ms", "1.5s" or "2m30s"."""
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    if seconds < 60:
        return f"{round(seconds, 3 if seconds < 10 else 1):g}s"
    return f"{int(seconds // 60)}m{int(seconds % 60)}s"


def response_text(word):
    """Returns a word of flaky_endpoint's plan as a reader expects it: "429 wait 3s"."""
    if word in ("hang", "drop"):
        return "none" if word == "hang" else "disconnects"
    status, _, wait = word.partition(":")
    return f"{status} wait {wait}s" if wait else status


class QueueReader:
    """Reads the queues whose names match `pattern` from the management API."""

    def __init__(self, pattern):
        broker = urllib.parse.urlsplit(os.environ.get("RETRYQ_URL", "amqp://localhost"))
        login = f"{broker.username or 'guest'}:{broker.password or 'guest'}"
        default = f"http://{login}@{broker.hostname or 'localhost'}:15672"
        api = urllib.parse.urlsplit(os.environ.get("RETRYQ_MANAGEMENT_URL", default))
        vhost = broker.path[1:] or "%2F"
        query = urllib.parse.urlencode({"columns": "name,messages,arguments", "page": 1, "page_size": 100,
                                        "use_regex": "true", "name": pattern})
        login, _, address = api.netloc.rpartition("@")
        credentials = base64.b64encode(urllib.parse.unquote(login).encode()).decode()
        self.request = urllib.request.Request(f"{api.scheme}://{address}/api/queues/{vhost}?{query}",
                                              headers={"Authorization": f"Basic {credentials}"})
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def read(self):
        with self.opener.open(self.request, timeout=5) as reply:
            return {queue["name"]: queue for queue in json.load(reply)["items"]}


class Timeline:
    def __init__(self, queue, prefix):
        self.queue, self.parked_queue = queue, queue + ".parked"
        self.start = None  # time of the first row
        self.width = max(len(prefix) + 6, 12)
        self.messages = {}  # by id
        self.queues = {}  # by name, as the broker reports them
        self.present = {}  # delay queues, and when each appeared
        self.seen = []  # names of all delay queues so far
        self.print_row("time", "message", "try", "response", "event", FAINT)

    def print_row(self, when, subject, attempt, response, event, color=None):
        if self.start is None and when != "time":
            self.start = when
        seconds = when if when == "time" else f"{when - self.start:.3f}"
        show(f"{seconds:>8}  {subject:<{self.width}} {attempt:>3}  {response:<14} {event}", color)

    def read_line(self, line):
        try:
            self.read_event(json.loads(line))
        except ValueError:
            print(line.decode(errors="replace"), file=sys.stderr)

    def read_event(self, event):
        name, subject = event["event"], event.get("id", "")
        when = time.time()
        if "time" in event:
            when = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
        if not subject:
            self.read_worker_event(name, event, when)
            return
        message = self.messages.setdefault(subject, {"since": when, "sent": False, "responses": [], "end": ""})
        if name == "sending":
            self.print_row(when, subject, "", "", f"sent; the endpoint will respond: {event['plan']}")
        elif name == "sent":
            message["sent"] = True
        elif name == "answered":
            message["responses"].append(response_text(event["answer"]))
        elif name not in ("delivered", "failed"):  # the decision that follows is an event too
            self.read_decision(name, event, when, message)

    def read_decision(self, name, event, when, message):
        error, color = event.get("error", ""), RED
        if name == "retried":
            text, color = f"retried in {short(event['delay_ms'] / 1000)}, waits in {event['delay_queue']}", YELLOW
        elif name in ("acked", "parked"):
            message["end"], message["ended"] = "handled" if name == "acked" else "parked", when
            text, color = message["end"] + (f": {error}" if error else ""), GREEN if name == "acked" else RED
        else:
            text = f"{name} {error}"
        attempt = event.get("attempt", 0)
        response = "".join(message["responses"][attempt:attempt + 1])
        self.print_row(when, event["id"], attempt + 1, response, text, color)

    def read_worker_event(self, name, event, when):
        if name in ("declared", "renewed", "lapsed"):  # the broker's list of queues shows these
            return
        text = " ".join([name] + [event[key] for key in ("queue", "delay_queue", "error") if event.get(key)])
        self.print_row(when, "worker", "", "", text, FAINT if name in ("connected", "consuming") else RED)

    def update_queues(self, queues):
        now, self.queues = time.time(), queues
        for name in sorted(queues.keys() - self.present.keys() - {self.queue, self.parked_queue}):
            self.present[name] = now
            self.seen.append(name)
            arguments = queues[name].get("arguments", {})
            ttl, expires = (arguments.get(key, 0) / 1000 for key in ("x-message-ttl", "x-expires"))
            self.print_row(now, name, "", "", f"+ declared: messages wait {short(ttl)}; "
                           f"expires {short(expires)} after its last use", BLUE)
        for name in sorted(self.present.keys() - queues.keys()):
            self.print_row(now, name, "", "", f"- expired after {short(now - self.present.pop(name))}", BLUE)

    def balance(self):
        """Returns how many messages are sent (the broker confirmed them), handled (2xx), parked, and waiting."""
        sent = sum(message["sent"] for message in self.messages.values())
        handled = sum(any(text[0] == "2" for text in message["responses"]) for message in self.messages.values())
        counts = {name: queue.get("messages", 0) for name, queue in self.queues.items()}
        parked = counts.pop(self.parked_queue, 0)
        return sent, handled, parked, sum(counts.values())

    def problems(self):
        sent, handled, parked, waiting = self.balance()
        lost = sent - handled - parked - waiting
        return [text for wrong, text in (
            (lost > 0, f"{lost} messages are lost"),
            (lost < 0, f"{-lost} messages are duplicated"),
            (not all(message["end"] for message in self.messages.values()), "not every message has ended"),
            (self.present, f"{len(self.present)} delay queues are left")) if wrong]

    def print_result(self):
        show(f"\n{'message':<12} {'attempts':>8}  {'result':<8} {'after':>8}  responses of the endpoint", FAINT)
        for name, message in sorted(self.messages.items()):
            after = message.get("ended", time.time()) - message["since"]
            show(f"{name:<12} {len(message['responses']):>8}  {message['end'] or 'open':<8} {after:>7.2f}s  "
                 + ", ".join(message["responses"]), GREEN if message["end"] == "handled" else RED)
        sent, handled, parked, waiting = self.balance()
        lost = sent - handled - parked - waiting
        show(f"\nsent {sent} = handled {handled} + parked {parked} + waiting {waiting}, lost {lost}", RED if lost else GREEN)
        show("(sent: confirmed by the broker; handled: 2xx from the endpoint; parked, waiting: in queues of the broker)", FAINT)
        show(f"delay queues: {len(self.seen)} declared ({', '.join(self.seen)}), {len(self.present)} left")


def main(queue, prefix, count=0):
    timeline, count = Timeline(queue, prefix), int(count)
    reader = QueueReader(f"^({re.escape(queue)}|{re.escape(prefix)}[.])")
    rest, next_read = b"", 0
    begin = last_reply = time.time()
    while True:
        if select.select([sys.stdin], [], [], max(0, next_read - time.time()))[0]:
            data = os.read(sys.stdin.fileno(), 65536)
            if not data:
                sys.exit("timeline: stdin ended before the last message")
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                timeline.read_line(line)
        if time.time() < next_read:
            continue
        next_read = time.time() + PAUSE
        try:
            timeline.update_queues(reader.read())
            last_reply = time.time()
        except (OSError, ValueError, KeyError) as error:
            if time.time() - last_reply > WITHOUT_MANAGEMENT:
                sys.exit(f"timeline: the management API does not list the queues: {error}; enable the plugin, or set "
                         "RETRYQ_MANAGEMENT_URL to its address")
        problems = timeline.problems()
        late = time.time() - begin > LONGEST
        if count and (late or (timeline.balance()[0] >= count and not problems)):
            timeline.print_result()
            sys.exit("timeline: " + ", ".join(problems) if problems else 0)


if len(sys.argv) not in (3, 4):
    sys.exit("usage: timeline.py QUEUE PREFIX [COUNT]")
main(*sys.argv[1:])
