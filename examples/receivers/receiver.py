#!/usr/bin/env python3
"""Receives webhooks with nothing but Python's standard library (3.10 or newer).

    SIGNING_SECRET=whsec_… API_KEY=isk_… BASE_URL=https://quotes.example.com python3 receiver.py

A delivery is verified, kept in the inbox and answered. A thread then fetches the document and links it.
"""

import email.utils, hashlib, hmac, http.server, json, os, re, sqlite3, sys, threading, time
import urllib.error, urllib.request

SECRET, KEY, BASE_URL = (os.environ[name].strip() for name in ("SIGNING_SECRET", "API_KEY", "BASE_URL"))
INBOX, PORT = os.environ.get("INBOX", "inbox.db"), int(os.environ.get("PORT", "9000"))
RECEIVER = os.environ.get("RECEIVER", "")  # names this receiver in an inbox that several share
os.umask(0o077)  # the inbox has your clients' names
if not SECRET:
    sys.exit("SIGNING_SECRET is empty")


def is_genuine(header, body):
    parts = [part.partition("=")[::2] for part in header.split(",")]
    times = [value for name, value in parts if name == "t"]
    if len(times) != 1 or not re.fullmatch("[0-9]{1,12}", times[0]) or abs(int(time.time()) - int(times[0])) > 300:
        return False
    # The key is the whole secret, `whsec_` included. There are two `v1` while a secret is being replaced.
    mac = hmac.new(SECRET.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    return any(name == "v1" and hmac.compare_digest(mac, value.encode()) for name, value in parts)


def keep(body):
    event = json.loads(body)
    # An event that is not known here may be without an id.
    key = (RECEIVER, event["event"], event.get("data", {}).get("id", ""), event["timestamp"])
    with sqlite3.connect(INBOX, timeout=3) as inbox:  # one transaction; what is known already is left alone
        inbox.execute("INSERT OR IGNORE INTO inbox (receiver, event, id, timestamp, body) VALUES (?, ?, ?, ?, ?)",
                      (*key, body))


class Hook(http.server.BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length) if 0 <= length <= 1 << 20 else b""  # as it came, not parsed
        genuine = is_genuine(self.headers.get("X-Service-Signature", ""), body)
        if genuine:
            keep(body)
        self.send_response(204 if genuine else 400)  # 204 only once it is kept; a 4xx ends the delivery
        self.end_headers()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None  # an error: the key goes to no other address


opener = urllib.request.build_opener(NoRedirect)


def pause(retry_after, attempt):
    """Seconds to wait: what the answer asks for, in seconds or as a date, and longer with each attempt."""
    try:
        asked = int(retry_after)
    except ValueError:
        try:
            asked = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (TypeError, ValueError):
            asked = 0
    return min(max(asked, 2 ** attempt), 90)


def call(method, path, body=None):
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"{BASE_URL}/api/v1{path}", data, headers, method=method)
    for attempt in range(5):
        try:
            with opener.open(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as refused:
            if "Retry-After" not in refused.headers or attempt == 4:
                raise
            time.sleep(pause(refused.headers["Retry-After"], attempt))  # the quota of the key, or an outage


def handle(event):
    match event["event"]:
        case "quote.created" | "quote.signed" | "quote.accepted":
            quote = call("GET", f"/quotes/{event['data']['id']}")
            deal = f"deal-{quote['number']}"  # the id in your own system
            if quote["externalId"] != deal:
                call("PATCH", f"/quotes/{quote['id']}", {"externalId": deal})
            return f"{deal} has {len(quote['lines'])} lines"
        case "invoice.created" | "invoice.paid":
            invoice = call("GET", f"/invoices/{event['data']['id']}")
            return f"{invoice['status']} with {len(invoice['lines'])} lines"
    return "nothing to do"  # pings, projects, and what later versions add


WAITING = """SELECT rowid, event, id, timestamp, body FROM inbox
             WHERE receiver = ? AND NOT handled AND due <= strftime('%s', 'now') ORDER BY rowid"""
# In 5 s, then in 10 s, and so on up to 85 minutes: one that always fails does not hold up the others.
POSTPONE = """UPDATE inbox SET attempts = attempts + 1, due = strftime('%s', 'now') + (5 << min(attempts, 10))
              WHERE rowid = ?"""


def work():
    inbox = sqlite3.connect(INBOX, isolation_level=None)
    while True:
        for rowid, kind, id, timestamp, body in inbox.execute(WAITING, [RECEIVER]).fetchall():
            try:
                done = handle(json.loads(body))
                inbox.execute("UPDATE inbox SET handled = TRUE WHERE rowid = ?", [rowid])
                print(kind, id, timestamp, done, flush=True)
            except Exception as failed:
                print(f"{kind}: {failed}", file=sys.stderr)
                inbox.execute(POSTPONE, [rowid])
        time.sleep(0.2)


with sqlite3.connect(INBOX) as inbox:
    inbox.execute("""CREATE TABLE IF NOT EXISTS inbox (receiver TEXT, event TEXT, id TEXT, timestamp TEXT, body BLOB,
                     handled INTEGER DEFAULT FALSE, attempts INTEGER DEFAULT 0, due INTEGER DEFAULT 0,
                     PRIMARY KEY (receiver, event, id, timestamp))""")
threading.Thread(target=work, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Hook).serve_forever()
