#!/usr/bin/env bash
# Holds the server to its own description; see doc.go. It needs Python 3 with
# venv, and makes an environment below a temporary folder unless
# VCPHOST_CONTRACT names one that may be kept.
set -euo pipefail
cd "$(dirname "$0")"

if [ -z "${VCPHOST_CONTRACT:-}" ]; then
  VCPHOST_CONTRACT=$(mktemp -d)
  trap 'rm -rf "$VCPHOST_CONTRACT"' EXIT
fi
export VCPHOST_CONTRACT
[ -x "$VCPHOST_CONTRACT/bin/pip" ] || python3 -m venv "$VCPHOST_CONTRACT"
"$VCPHOST_CONTRACT/bin/pip" install -q --disable-pip-version-check -r requirements.txt
go test -count=1 -timeout 15m "$@" .
