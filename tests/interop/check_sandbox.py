#!/usr/bin/env python3
"""Drives the sandbox as an integrator in another language would, with nothing but Python's standard library.

    python3 tests/interop/check_sandbox.py target/debug/examples/sandbox
    python3 tests/interop/check_sandbox.py target/debug/examples/sandbox postgres://user@host/database

It knows the service by its interface only: plain HTTP, and an HMAC of its own. It receives webhooks, goes away while
business goes on, catches up with `since`, restarts the sandbox on its file, and in the end has to have found each
event that the sandbox announced exactly once. With an empty PostgreSQL database it runs two sandboxes on it instead,
ends one of them by force and one in order, and has to have found each event of either. Prints what it counted; any
failure is a non-zero exit code.
"""

import collections
import concurrent.futures
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import uuid

LIMIT = 180  # seconds for everything
STARTED = time.monotonic()
KINDS = [
    "quote.created", "quote.signed", "quote.accepted", "invoice.created", "invoice.paid", "project.completed",
    "invoice.issued", "credit_note.issued",
]
NARROW = ["quote.signed", "invoice.paid"]
LINE = {"description", "quantity", "unit", "unitPrice", "totalHT", "tvaRate", "lot", "section"}
QUOTE_EVENT = {
    "id", "number", "status", "clientName", "clientEmail", "totalHT", "totalTTC", "tvaRate",
    "signedAt", "acceptedAt", "signedByName", "signedByEmail",
}
MADE = ["quote.create", "quote.import"]
PRIVATE = ["costing", "labourCost", "materialCost", "privateNote", "subcontractor", "Marge"]
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
checks = collections.Counter()
processes = []
# The functions that the book shows.
BOOK = {}
for page in ["integrate.md", "receive.md"]:
    text = pathlib.Path(__file__).resolve().parents[2].joinpath("docs", page).read_text(encoding="utf-8")
    exec(re.search(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1], BOOK)


def check(holds, what):
    checks[what.split(":")[0]] += 1
    if not holds:
        raise AssertionError(what)


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def key_of(event):
    """What recognises a repeat: the event, the record, and when."""
    return event["event"], event["data"]["id"], event["timestamp"]


