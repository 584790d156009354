#!/usr/bin/env bash
# Measures on a machine with a GPU and without Rust.
#
#   benches/gpu.sh build [FOLDER]     here: builds the programs, stripped, into FOLDER; default: .gpu-programs
#   benches/gpu.sh rivals [FOLDER]    here: builds `bench-rivals` and `check-rivals`, stripped, into FOLDER
#   benches/gpu.sh run FOLDER [ARGS]  there: `bench gpu ARGS`, over data in a folder, removed afterwards
#
# `bench-rivals bitmap`, `twig` and `fsst` measure what `bench` measures under these names, beside the rivals.
#
# Results, tables and plots are written to docs/bench, unless ARGS name another --folder. Peers in FOLDER are
# measured too, if they have the names that benches/peers.sh gives them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=${1:?build, rivals or run}
bin=${2:-.gpu-programs}

case $mode in
build)
    cargo build --release --package warpath-cli --package warpath-benches --bins
    mkdir -p "$bin"
    for program in warpath bench; do
        strip -o "$bin/$program" "${CARGO_TARGET_DIR:-target}/release/$program"
    done
    for peer in qj-0.1.4 qj-0.3.0; do
        if [[ -e target/peers/bin/$peer ]]; then
            cp -L "target/peers/bin/$peer" "$bin/$peer"
        fi
    done
    # The machine that runs the programs may lack git or the repository.
    git describe --always --dirty=+ >"$bin/revision"
    ls -l "$bin"
    ;;
rivals)
    cargo build --release --manifest-path benches/rivals/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" \
        --bin bench-rivals --bin check-rivals
    mkdir -p "$bin"
    for program in bench-rivals check-rivals; do
        strip -o "$bin/$program" "${CARGO_TARGET_DIR:-target}/release/$program"
    done
    ls -l "$bin"
    ;;
run)
    data=$(mktemp -d)
    trap 'rm -rf "$data"' EXIT
    "$bin/bench" gpu --data "$data" --revision "$(<"$bin/revision")" "${@:3}"
    ;;
*)
    echo "usage: benches/gpu.sh build|rivals|run [FOLDER]" >&2
    exit 2
    ;;
esac
