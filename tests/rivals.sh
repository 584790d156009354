#!/usr/bin/env bash
# Checks the workspace of rivals, benches/rivals: format, PTX, tests, lints and documentation. No GPU is
# needed.
#
#   tests/rivals.sh            all checks
#   tests/rivals.sh changed    the checks if the last commit changed benches/rivals, gpu or shared
#   tests/rivals.sh build      writes the PTX in benches/rivals/ptx
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# One target folder for both workspaces, which compile many of the same dependencies.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
manifest=benches/rivals/Cargo.toml

case ${1:-} in
'') ;;
changed)
    # A clone without the commit's parent says nothing about changes, so everything is checked.
    if git rev-parse --quiet --verify HEAD~1 >/dev/null &&
        git diff --quiet HEAD~1 -- benches/rivals gpu shared; then
        echo "rivals.sh: skipped, because benches/rivals, gpu and shared are as in the commit before"
        exit
    fi
    ;;
build)
    exec tests/ptx.sh build rivals
    ;;
*)
    echo "usage: tests/rivals.sh [changed|build]" >&2
    exit 2
    ;;
esac

cargo fetch --locked --manifest-path "$manifest"
cargo fmt --manifest-path "$manifest" --all --check
tests/ptx.sh check rivals
cargo test --manifest-path "$manifest" --workspace
cargo clippy --manifest-path "$manifest" --workspace --all-targets -- -D warnings
RUSTDOCFLAGS='-D warnings' cargo doc --manifest-path "$manifest" --workspace --no-deps
