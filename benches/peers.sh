#!/usr/bin/env bash
# Installs the tools that Warpath is measured against into target/peers, which git ignores.
#
#   benches/peers.sh
#
# Installed tools are left alone. The script needs cargo, a C++ compiler (qj contains simdjson) and python3
# with venv. `jq` is the system's own, from its PATH. Each tool is built as its own documentation says. The
# libraries' programs (benches/peers) are built for this machine's processor, as sonic-rs recommends. The
# script ends with a list of the tools that failed to install.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD/target/peers
mkdir -p "$root/bin"
failed=()

attempt() {
    local name=$1
    shift
    echo "--- $name"
    "$@" || failed+=("$name")
}

# Installs a version of a program, under a name of its own, so that several versions can be installed.
crate() {
    local name=$1 crate=$2 version=$3
    [[ -x $root/bin/$name ]] && return
    cargo install --quiet --locked --root "$root/$name" --target-dir "$root/build" "$crate" --version "$version" &&
        ln -sf "../$name/bin/$crate" "$root/bin/$name"
}

python() {
    [[ -x $root/venv/bin/python ]] || python3 -m venv "$root/venv" || return
    "$root/venv/bin/python" -m pip install --quiet --disable-pip-version-check "duckdb==$1" "polars==$2" "pyarrow==$3"
}

libraries() {
    RUSTFLAGS='-C target-cpu=native' cargo build --quiet --release --locked \
        --manifest-path benches/peers/Cargo.toml --target-dir "$root/build" &&
        cp "$root/build/release/peers" "$root/build/release/quamina" "$root/bin/"
}

attempt 'qj 0.1.4' crate qj-0.1.4 qj 0.1.4
attempt 'qj 0.3.0' crate qj-0.3.0 qj 0.3.0
attempt 'jaq' crate jaq jaq 3.1.2
attempt 'DuckDB, Polars and pyarrow' python 2.0.0 2.1.0 26.0.1
attempt 'libraries' libraries
attempt 'jq' command -v jq

if ((${#failed[@]})); then
    printf 'not installed: %s\n' "${failed[@]}" >&2
    exit 1
fi
