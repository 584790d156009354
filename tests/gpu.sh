#!/usr/bin/env bash
# Compares every backend with the oracles, on a machine with a GPU and without Rust.
#
#   tests/gpu.sh build [FOLDER]    here: builds the programs, stripped, and the Python package into FOLDER
#                                  (default: .gpu-programs)
#   tests/gpu.sh run [FOLDER]      there: generates data and runs the checks, on the CPU and on cuda:0
#   tests/gpu.sh sanitize [FOLDER] there: the kernels under compute-sanitizer, over small files. It runs the
#                                  tools of WARPATH_SANITIZERS, or all four.
#
# Rivals are checked too if `benches/gpu.sh rivals` has built them into FOLDER.
#
# WARPATH_CONFORMANCE may name a folder with cts.json (the JSONPath compliance test suite) and JSONTestSuite.
# The checks then run these suites too.
#
# A Linux x86-64 binary built here runs on any machine of the same or a newer C library.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=${1:?build, run or sanitize}
bin=${2:-.gpu-programs}

case $mode in
build)
    mkdir -p "${CARGO_TARGET_DIR:-target}"
    target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
    cargo build --release --package warpath-cli --package warpath-tests --package warpath-benches --bins
    mkdir -p "$bin"
    for program in warpath check generate bench; do
        strip -o "$bin/$program" "${CARGO_TARGET_DIR:-target}/release/$program"
    done
    # The tests of the crate that loads the driver.
    cust=$(cargo test --release -p warpath-cust --lib --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    strip -o "$bin/cust" "$cust"
    # The Python package, unpacked from its wheel. It needs maturin (`pip install maturin`).
    rm -rf "$bin/python" "$target/wheel-gpu"
    if command -v maturin >/dev/null; then
        (cd host/python && maturin build --quiet --locked --release --compatibility linux \
            --target-dir "$target/python" --out "$target/wheel-gpu")
        mkdir -p "$bin/python"
        python3 -m zipfile -e "$target"/wheel-gpu/*.whl "$bin/python"
    else
        echo "gpu.sh: no maturin, so tests/device.py is left out" >&2
    fi
    ls -l "$bin"
    ;;
run)
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    for shape in twitter walmart bestbuy; do
        "$bin/generate" --shape "$shape" --size 200MiB -o "$data/$shape.ndjson"
    done
    files=(twitter="$data/twitter.ndjson" walmart="$data/walmart.ndjson" bestbuy="$data/bestbuy.ndjson")
    # The JSONPath compliance test suite and JSONTestSuite, if WARPATH_CONFORMANCE names their folder.
    conformance=()
    if [ -n "${WARPATH_CONFORMANCE:-}" ]; then
        conformance=(--conformance "$WARPATH_CONFORMANCE")
    fi
    "$bin/cust" --include-ignored
    "$bin/warpath" devices
    "$bin/check" --device cuda "${conformance[@]}" "${files[@]}"
    "$bin/check" --device cpu --no-suite "${files[@]}"
    if [[ -x $bin/check-rivals ]]; then
        "$bin/check-rivals"
    fi
    # CuPy, PyTorch and, if it is there, pyarrow take columns on the device.
    if [[ -d $bin/python ]]; then
        tests/device.py "$bin/python"
    else
        echo "gpu.sh: no Python package in $bin, so tests/device.py is left out" >&2
    fi
    ;;
sanitize)
    set -o noglob
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    "$bin/generate" --shape twitter --size 3MiB -o "$data/twitter.ndjson"
    cat tests/data/edge.ndjson tests/data/bad.ndjson tests/data/maps.ndjson >>"$data/twitter.ndjson"
    for tool in ${WARPATH_SANITIZERS:-memcheck racecheck initcheck synccheck}; do
        echo "== $tool"
        for query in '--count $.user.lang' '$.entities.urls[*].url' '-r $.text' '--count $[*][*][?@==1]' \
            '$..id_str' '$..[?@.id_str].name' '$[?@.a>1||@.b]' '--count --strict $.id'; do
            # shellcheck disable=SC2086  # a flag and a path
            compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 \
                "$bin/warpath" query --device cuda --workers 2 --on-error skip -o "$data/answers" $query \
                "$data/twitter.ndjson"
        done
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 \
            "$bin/warpath" select --device cuda --workers 2 --on-error skip -o "$data/answers" --format arrow \
            'lang:string=$.user.lang' 'id:int64=$.id' 'x:float64=$.id' 'urls:string=$.entities.urls[*].url' \
            'all=$' -- "$data/twitter.ndjson"
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check" --device cuda --bitmaps 9
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check" --device cuda --strings 5
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check" --device cuda --twigs 4
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check" --device cuda --leaves 3
        compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check" --device cuda --xml 4
        if [[ -x $bin/check-rivals ]]; then
            compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$bin/check-rivals" --rounds 4
        fi
    done
    ;;
*)
    echo "usage: tests/gpu.sh build|run|sanitize [FOLDER]" >&2
    exit 2
    ;;
esac
