"""Writes vectors.json: deliveries and what a receiver must say to them.

Uses Python's own hmac and hashlib, so that the crate is checked against another implementation. The output depends on
nothing but this file: `python3 vectors.py > vectors.json`.

Fields of a vector: `secrets` (hex), `header` (hex), `body` (hex) repeated `times`, `now` (Unix seconds), `tolerance`
(seconds), `expect` and, for `too_old` and `too_new`, `seconds`. `signs` says that signing `body` at `t` with the first
secret gives exactly this header.
"""

import hashlib
import hmac
import json

SECRET = b"whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
OLD = b"whsec_HyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4"
BODY = '{"event":"quote.signed","timestamp":"2026-09-14T09:41:07.123Z","data":{"clientName":"Lefèvre"}}'.encode()
T = 1_789_378_867
I64_MAX, I64_MIN = 2**63 - 1, -(2**63)
vectors = []


def mac(t, body=BODY, secret=SECRET, digest=hashlib.sha256):
    return hmac.new(secret, f"{t}.".encode() + body, digest).hexdigest()


def add(name, expect, header, *, secrets=(SECRET,), body=BODY, times=1, now=T, tolerance=300, seconds=None, signs=None):
    header = header if isinstance(header, bytes) else header.encode()
    vector = {
        "name": name,
        "secrets": [secret.hex() for secret in secrets],
        "header": header.hex(),
        "body": body.hex(),
        "times": times,
        "now": now,
        "tolerance": tolerance,
        "expect": expect,
    }
    if seconds is not None:
        vector["seconds"] = seconds
    if signs is not None:
        vector["signs"] = {"t": signs}
    vectors.append(vector)


def canonical(name, expect="valid", *, t=T, body=BODY, times=1, secret=SECRET, **more):
    header = f"t={t},v1={mac(t, body * times, secret)}"
    add(name, expect, header, secrets=(secret,), body=body, times=times, signs=t, **more)


def bodies_and_secrets():
    canonical("a delivery")
    canonical("empty body", body=b"")
    canonical("body that is not UTF-8", body=b"\xff\xfe\x00\x80{\xc3\x28}")
    canonical("body of all byte values", body=bytes(range(256)))
    canonical("body of 16 KiB", body=b"0123456789abcdef", times=1024)
    canonical("body of 1 MiB and a byte's worth of misalignment", body=b"\x00\xa5\n", times=349_526)
    for length in (42, 43, 44, 51, 52, 53, 54, 106, 107):
        canonical(f"body of {length} bytes, about a block's edge", body=b"x" * length)
    for length in (1, 63, 64, 65, 200):
        canonical(f"secret of {length} bytes", secret=b"k" * length)
    canonical("secret that is not UTF-8", secret=bytes(range(255, 223, -1)))
    header = f"t={T},v1={mac(T)}"
    add("secret without its prefix", "no_match", header, secrets=(SECRET[6:],))
    add("secret between white space, as it is read from a file", "valid", header, secrets=(b" " + SECRET + b"\r\n",))
    add("secret of another form, whose line break counts", "no_match", f"t={T},v1={mac(T, secret=b'key')}", secrets=(b"key\n",))
    canonical("secret of another form that ends with a line break", secret=b"key\n")
    add("empty secret", "empty_secret", f"t={T},v1={mac(T, secret=b'')}", secrets=(b"",))
    add("empty secret beside a good one", "empty_secret", header, secrets=(SECRET, b""))
    add("no secret", "empty_secret", header, secrets=())
    add("another body", "no_match", header, body=BODY + b" ")
    add("body cut by a byte", "no_match", header, body=BODY[:-1])
    add("body printed again", "no_match", header, body=json.dumps(json.loads(BODY)).encode())


def timestamps():
    for t in (0, 1, -1, -T, I64_MAX, I64_MIN):
        canonical(f"t = now = {t}", t=t, now=t)
    for text, value in (("0001789378867", T), ("-0", 0), ("00", 0), ("-007", -7), ("0" * 40 + "5", 5)):
        add(f"t = {text}, and the MAC covers this text", "valid", f"t={text},v1={mac(text)}", now=value)
        add(f"t = {text}, and the MAC covers the number", "no_match", f"t={text},v1={mac(value)}", now=value)
    bad = ["", "-", "+1789378867", "--1", "1.0", "1e9", "0x10", "1_000", " 1", "1 ", "1\t", "now", "٣", "NaN", "1;"]
    bad += [str(I64_MAX + 1), str(I64_MIN - 1), "9" * 40]
    for text in bad:
        add(f"t = {text!r}", "malformed", f"t={text},v1={mac(text)}", now=1)
    add("t that is not UTF-8", "malformed", b"t=1\xff,v1=" + mac(1).encode(), now=1)
    add("two t, the same", "malformed", f"t={T},t={T},v1={mac(T)}")
    add("two t, the second bad", "malformed", f"t={T},v1={mac(T)},t=")
    add("two t, the second older", "malformed", f"t={T},v1={mac(T)},t={T - 9}")
    add("two values joined by a proxy", "malformed", f"t={T},v1={mac(T)},t={T},v1={mac(T)}")


