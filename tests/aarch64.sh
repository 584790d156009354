#!/usr/bin/env bash
# Builds the library for 64-bit ARM and runs its own tests there: under qemu, where this machine is another.
#
# It gets what is missing: Rust's standard library for that target (from rustup), a C compiler and qemu (from apt, where there
# is one and the right to use it). Exit status: that of the tests; 2 something is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu

die() {
    printf 'aarch64.sh: %s\n' "$*" >&2
    exit 2
}

if [[ $(uname -sm) == 'Linux aarch64' ]]; then
    exec cargo test -p warpath --no-default-features --lib
fi

if ! [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
    command -v rustup >/dev/null || die "no standard library for $target, and no rustup to get it with"
    rustup target add "$target" || die "rustup could not get the standard library for $target"
fi
missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
[[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ]] || missing+=(libc6-dev-arm64-cross)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
if ((${#missing[@]})); then
    if ! command -v apt-get >/dev/null || [[ $(id -u) != 0 ]]; then
        die "missing, and not to be installed by this user here: ${missing[*]}"
    fi
    apt-get -qq update
    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null
fi

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu'
cargo test --target "$target" -p warpath --no-default-features --lib
