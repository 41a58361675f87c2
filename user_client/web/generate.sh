#!/usr/bin/env bash
# The wire: src/generated from proto/peos/v1, into the folder given or in place. A test compares (tests/unit/client/test_web.py).
set -euo pipefail
cd "$(dirname "$0")"
"${PYTHON:-../../.venv/bin/python}" -m grpc_tools.protoc -I../../proto --plugin=protoc-gen-es=node_modules/.bin/protoc-gen-es \
    --es_out="${1:-src/generated}" --es_opt=target=ts,import_extension=js ../../proto/peos/v1/*.proto
