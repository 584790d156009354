#!/usr/bin/env bash
# Measures two builds in turns, on a machine with or without a GPU and without Rust.
#
#   benches/turns.sh BEFORE AFTER [ROUNDS] [CASE...]
#
# BEFORE and AFTER are folders of programs, as `tests/gpu.sh build FOLDER` makes them from two commits. Each
# round (default: 2) runs each case with BEFORE, then with AFTER. A change of the machine's speed therefore
# meets both. A line `== CASE ROUND FOLDER` precedes the output of each run. Cases: cpu, gpu, flow, bitmap,
# fsst, twig (default: all).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
before=${1:?folder of the programs before}
after=${2:?folder of the programs after}
rounds=${3:-2}
cases=("${@:4}")
((${#cases[@]})) || cases=(cpu gpu flow bitmap fsst twig)

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
"$after/generate" --shape twitter --size 841000000 -o "$data/twitter.ndjson"

# Seconds of whole processes, the least of nine runs.
whole() {
    local bin=$1 least='' took
    shift
    for _ in 1 2 3 4 5 6 7 8 9; do
        local start=$EPOCHREALTIME
        "$bin/warpath" "$@" "$data/twitter.ndjson" >"$data/out"
        took=$((${EPOCHREALTIME/./} - ${start/./}))
        ((least && least <= took)) || least=$took
    done
    printf '%9.3f ms  %s\n' "$((least / 1000)).$(printf %03d $((least % 1000)))" "$*"
}

run() {
    local bin=$2
    case $1 in
    cpu)
        for query in '$.user.lang' '$.entities.hashtags[*].text' '$.user[?@ == "nl"]' '$.entities.urls[0:1].url' \
            '$..id_str' '$.entities.hashtags[?@.indices[0] > 10].text'; do
            whole "$bin" query --device cpu --workers 2 --count "$query"
        done
        whole "$bin" query --device cpu --workers 2 '$.user.lang'
        whole "$bin" query --device cpu --workers 2 --strict --count '$.id'
        whole "$bin" select --device cpu --workers 2 'lang=$.user.lang' 'id=$.id' 'text=$.text' --
        whole "$bin" select --device cpu --workers 2 --format arrow 'lang:string=$.user.lang' 'id:int64=$.id' --
        whole "$bin" validate --workers 2
        ;;
    gpu)
        "$bin/bench" kernels --levels 3 "$data/twitter.ndjson" '$.user.lang' '$.lang' '$.user[?@ == "nl"]' \
            '$.entities.hashtags[*].text'
        "$bin/bench" kernels --trees --brackets 20000000 "$data/twitter.ndjson"
        "$bin/bench" kernels --strict "$data/twitter.ndjson"
        ;;
    flow) "$bin/bench" flow --copy --columns --packed "$data/twitter.ndjson" '$.user.lang' ;;
    bitmap) "$bin/bench" bitmap --cuda 0 --data kdd --columns 16,64 --threads 1 ;;
    fsst) "$bin/bench" fsst urls --strings 4000000 ;;
    twig) "$bin/bench" twig --cuda 0 --runs 4 --event-bytes 100000000 bar events ;;
    *)
        echo "unknown case: $1" >&2
        return 2
        ;;
    esac
}

for case in "${cases[@]}"; do
    for ((round = 1; round <= rounds; round++)); do
        for bin in "$before" "$after"; do
            echo "== $case $round $bin"
            run "$case" "$bin"
        done
    done
done
