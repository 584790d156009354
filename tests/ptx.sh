#!/usr/bin/env bash
# Builds or checks the PTX in host/device/ptx and benches/ptx, then has NVIDIA's assembler check it. No GPU is
# needed.
#
#   tests/ptx.sh [build|check]          (default: check)
#   tests/ptx.sh build|check rivals     the PTX in benches/rivals/ptx
#
# It installs missing parts: the source of `core` (from rustup, else from Debian) and `ptxas` (from PyPI).
# Exit status: 0 good; 1 the PTX differs from the PTX of the sources, or ptxas refuses it; 2 a part is missing
# or failed. Without ptxas only the comparison is made; with CI=true that is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=${1:-check}
case $mode:${2:-} in
build: | check:)
    folders=(host/device/ptx benches/ptx)
    program=(-p warpath-cuda-builder --)
    ;;
build:rivals | check:rivals)
    folders=(benches/rivals/ptx)
    program=(--manifest-path benches/rivals/Cargo.toml --bin ptx-rivals -- --root .)
    ;;
*)
    echo "usage: tests/ptx.sh [build|check] [rivals]" >&2
    exit 2
    ;;
esac

target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)

say() { printf 'ptx.sh: %s\n' "$*"; }
die() {
    printf 'ptx.sh: %s\n' "$*" >&2
    exit 2
}

# --- the source of core -------------------------------------------------------------------------------------

has_core() { [[ -f $1/library/core/Cargo.toml ]]; }

# Gets Debian's package of the compiler's own source, of exactly this version, and prints its folder.
rust_src_from_debian() {
    local version=$1 dir=$target/rust-src mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    local source=$dir/root/usr/src/rustc-$version
    if has_core "$source"; then
        echo "$source"
        return
    fi
    for tool in apt-get dpkg; do
        command -v "$tool" >/dev/null || { say "no $tool on this machine" >&2; return 1; }
    done
    [[ -r $keyring ]] || { say "no $keyring: install debian-archive-keyring" >&2; return 1; }
    # shellcheck disable=SC2016  # apt's own placeholders
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | head -n 1) ||
        { say "apt's configuration names no Debian mirror" >&2; return 1; }

    # Lists and settings of its own: the machine's lists and settings are read, never written.
    rm -rf "$dir"
    mkdir -p "$dir"/{lists/partial,archives/partial,root}
    echo "deb [signed-by=$keyring] $mirror trixie-backports main" >"$dir/sources.list"
    local apt=(
        -o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir" -o "Dir::Cache::Archives=$dir/archives"
        -o Acquire::Languages=none -o APT::Get::List-Cleanup=0
    )
    if [[ $(id -u) == 0 ]]; then apt+=(-o APT::Sandbox::User=root); fi
    apt-get -qq "${apt[@]}" update >&2 || return 1
    (cd "$dir" && apt-get -qq "${apt[@]}" download "rust-src=$version*") >&2 || return 1
    dpkg -x "$dir"/rust-src_*.deb "$dir/root" >&2 || return 1
    rm -f "$dir"/rust-src_*.deb
    has_core "$source" || { say "Debian's rust-src has no $source" >&2; return 1; }
    echo "$source"
}

ensure_rust_src() {
    local sysroot link version source
    sysroot=$(rustc --print sysroot) || die "no rustc"
    link=$sysroot/lib/rustlib/src/rust
    if has_core "$link"; then return; fi
    say "getting the source of core"
    # rustup fails at a link of an earlier run whose target is gone.
    if [[ -L $link ]]; then rm -f "$link"; fi
    if command -v rustup >/dev/null; then
        timeout 600 rustup component add rust-src >&2 || say "rustup cannot fetch rust-src"
        if has_core "$link"; then return; fi
    fi
    version=$(rustc --version | cut -d' ' -f2)
    source=$(rust_src_from_debian "$version") || die "\
no source of core for rustc $version: neither rustup nor Debian has it. Put its source (the folder that holds
library/core) at $link"
    if ! { mkdir -p "${link%/*}" && ln -sfn "$source" "$link"; }; then die "cannot link $link to $source"; fi
    say "linked $link to Debian's rust-src"
}

