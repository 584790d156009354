#!/usr/bin/env bash
# Reads stores by programs that do not know Warpath: pyarrow, DataFusion, DuckDB, Polars and deltalake. ADBC
# reads one from `warpath serve`, by Flight SQL.
#
#   tests/store.sh
#   WARPATH_READERS='adbc-driver-flightsql adbc-driver-manager datafusion deltalake duckdb==1.4.2 polars \
#       pyarrow' tests/store.sh    other versions
#
# It needs Rust, a C compiler, and Python 3.10 or newer with venv; pip gets the readers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Of the whole workspace, because its other builds have compiled the same dependencies.
cargo build --quiet --locked --workspace --example part --example delta --example store --bin warpath \
    --bin warpath-serve
programs=${CARGO_TARGET_DIR:-target}/debug
examples=$programs/examples
python3 -m venv "$folder/venv"
export PATH="$folder/venv/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1
readers='adbc-driver-flightsql adbc-driver-manager datafusion deltalake duckdb polars pyarrow'
# shellcheck disable=SC2086  # words, as in a shell
if ! pip install ${WARPATH_READERS:-$readers}; then
    echo "store.sh: pip did not get the readers. Without a network, name a folder with their wheels:" >&2
    echo "    PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER tests/store.sh" >&2
    exit 1
fi

compare() {
    if ! python "$@"; then
        echo "store.sh: $1 failed, see above. The readers are:" >&2
        pip list --format freeze | sed 's/^/    /' >&2
        echo "If a reader has a new version, WARPATH_READERS names an older one. If the older one reads the" \
            "store as expected, the reader has changed; otherwise the store has." >&2
        return 1
    fi
}

# Random rows, each kind of change, and true records.
compare tests/part.py "$examples/part"
compare tests/delta.py "$examples/delta" "$folder/logs.wp"
compare tests/store.py "$examples/store" "$folder/store.wp"
compare tests/flight.py "$programs/warpath-serve" "$programs/warpath"
