#!/usr/bin/env bash
# Builds the library's crates for 64-bit ARM and runs their own tests there. On another machine qemu runs
# them.
#
# Devices need CUDA and are left out: no crate has its default features. The script installs missing tools:
# Rust's standard library for that target from rustup, a C compiler and qemu from apt. The exit status is that
# of the tests, or 2 where a missing tool cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu

# The layers of the library, lowest first. The program and the driver's crate are not among them.
tests=(cargo test --no-default-features --lib)
for layer in warpath-inflate warpath-core warpath-lang warpath-store warpath-backend warpath-exec warpath; do
    tests+=(--package "$layer")
done

die() {
    printf 'aarch64.sh: %s\n' "$*" >&2
    exit 2
}

if [[ $(uname -sm) == 'Linux aarch64' ]]; then
    exec "${tests[@]}"
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
"${tests[@]}" --target "$target"
