#!/usr/bin/env bash
# Whether a delivery is genuine, for debugging: prints what `v1` should be, and fails where the header has another.
# While openssl runs, the list of processes shows the secret.
#
#   INVOICING_WEBHOOK_SECRET=whsec_… SIGNATURE='t=…,v1=…' bash verify.sh < body

# region verify
set -euo pipefail

# The key is the whole secret, with whsec_. The message is t, a dot, and the body byte for byte.
secret=$(tr -d '[:space:]' <<< "$INVOICING_WEBHOOK_SECRET") # from a file it ends with a line break
t=$(tr ',' '\n' <<< "$SIGNATURE" | sed -n 's/^t=//p')
[[ $t =~ ^[0-9]{1,12}$ ]] || exit 1 # or the arithmetic below would run commands of the sender
v1=$({ printf '%s.' "$t"; cat; } | openssl dgst -sha256 -hmac "$secret" -r | cut -d ' ' -f 1)
echo "$v1"
age=$(($(date +%s) - 10#$t))
[ "${age#-}" -le 300 ] && tr ',' '\n' <<< "$SIGNATURE" | grep --quiet --line-regexp "v1=$v1"
# endregion