def times():
    for difference in (0, 1, 299, 300):
        canonical(f"{difference} s old", now=T + difference)
        canonical(f"{difference} s ahead", now=T - difference)
    for difference in (301, 302, 86_400):
        canonical(f"{difference} s old", "too_old", now=T + difference, seconds=difference)
        canonical(f"{difference} s ahead", "too_new", now=T - difference, seconds=difference)
    for t, now in ((I64_MIN, I64_MAX), (I64_MIN, 0), (I64_MIN, I64_MIN + 301), (I64_MAX - 301, I64_MAX), (-200, 101)):
        canonical(f"t = {t}, now = {now}", "too_old", t=t, now=now, seconds=now - t)
        canonical(f"t = {now}, now = {t}", "too_new", t=now, now=t, seconds=now - t)
    for t, now in ((I64_MIN, I64_MIN + 300), (I64_MAX, I64_MAX - 300), (-150, 150), (150, -150)):
        canonical(f"t = {t}, now = {now}", t=t, now=now)
    canonical("tolerance 0, same second", tolerance=0)
    canonical("tolerance 0, a second later", "too_old", now=T + 1, tolerance=0, seconds=1)
    canonical("tolerance 600", now=T + 600, tolerance=600)
    canonical("tolerance without end", t=I64_MIN, now=I64_MAX, tolerance=2**64 - 1)
    add("old and forged: the MAC is judged first", "no_match", f"t={T},v1={mac(T - 1)}", now=T + 999)


def signatures():
    good, wrong = mac(T), mac(T + 1)
    t = f"t={T}"
    add("right v1 first", "valid", f"{t},v1={good},v1={wrong}")
    add("right v1 last", "valid", f"{t},v1={wrong},v1={good}")
    add("right v1 among many", "valid", ",".join([t] + [f"v1={wrong}"] * 20 + [f"v1={good}"] + ["v1="] * 20))
    add("v1 before t", "valid", f"v1={good},{t}")
    add("several v1, none right", "no_match", f"{t},v1={wrong},v1={mac(T + 2)}")
    add("unknown keys", "valid", f"v0={wrong},{t},kid=1,v2=x=y,v1={good},tt=5,flag,,")
    add("unknown keys that are not UTF-8", "valid", b"\xff\xfe=\x80," + f"{t},v1={good}".encode() + b",\xc3")
    add("key t without a value is no t", "valid", f"t,{t},v1={good}")
    add("key v1 without a value is no v1", "malformed", f"{t},v1")
    add("upper case", "no_match", f"{t},v1={good.upper()}")
    digit = next(at for at in range(64) if good[at].isalpha())
    add("one upper case digit", "no_match", f"{t},v1={good[:digit]}{good[digit].upper()}{good[digit + 1:]}")
    add("63 characters", "no_match", f"{t},v1={good[:63]}")
    add("65 characters", "no_match", f"{t},v1={good}0")
    add("right v1 twice in one", "no_match", f"{t},v1={good}{good}")
    add("v1 empty", "no_match", f"{t},v1=")
    add("space before the hex", "no_match", f"{t},v1= {good}")
    add("space after the hex", "no_match", f"{t},v1={good} ")
    add("64 zeros", "no_match", f"{t},v1={'0' * 64}")
    add("64 bytes that are not text", "no_match", f"{t},v1=".encode() + b"\xff" * 64)
    for at in (0, 1, 31, 32, 62, 63):
        other = "0" if good[at] != "0" else "1"
        add(f"wrong digit at {at}", "no_match", f"{t},v1={good[:at]}{other}{good[at + 1:]}")
    add("SHA-1", "no_match", f"{t},v1={mac(T, digest=hashlib.sha1)}")
    add("SHA-512 cut to 64", "no_match", f"{t},v1={mac(T, digest=hashlib.sha512)[:64]}")
    add("MAC of the body alone", "no_match", f"{t},v1={hmac.new(SECRET, BODY, hashlib.sha256).hexdigest()}")
    add("only v0", "malformed", f"{t},v0={good}")
    add("only V1", "malformed", f"{t},V1={good}")
    add("only T", "malformed", f"T={T},v1={good}")
    add("space after the comma", "malformed", f"{t}, v1={good}")
    add("space before the header", "malformed", f" {t},v1={good}")
    add("semicolon", "malformed", f"{t};v1={good}")
    add("only t", "malformed", t)
    add("only v1", "malformed", f"v1={good}")
    add("empty header", "malformed", "")
    add("commas", "malformed", ",,,")
    add("hash prefix", "malformed", f"sha256={good}")
    add("bare hex", "malformed", good)
    add("NUL bytes", "malformed", b"\x00" * 90)


def rotation():
    by_new, by_old = f"v1={mac(T)}", f"v1={mac(T, secret=OLD)}"
    both = (SECRET, OLD)
    add("rotation, signed with the new secret", "valid", f"t={T},{by_new}", secrets=both)
    add("rotation, signed with the old secret", "valid", f"t={T},{by_old}", secrets=both)
    add("rotation, signed with both", "valid", f"t={T},{by_old},{by_new}", secrets=both)
    add("rotation over, signed with the old secret", "no_match", f"t={T},{by_old}")
    add("rotation over, signed with both", "valid", f"t={T},{by_old},{by_new}")
    many = tuple(b"old %d" % number for number in range(30))
    add("last of many secrets", "valid", f"t={T},{by_new}", secrets=(*many, SECRET))
    add("none of many secrets", "no_match", f"t={T},{by_new}", secrets=many)
    add("rotation, but old", "too_old", f"t={T},{by_old}", secrets=both, now=T + 301, seconds=301)


bodies_and_secrets()
timestamps()
times()
signatures()
rotation()
assert len({vector["name"] for vector in vectors}) == len(vectors), "names must be unique"
print("[\n" + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]")
