#!/usr/bin/env bash
# Reads stores by programs that do not know Warpath: pyarrow, DuckDB, Polars and deltalake.
#
#   tests/store.sh
#
# It needs Rust, a C compiler, and Python 3.10 or newer with venv; pip gets the readers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Of the whole workspace, because its other builds have compiled the same dependencies.
cargo build --quiet --locked --workspace --example part --example delta --example store
examples=${CARGO_TARGET_DIR:-target}/debug/examples
python3 -m venv "$folder/venv"
export PATH="$folder/venv/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1
pip install deltalake duckdb polars pyarrow
# Random rows, each kind of change, and true records.
python tests/part.py "$examples/part"
python tests/delta.py "$examples/delta" "$folder/logs.wp"
python tests/store.py "$examples/store" "$folder/store.wp"
