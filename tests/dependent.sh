#!/usr/bin/env bash
# Builds the library for a dependent, and the program, with nothing but Rust and a C compiler: in an empty
# folder, with an empty environment and without this repository's .cargo/config.toml. Then runs both.
#
# The dependent is a crate of its own with the default features of `warpath`. It gets this repository's
# Cargo.lock, so that it needs no network after `cargo fetch`. Both builds share dependencies in
# target/dependent, without optimisation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# The packages of the library and of the program.
library=host
program=host/cli

# The toolchain that rust-toolchain.toml pins: rustup would not find that file from elsewhere.
toolchain=$(rustc --print sysroot)/bin
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/dependent"
target=$(cd "$target/dependent" && pwd)

folder=$(mktemp -d)
# Cargo names the dependent's files by its folder, so the next run cannot use them.
trap 'rm -rf "$folder" "$target"/debug/{deps,.fingerprint}/dependent-*' EXIT
cd "$folder"

# Runs a command with only the variables that find Cargo, its downloads and the C compiler.
clean() {
    env -i PATH="$toolchain:$PATH" HOME="$HOME" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" "$@"
}

# The same profile for both builds, so that they share their dependencies.
profile=(
    --config 'build.incremental=false'
    --config 'profile.dev.opt-level=0'
    --config 'profile.dev.debug=false'
    --config 'profile.dev.package."*".opt-level=0'
)

build() {
    clean cargo build --offline --quiet --target-dir "$target" "${profile[@]}" "$@"
}

# Compares a program's output with the expected output.
expect() {
    local wanted=$1 printed
    shift
    printed=$(clean "$@")
    if [[ $printed != "$wanted" ]]; then
        printf 'dependent.sh: `%s` printed\n%s\ninstead of\n%s\n' "$*" "$printed" "$wanted" >&2
        exit 1
    fi
}

mkdir src
cat >Cargo.toml <<EOF
[package]
name = "dependent"
version = "0.1.0"
edition = "2024"

[dependencies]
warpath = { path = "$root/$library" }
EOF
cat >src/main.rs <<'EOF'
use warpath::{DeviceChoice, Engine, Query};

fn main() -> Result<(), warpath::Error> {
    // With a driver or without: the call returns.
    let _ = warpath::cuda::devices();
    let engine = Engine::builder().device(DeviceChoice::Auto).build()?;
    let query = Query::compile("$.user.lang")?;
    for hit in engine.open("lines.ndjson")?.query(&query)? {
        println!("{}", hit?.text());
    }
    Ok(())
}
EOF
printf '%s\n' '{"user":{"lang":"en"}}' '{"user":{}}' '{"user":{"lang":"fi"}}' >lines.ndjson
cp "$root/Cargo.lock" .

build
expect $'"en"\n"fi"' "$target/debug/dependent"

build --locked --manifest-path "$root/$program/Cargo.toml" --bin warpath
expect $'"en"\n"fi"' "$target/debug/warpath" query '$.user.lang' lines.ndjson
