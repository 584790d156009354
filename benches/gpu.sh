#!/usr/bin/env bash
# Times the kernels on a machine with a GPU and without Rust, with the programs that `tests/gpu.sh build` made.
#
#   benches/gpu.sh [FOLDER]        (default: .gpu-carry)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bin=${1:-.gpu-carry}
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
date -u +%Y-%m-%d
"$bin/generate" --shape twitter --size 841681456B -o "$data/twitter.ndjson"
"$bin/bench-gpu" --levels 3 "$data/twitter.ndjson" '$.user.lang' '$.lang' '$.user[?@ == "nl"]' '$.entities.urls[*].url'
for device in cuda cpu; do
    for _ in 1 2 3; do
        "$bin/warpath" query --device "$device" --count --stats '$.user.lang' "$data/twitter.ndjson"
    done
done