# --- ptxas --------------------------------------------------------------------------------------------------

# Prints the path of a ptxas. Installs it from PyPI if the machine has none.
find_ptxas() {
    local dir=$target/ptxas found
    command -v ptxas && return
    if [[ -x /usr/local/cuda/bin/ptxas ]]; then
        echo /usr/local/cuda/bin/ptxas
        return
    fi
    unpacked() { find "$dir" -type f -path '*/bin/ptxas' 2>/dev/null | head -n 1; }
    found=$(unpacked)
    if [[ -z $found ]]; then
        command -v python3 >/dev/null || { say "no python3 to fetch ptxas with" >&2; return 1; }
        say "getting ptxas" >&2
        rm -rf "$dir"
        mkdir -p "$dir"
        # The ptxas of CUDA 13 knows sm_75 to sm_121.
        python3 -m pip --disable-pip-version-check download -q --no-deps --only-binary=:all: -d "$dir" \
            'nvidia-cuda-nvcc>=13,<14' >&2 || return 1
        python3 -m zipfile -e "$dir"/*.whl "$dir" && rm -f "$dir"/*.whl || return 1
        found=$(unpacked)
        [[ -n $found ]] || { say "the wheel has no ptxas" >&2; return 1; }
        chmod +x "$found"
    fi
    echo "$found"
}

# Reads `ptxas -v` and prints one line for each kernel.
table() {
    awk -v file="$1" '
        function quoted(text) { split(text, part, "\047"); return part[2] }
        /Compiling entry function/ {
            entry = quoted($0); arch = $0; sub(/.*for \047/, "", arch); sub(/\047.*/, "", arch); next
        }
        /Function properties for/ { of = $NF; next }
        / bytes stack frame/ && of == entry { stack = $1; stores = $5; loads = $9; next }
        /Used [0-9]+ registers/ {
            registers = $0; sub(/.*Used /, "", registers); sub(/ .*/, "", registers)
            smem = 0; if (match($0, /[0-9]+ bytes smem/)) smem = substr($0, RSTART, RLENGTH) + 0
            printf "%-16s %-8s %-40s %9d %6d %7d %7d %7d\n", file, arch, entry, registers, stack, stores, loads, smem
        }'
}

check_with_ptxas() {
    local ptxas=$1 failed=0 log file from arch
    log=$(mktemp)
    # shellcheck disable=SC2064  # the name is fixed now
    trap "rm -f '$log' '$log.cubin'" EXIT
    say "$("$ptxas" --version | grep release)"
    printf '%-16s %-8s %-40s %9s %6s %7s %7s %7s\n' \
        ptx arch kernel registers stack 'sp.st' 'sp.ld' shared
    shopt -s nullglob
    # shellcheck disable=SC2068  # patterns
    for file in ${folders[@]/%//*.ptx}; do
        from=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$file" | head -n 1)
        [[ -n $from ]] || { say "$file has no .target"; failed=1; continue; }
        # Its own architecture, and those that a driver will compile it for.
        for arch in $(printf '%s\n' "$from" 75 80 90 100 | awk -v from="$from" '$1 >= from' | sort -nu); do
            if "$ptxas" -v "-arch=sm_$arch" "$file" -o "$log.cubin" >"$log" 2>&1; then
                table "$(basename "$file" .ptx)" <"$log"
                grep -E '^ptxas.*warning' "$log" || true
            else
                cat "$log"
                say "ptxas refuses $file for sm_$arch"
                failed=1
            fi
        done
    done
    return "$failed"
}

# ----------------------------------------------------------------------------------------------------------------

ensure_rust_src
status=0
cargo run --quiet "${program[@]}" "$mode" || status=$?
((status <= 1)) || exit "$status"

if ptxas=$(find_ptxas | tail -n 1) && [[ -n $ptxas ]]; then
    check_with_ptxas "$ptxas" || status=1
else
    say "ptxas is not to be had: the PTX is not assembled"
    if [[ ${CI:-} == true ]]; then exit 2; fi
fi
exit "$status"
