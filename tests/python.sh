#!/usr/bin/env bash
# Builds the wheel, installs it in a new environment outside the repository, and runs its tests there.
#
#   tests/python.sh             a wheel without optimisation, which takes the least time to build
#   tests/python.sh --release   the wheel of a release, for an old glibc
#
# It needs Rust, a C compiler, and Python 3.10 or newer with venv; pip gets everything else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/python"
target=$(cd "$target/python" && pwd)

# The packages of both workspaces have the same versions.
python3 - "$root" <<'EOF'
import sys
import tomllib
from pathlib import Path

def versions(folder):
    packages = tomllib.loads((Path(sys.argv[1]) / folder / "Cargo.lock").read_text())["package"]
    known = {}
    for package in packages:
        known.setdefault(package["name"], set()).add(package["version"])
    return known

product, wheel = versions("."), versions("host/python")
for name in sorted(product.keys() & wheel.keys()):
    if not wheel[name] <= product[name]:
        print(f"host/python/Cargo.lock: {name} {wheel[name]}, but {product[name]} in Cargo.lock", file=sys.stderr)
        print("copy Cargo.lock to host/python, and run `cargo fetch` there", file=sys.stderr)
        sys.exit(1)
EOF

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
export PATH="$folder/venv/bin:$PATH" PIP_QUIET=1 PIP_DISABLE_PIP_VERSION_CHECK=1
tools=('maturin>=1.9.4,<2' pytest mypy pyarrow polars duckdb pandas)
options=(--profile dev)
if [[ ${1:-} == --release ]]; then
    tools+=(ziglang)
    options=(--release --zig --compatibility manylinux2014)
fi
pip install "${tools[@]}"

cargo fmt --check --manifest-path host/python/Cargo.toml
(cd host/python && maturin build --quiet --locked "${options[@]}" --target-dir "$target" --out "$folder/wheel" \
    --interpreter python3)
pip install --no-index --no-deps "$folder"/wheel/*.whl
ls -l "$folder"/wheel

# The tests see the installed package alone: no folder of the repository is the current one.
mkdir "$folder/empty"
cd "$folder/empty"
python -m pytest -q -p no:cacheprovider --rootdir "$root/host/python" "$root/host/python/tests"
python -m mypy --strict --no-incremental "$root/host/python/tests/typed.py"
python -m mypy.stubtest warpath --ignore-missing-stub