class Receiver:
    """A webhook receiver. What it knows outlives its going away, as a database would."""

    def __init__(self):
        self.secret = self.webhook = None
        self.port = 0
        self.accepted = collections.Counter()
        # The sender's id of each body, and the body of each id.
        self.names, self.bodies = {}, {}
        self.refused = 0
        self.refuse_next = 0
        self.problems = []
        self.lock = threading.Lock()
        self.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def start(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status = receiver.judge(self, body)
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        # Waits for what it is answering when it closes.
        self.server.daemon_threads = False
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def judge(self, request, body):
        try:
            self.verify(request, body)
            event = json.loads(body)
            self.look_at(event, body.decode())
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")
            return 400
        with self.lock:
            if self.refuse_next > 0:
                self.refuse_next -= 1
                self.refused += 1
                return 500
            self.accepted[key_of(event)] += 1
        return 204

    def verify(self, request, body):
        headers = request.headers
        signatures = headers.get_all("X-Service-Signature") or []
        check(len(signatures) == 1, "delivery: one signature header")
        parts = dict(part.split("=", 1) for part in signatures[0].split(","))
        t, v1 = parts["t"], parts["v1"]
        check(abs(time.time() - int(t)) <= 300, "delivery: signed about now")
        mac = hmac.new(self.secret.encode(), t.encode() + b"." + body, hashlib.sha256).hexdigest()
        check(hmac.compare_digest(mac, v1), "delivery: signature is right")
        check(BOOK["verify"](self.secret, signatures[0], body), "book: verifies a delivery")
        check(not BOOK["verify"](self.secret, signatures[0], body + b" "), "book: refuses another body")
        old = str(int(t) - 301)
        mac = hmac.new(self.secret.encode(), old.encode() + b"." + body, hashlib.sha256).hexdigest()
        check(not BOOK["verify"](self.secret, f"t={old},v1={mac}", body), "book: refuses an old signature")
        check(headers["Content-Type"] == "application/json", "delivery: content type")
        check(headers["User-Agent"] == "Service-Webhook/1.0", "delivery: user agent")
        check(headers["X-Service-Webhook-Id"] == self.webhook, "delivery: names the webhook")
        name = uuid.UUID(headers["X-Service-Event-Id"])
        with self.lock:
            check(self.names.setdefault(body, name) == name, "delivery: one id for all attempts of an event")
            check(self.bodies.setdefault(name, body) == body, "delivery: no other event has its id")

    def look_at(self, event, text):
        check(list(event) == ["event", "timestamp", "data"], "delivery: envelope")
        check(event["event"] in KINDS, f"delivery: known kind: {event['event']}")
        check(bool(STAMP.match(event["timestamp"])), "delivery: timestamp has milliseconds and Z")
        check("lines" not in event["data"], "delivery: no lines")
        check(not any(word in text for word in PRIVATE), "delivery: nothing private")
        if event["event"].startswith("quote."):
            check(set(event["data"]) <= QUOTE_EVENT, "delivery: only the twelve fields of a quote")


class Sandbox:
    """A sandbox process and its JSON lines."""

    def __init__(self, binary, *args):
        command = [binary, "--listen", "127.0.0.1:0", *args]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        processes.append(self.process)
        self.operations = []
        self.log = []
        first = self.process.stdout.readline()
        if not first:
            raise AssertionError(f"the sandbox said nothing: {self.process.stderr.read().decode()}")
        self.hello = json.loads(first)
        check(list(self.hello) == ["baseUrl", "docsUrl", "consoleUrl", "companies", "webhooks"], "first line: shape")
        self.address = urllib.parse.urlsplit(self.hello["baseUrl"]).netloc
        self.threads = [
            threading.Thread(target=self.read_operations, daemon=True),
            threading.Thread(target=self.read_log, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def read_operations(self):
        for line in self.process.stdout:
            self.operations.append(json.loads(line))

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line.decode())

    def stop(self):
        """SIGTERM has to end it soon, with 0, and with every line whole."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=15)
        for thread in self.threads:
            thread.join(timeout=5)
        check(code == 0, f"SIGTERM: exit code 0: {code} {''.join(self.log[-5:])}")
        check(not any(" WARN " in line or " ERROR " in line for line in self.log), f"log: calm: {self.log}")
        return time.monotonic() - began

    def announced(self):
        return [
            (event["event"], event["id"], event["timestamp"])
            for operation in self.operations
            for event in operation["events"]
        ]

    def request(self, method, path, key=None, body=None):
        connection = http.client.HTTPConnection(self.address, timeout=10)
        headers = {}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        if body is not None:
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        raw = response.read()
        connection.close()
        check(response.headers["X-Request-Id"] is not None, "answer: request id")
        check(response.headers["Cache-Control"] == "no-store", "answer: not to be cached")
        if response.headers["Content-Type"] == "application/pdf":
            return response.status, response.headers, raw
        check(response.headers["Content-Type"] == "application/json; charset=utf-8", "answer: content type")
        text = raw.decode("utf-8")
        check(not any(word in text for word in PRIVATE), f"answer: nothing private: {path}")
        return response.status, response.headers, json.loads(text)

    def get(self, path, key):
        status, _, answer = self.request("GET", path, key)
        check(status == 200, f"GET: 200: {path} {status} {answer}")
        return answer

    def all(self, resource, key, **query):
        """Every page. Returns the items and the first page's asOf: the next `since`."""
        items, as_of, offset = [], None, 0
        order = "updatedAt" if "since" in query else "createdAt"
        while True:
            page = self.get(f"/api/v1/{resource}?{urllib.parse.urlencode({**query, 'offset': offset})}", key)
            check(list(page) == ["data", "pagination", "asOf"], "list: envelope")
            pagination = page["pagination"]
            limit = query.get("limit", 50)
            check(pagination["limit"] == limit and pagination["offset"] == offset, "list: pagination says what was asked")
            check(isinstance(pagination["hasMore"], bool) and len(page["data"]) <= limit, "list: at most the limit")
            check(bool(STAMP.match(page["asOf"])), "list: asOf")
            places = [(item[order], item["id"]) for item in page["data"]]
            check(places == sorted(places, reverse=True), f"list: ordered by {order}, latest first")
            check(all(item["updatedAt"] <= page["asOf"] for item in page["data"]), "list: asOf is the last stamp")
            if "since" in query:
                check(all(item["updatedAt"] >= query["since"] for item in page["data"]), "list: since")
            check(all(("lines" in item) == ("include" in query) for item in page["data"]), "list: lines if asked for")
            for item in page["data"]:
                check(all(set(line) == LINE for line in item.get("lines", [])), "list: eight fields per line")
            as_of = as_of or page["asOf"]
            items += page["data"]
            if not pagination["hasMore"]:
                return items, as_of
            offset += len(page["data"])


class Copy:
    """The integrator's copy of a company, kept in step with `since`."""

    RESOURCES = ["quotes", "invoices", "credit-notes", "clients"]

    def __init__(self, key):
        self.key = key
        self.records = {resource: {} for resource in self.RESOURCES}
        self.since = {resource: "1970-01-01T00:00:00.000Z" for resource in self.RESOURCES}

    def catch_up(self, sandbox):
        versions = 0
        for resource in self.RESOURCES:
            query = {"since": self.since[resource], "limit": 100}
            if resource != "clients":
                query["include"] = "lines"
            items, as_of = sandbox.all(resource, self.key, **query)
            for item in reversed(items):
                old = self.records[resource].get(item["id"])
                if old is None or old["updatedAt"] < item["updatedAt"]:
                    self.records[resource][item["id"]] = item
                    versions += 1
            self.since[resource] = as_of
        return versions

    def knows(self, operation):
        """Whether the copy has each record of an operation, and each as its events say it is, or a later version."""
        names = {
            "quoteId": "quotes", "invoiceId": "invoices", "creditNoteId": "credit-notes", "clientId": "clients",
        }
        ids = {identifier: names[name] for name, identifier in operation["ids"].items() if name in names}
        if not all(identifier in self.records[resource] for identifier, resource in ids.items()):
            return False
        return all(
            self.records[ids[event["id"]]][event["id"]]["updatedAt"] >= event["timestamp"]
            for event in operation["events"] if event["id"] in ids
        )

    def compare(self, sandbox):
        for resource in self.RESOURCES:
            query = {} if resource == "clients" else {"include": "lines"}
            items, _ = sandbox.all(resource, self.key, limit=100, **query)
            check({item["id"]: item for item in items} == self.records[resource], f"catch-up: the copy of {resource} is exact")
            changed, as_of = BOOK["changes"](sandbox.hello["baseUrl"], self.key, resource, "1970-01-01T00:00:00Z")
            stamps = [item["updatedAt"] for item in changed]
            check(stamps == sorted(stamps) and max(stamps, default=as_of) <= as_of, f"book: reads {resource} oldest first")
            check({item["id"] for item in changed} == set(self.records[resource]), f"book: reads all {resource}")
            again, _ = BOOK["changes"](sandbox.hello["baseUrl"], self.key, resource, as_of)
            check(all(item["updatedAt"] == as_of for item in again), f"book: reads only changed {resource}")


def check_refusals(sandbox):
    """401, 403, 404, 400, and that companies do not see each other."""
    active, second, starter = sandbox.hello["companies"]
    check([company["plan"] for company in (active, second, starter)] == ["Team", "Team", "Starter"], "first line: plans")
    for key in (None, "isk_" + "x" * 43, "nonsense"):
        status, headers, answer = sandbox.request("GET", "/api/v1/quotes", key)
        check(status == 401 and answer["error"]["code"] == "unauthorized", f"401: {status} {answer}")
        check(headers["WWW-Authenticate"] == "Bearer", "401: WWW-Authenticate")
        check(isinstance(answer["error"]["message"], str), "401: has a message")
    status, _, answer = sandbox.request("GET", "/api/v1/quotes", starter["apiKey"])
    check(status == 403 and answer["error"]["code"] == "plan_required", f"403: {status} {answer}")
    check(sandbox.all("quotes", second["apiKey"])[0] == [], "tenants: the second company has no quotes")
    quote = sandbox.all("quotes", active["apiKey"])[0][0]
    status, _, answer = sandbox.request("GET", f"/api/v1/quotes/{quote['id']}", second["apiKey"])
    check(status == 404 and answer["error"]["code"] == "not_found", "tenants: another company's quote is not found")
    for wrong in ("since=2026-09-14", "limit=0", "limit=101", "offset=-1", "status=OPEN", "page=2", "include=all"):
        status, _, answer = sandbox.request("GET", f"/api/v1/quotes?{wrong}", active["apiKey"])
        named = wrong.split("=")[0] in answer["error"]["message"]
        check(status == 400 and answer["error"]["code"] == "validation_error" and named, f"400: {wrong} {answer}")


def check_endpoints(sandbox):
    """The reference page, details, the link, idempotent creation, the frozen document."""
    with urllib.request.urlopen(sandbox.hello["docsUrl"], timeout=10) as page:
        check(page.headers["Content-Type"] == "text/html; charset=utf-8", "reference: a page")
        check(sandbox.hello["baseUrl"] in page.read().decode(), "reference: names the sandbox's address")
    key = sandbox.hello["companies"][0]["apiKey"]
    quotes, _ = sandbox.all("quotes", key, limit=7)
    for quote in quotes[:5]:
        detail = sandbox.get(f"/api/v1/quotes/{quote['id']}", key)
        check({"lines", "currency", "retentionRate", "signature", "vatBreakdown"} <= set(detail), "detail: a quote's fields")
    signed = next((quote for quote in quotes if quote["signedAt"]), None)
    if signed:
        block = sandbox.get(f"/api/v1/quotes/{signed['id']}", key)["signature"]
        check(bool(re.match(r"^sha256:[0-9a-f]{64}$", block["proofFingerprint"])), "detail: proof fingerprint")
    for external_id in ("crm-1", "crm-1", None):
        status, _, answer = sandbox.request("PATCH", f"/api/v1/quotes/{quotes[0]['id']}", key, {"externalId": external_id})
        check((status, answer) == (200, {"id": quotes[0]["id"], "externalId": external_id}), f"link: {status} {answer}")
    new = {"name": "Zoé Interop", "city": "Lyon", "externalId": f"interop-{time.time_ns()}"}
    status, _, created = sandbox.request("POST", "/api/v1/clients", key, new)
    check(status == 201, f"creation: 201 the first time: {status} {created}")
    status, _, again = sandbox.request("POST", "/api/v1/clients", key, {**new, "name": "Somebody else"})
    check((status, again) == (200, created), f"creation: 200 and unchanged the second time: {status} {again}")
    check(sandbox.get("/api/v1/clients?q=zoe%20interop", key)["data"] != [], "clients: q is blind to accents")
    documents = 0
    for quote in quotes[:8]:
        status, _, answer = sandbox.request("GET", f"/api/v1/quotes/{quote['id']}/document?type=pdf", key)
        if status == 409:
            check(answer["error"]["code"] == "document_unavailable", "document: a draft has none")
            continue
        check(status == 200, f"document: {status} {answer}")
        path = answer["url"].removeprefix(sandbox.hello["baseUrl"])
        status, _, pdf = sandbox.request("GET", path)
        check(status == 200 and len(pdf) == answer["sizeBytes"], "document: has its size")
        check(hashlib.sha256(pdf).hexdigest() == answer["sha256"], "document: has its SHA-256")
        documents += 1
    return documents


def check_quota(sandbox):
    """30 requests pass, the 31st does not, and another key is not touched."""
    active, second, _ = sandbox.hello["companies"]
    for count in range(30):
        status, headers, _ = sandbox.request("GET", "/api/v1/quotes?limit=1", active["apiKey"])
        check(status == 200, f"quota: request {count + 1} passes: {status}")
        check(headers["RateLimit-Limit"] == "30" and headers["RateLimit-Remaining"] == str(29 - count), "quota: headers")
    status, headers, answer = sandbox.request("GET", "/api/v1/quotes?limit=1", active["apiKey"])
    check(status == 429 and set(answer) == {"code", "message"}, f"429: flat body: {status} {answer}")
    check(answer["code"] == "TOO_MANY_REQUESTS", "429: code")
    check(1 <= int(headers["Retry-After"]) <= 60, "429: Retry-After")
    status, _, _ = sandbox.request("GET", "/api/v1/quotes?limit=1", second["apiKey"])
    check(status == 200, "quota: is per key")


def check_usage(binary):
    """A wrong flag: one line that says where help is, and 2."""
    for args in (["--wrong"], ["--activity", "many"], ["--webhook", "http://127.0.0.1/=quote.singed"]):
        ended = subprocess.run([binary, *args], capture_output=True, timeout=10)
        check(ended.returncode == 2 and b"--help" in ended.stderr and ended.stderr.count(b"\n") == 1 and not ended.stdout, f"usage: {args} {ended}")


def check_seed(binary):
    """The same seed does the same things with the same amounts."""
    stories, amounts = [], []
    for _ in range(2):
        sandbox = Sandbox(binary, "--activity", "100", "--seed", "11", "--quota", "0")
        wait_for(lambda: len(sandbox.operations) >= 60, "60 operations")
        quotes, _ = sandbox.all("quotes", sandbox.hello["companies"][0]["apiKey"], limit=100)
        totals = {quote["id"]: (quote["totalHT"], quote["totalTTC"]) for quote in quotes}
        sandbox.stop()
        stories.append([
            (operation["operation"], sorted(operation["ids"]), [event["event"] for event in operation["events"]])
            for operation in sandbox.operations[:60]
        ])
        edited = {operation["ids"]["quoteId"] for operation in sandbox.operations if operation["operation"] == "quote.edit"}
        made = [operation["ids"]["quoteId"] for operation in sandbox.operations[:60] if operation["operation"] in MADE]
        amounts.append([None if quote in edited else totals[quote] for quote in made])
    check(stories[0] == stories[1], "seed: the same operations")
    pairs = [pair for pair in zip(*amounts) if None not in pair]
    check(len(pairs) > 3 and all(one == other for one, other in pairs), f"seed: the same amounts: {pairs}")


def check_operations(sandbox):
    for operation in sandbox.operations:
        check(list(operation) == ["operation", "at", "ids", "events"], "line: shape")
        check(bool(STAMP.match(operation["at"])), "line: at")
        for event in operation["events"]:
            check(list(event) == ["event", "id", "timestamp"], "line: shape of an event")
            check(event["id"] in operation["ids"].values(), "line: an event is about one of the ids")


def check_deliveries(receiver, announced, kinds, name):
    expected = collections.Counter(event for event in announced if event[0] in kinds)
    check(max(expected.values(), default=0) <= 1, f"{name}: no event is announced twice")
    check(not receiver.problems, f"{name}: refused deliveries: {receiver.problems[:3]}")
    missing, surplus = expected - receiver.accepted, receiver.accepted - expected
    check(not missing, f"{name}: missing: {list(missing)[:3]}")
    check(not surplus, f"{name}: doubled or never announced: {list(surplus)[:3]}")
    return sum(expected.values())


def check_quota_of_two(one, other):
    """30 requests pass through both together, the 31st passes through neither."""
    key = one.hello["companies"][1]["apiKey"]
    for count in range(30):
        status, headers, _ = (one, other)[count % 2].request("GET", "/api/v1/quotes?limit=1", key)
        check(status == 200, f"quota of two: request {count + 1} passes: {status}")
        check(headers["RateLimit-Remaining"] == str(29 - count), "quota of two: headers")
    for sandbox in (one, other):
        status, _, _ = sandbox.request("GET", "/api/v1/quotes?limit=1", key)
        check(status == 429, f"quota of two: the 31st does not pass: {status}")


def tell_two(binary, url, folder, receiver):
    """Two processes on one database. Each serves, does business and delivers."""

    def start(activity, quota="0"):
        base = ["--db", url, "--documents", folder, "--webhook", receiver.url]
        return Sandbox(binary, *base, "--activity", str(activity), "--quota", quota)

    # Both at once on an empty database: one of them makes the tables and the companies.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        one, other = pool.map(start, [0, 0])
    first = one.hello
    check(len(first["companies"]) == 3 and len(first["webhooks"]) == 1, "two: three companies, one webhook")
    check(first["companies"] == other.hello["companies"], "two: the same companies and keys")
    check(first["webhooks"] == other.hello["webhooks"], "two: the same webhook and secret")
    check(one.address != other.address, "two: each listens")
    receiver.secret, receiver.webhook = first["webhooks"][0]["secret"], first["webhooks"][0]["id"]
    one.stop()
    other.stop()

    one, other = start(20), start(20)
    copy = Copy(first["companies"][0]["apiKey"])
    wait_for(lambda: min(len(one.operations), len(other.operations)) >= 60, "60 operations of each")
    # The copy is kept in step through either, whichever made the change.
    copy.catch_up(one)
    copy.catch_up(other)

    # One goes, and gives back what it holds; the other one goes on, and delivers.
    stopping = other.stop()
    early = set(one.announced()) | set(other.announced())
    wait_for(lambda: all(receiver.accepted[event] for event in early), "every event of both has arrived at the end of one")
    third = start(20)
    check(third.hello["companies"] == first["companies"], "restart: same companies and keys")
    wait_for(lambda: len(third.operations) >= 30, "30 operations of the third")
    processes_of_business = (one, other, third)
    one.stop()
    third.stop()
    announced = set()
    for sandbox in processes_of_business:
        check_operations(sandbox)
        check(len(sandbox.announced()) == len(set(sandbox.announced())), "line: no event twice")
        announced |= set(sandbox.announced())

    # Nothing happens any more: both show the same, and what waited is delivered.
    one, other = start(0), start(0)
    copy.catch_up(one)
    copy.compare(other)
    copy.compare(one)
    wait_for(lambda: all(receiver.accepted[event] for event in announced), "every event has arrived")
    one.stop()
    other.stop()
    one, other = start(0, "30"), start(0, "30")
    check_quota_of_two(one, other)
    one.stop()
    other.stop()
    delivered = check_deliveries(receiver, announced, KINDS, "webhook of two")
    return {
        "business operations of three processes": sum(len(sandbox.operations) for sandbox in processes_of_business),
        "events announced, each delivered once": delivered,
        "deliveries doubled": sum(receiver.accepted.values()) - len(receiver.accepted),
        "deliveries lost": sum(not receiver.accepted[event] for event in announced),
        "seconds from SIGTERM to the end": round(stopping, 2),
    }


def main_two(binary, url):
    receiver = Receiver()
    with tempfile.TemporaryDirectory(prefix="check-sandbox-") as folder:
        try:
            figures = tell_two(binary, url, os.path.join(folder, "documents"), receiver)
        finally:
            receiver.stop()
    report(figures)


def main(binary):
    check_usage(binary)
    broad, narrow = Receiver(), Receiver()
    folder = tempfile.TemporaryDirectory(prefix="check-sandbox-")
    try:
        figures = tell(binary, os.path.join(folder.name, "sandbox.db"), broad, narrow)
    finally:
        broad.stop()
        narrow.stop()
        folder.cleanup()
    check_seed(binary)
    report(figures)


def report(figures):
    check(time.monotonic() - STARTED < LIMIT, "time: in bounds")
    figures["checks"] = sum(checks.values())
    figures["seconds"] = round(time.monotonic() - STARTED, 1)
    for name, figure in figures.items():
        print(f"{name:>42}: {figure}")


def tell(binary, db, broad, narrow):
    hooks = ["--webhook", broad.url, "--webhook", f"{narrow.url}={','.join(NARROW)}"]
    base = ["--db", db, "--seed", "7"]

    # Business goes on, everything is up.
    sandbox = Sandbox(binary, *base, *hooks, "--activity", "20", "--quota", "0")
    first = sandbox.hello
    check(len(first["companies"]) == 3 and len(first["webhooks"]) == 2, "first line: companies and webhooks")
    for receiver, webhook, kinds in zip((broad, narrow), first["webhooks"], (KINDS, NARROW)):
        receiver.secret, receiver.webhook = webhook["secret"], webhook["id"]
        check(webhook["url"] == receiver.url and webhook["events"] == kinds, "first line: a webhook as asked for")
        check(webhook["companyId"] == first["companies"][0]["id"], "first line: webhooks of the first company")
    copy = Copy(first["companies"][0]["apiKey"])
    wait_for(lambda: len(sandbox.operations) >= 60, "60 operations")
    for receiver in (broad, narrow):
        check(not receiver.problems, f"delivery: refused: {receiver.problems[:3]}")
    check_refusals(sandbox)
    documents = check_endpoints(sandbox)
    copy.catch_up(sandbox)

    # One receiver says 500 a few times, the other goes away; business goes on.
    narrow.refuse_next = 2
    before = len(sandbox.operations)
    broad.stop()
    # The last attempt of a delivery is 6 s after the first one.
    back = time.monotonic() + 3
    wait_for(lambda: len(sandbox.operations) >= before + 40 or time.monotonic() > back, "operations while away")
    away = sandbox.operations[before:]
    broad.start()
    missed = [event for operation in away for event in operation["events"]]
    check(len(missed) > 0, "catch-up: something was missed")
    caught = copy.catch_up(sandbox)
    check(all(copy.knows(operation) for operation in away), "catch-up: knows what happened meanwhile")
    stopping = sandbox.stop()
    announced, operations = sandbox.announced(), len(sandbox.operations)
    check_operations(sandbox)

    # The same file: the same companies, keys and webhooks, and one more. What was waiting is delivered.
    extra = Receiver()
    try:
        sandbox = Sandbox(binary, *base, "--webhook", extra.url, "--activity", "0", "--quota", "0")
        check(sandbox.hello["companies"] == first["companies"], "restart: same companies and keys")
        check(sandbox.hello["webhooks"][:2] == first["webhooks"], "restart: same webhooks and secrets")
        check(len(sandbox.hello["webhooks"]) == 3, "restart: the new webhook")
        check(sandbox.hello["webhooks"][2]["url"] == extra.url, "restart: the new webhook's URL")
        copy.catch_up(sandbox)
        copy.compare(sandbox)
        due = len(announced)
        wait_for(lambda: sum(broad.accepted.values()) >= due, "every event has arrived")
        wait_for(lambda: narrow.refused == 2 or narrow.refuse_next == 0, "the refused ones came")
        in_narrow = sum(event[0] in NARROW for event in announced)
        wait_for(lambda: sum(narrow.accepted.values()) >= in_narrow, "every event has arrived at the narrow one")
        sandbox.stop()
        check(sandbox.operations == [], "activity 0: nothing happens")
        check(not extra.accepted, "restart: a new webhook hears of new events only")
    finally:
        extra.stop()
    delivered = check_deliveries(broad, announced, KINDS, "webhook for all")
    narrowed = check_deliveries(narrow, announced, NARROW, "webhook for two kinds")

    # With the quota of the contract.
    sandbox = Sandbox(binary, *base, "--activity", "0")
    check(sandbox.hello["companies"] == first["companies"], "restart: same companies and keys")
    check_quota(sandbox)
    sandbox.stop()
    return {
        "business operations": operations,
        "events announced, each found once": delivered,
        "of these for the narrowed webhook": narrowed,
        "events while the receiver was away": len(missed),
        "versions that the catch-up brought then": caught,
        "deliveries answered with 500, then taken": narrow.refused,
        "documents with the promised SHA-256": documents,
        "seconds from SIGTERM to the end": round(stopping, 2),
    }


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    def kill_all():
        for process in processes:
            if process.poll() is None:
                process.kill()

    def give_up():
        print(f"FAILED: not finished after {LIMIT} s", file=sys.stderr)
        kill_all()
        os._exit(1)

    watchdog = threading.Timer(LIMIT, give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        main_two(*sys.argv[1:]) if len(sys.argv) == 3 else main(sys.argv[1])
    except AssertionError as error:
        print(f"FAILED: {error}", file=sys.stderr)
        sys.exit(1)
    finally:
        kill_all()
