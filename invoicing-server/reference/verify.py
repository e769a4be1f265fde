#!/usr/bin/env python3
"""Whether a delivery is genuine, with Python's standard library. Exits with 0 where it is, else with 1:

    INVOICING_WEBHOOK_SECRET=whsec_… SIGNATURE='t=…,v1=…' python3 verify.py < body
"""

import os
import sys

# region verify
import hashlib
import hmac
import re
import time


def verify(secret, signature, body):
    """Takes the whole secret with `whsec_`, the signature header, and the body as it came, as bytes."""
    parts = [part.partition("=") for part in signature.split(",")]
    times = [value for name, _, value in parts if name == "t"]
    if len(times) != 1 or not re.fullmatch("[0-9]{1,12}", times[0]):
        return False
    if abs(int(time.time()) - int(times[0])) > 300:
        return False  # a replay, or a clock that is wrong
    secret = secret.strip()  # a secret from a file ends with a line break
    mac = hmac.new(secret.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    # In constant time. There are two `v1` while a secret is rotated: any match is enough.
    return any(hmac.compare_digest(mac.encode(), value.encode()) for name, _, value in parts if name == "v1")
# endregion


if __name__ == "__main__":
    genuine = verify(os.environ["INVOICING_WEBHOOK_SECRET"], os.environ["SIGNATURE"], sys.stdin.buffer.read())
    sys.exit(0 if genuine else 1)
