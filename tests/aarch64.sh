#!/usr/bin/env bash
# Checks the library's crates for 64-bit ARM. On another machine qemu runs the tests.
#
# 1. The tests inside the crates that have instructions of their own for ARM, or are compiled for them:
#    `core` has NEON, and `store`, `answer` and `cpu` are generic over it. Under qemu the sizes are smaller
#    (`warpath_random::cases`), because each instruction takes ten times as long.
# 2. The other crates and their tests compile. They have no line that is for one processor.
#
# Devices need CUDA and are left out: no crate has its default features. The script installs missing tools:
# Rust's standard library for that target from rustup, a C compiler and qemu from apt. The exit status is that
# of the tests, or 2 where a missing tool cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=aarch64-unknown-linux-gnu
# The layers of the library, lowest first. The program and the driver's crate are not among them.
run=(warpath-core warpath-store warpath-answer warpath-cpu)
compile=(warpath-inflate warpath-lang warpath-device warpath-exec warpath)

die() {
    printf 'aarch64.sh: %s\n' "$*" >&2
    exit 2
}

if [[ $(uname -sm) == 'Linux aarch64' ]]; then
    exec cargo test --no-default-features --lib "${run[@]/#/--package=}" "${compile[@]/#/--package=}"
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
export CARGO_BUILD_TARGET=$target
cargo check --no-default-features --lib --tests --quiet "${compile[@]/#/--package=}"
WARPATH_TEST_SHARE=10 cargo test --no-default-features --lib "${run[@]/#/--package=}"
