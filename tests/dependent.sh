#!/usr/bin/env bash
# Packages the crates that are published, and uses the packages as others do: with nothing but Rust and a C
# compiler, in an empty folder, with an empty environment and without this repository's .cargo/config.toml.
#
# 1. Each package has licences and a readme.
# 2. A dependent builds and runs with the default features of `warpath`, and with none. Without a feature, an
#    input that needs it is an error that names it.
# 3. The dependent compiles with each feature alone.
# 4. The program builds from its package, and runs.
#
# No crate may give a warning. The builds get this repository's Cargo.lock, so that they need no network after
# `cargo fetch`. They share their dependencies in target/dependent, without optimisation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

say() { printf 'dependent.sh: %s\n' "$*"; }
die() {
    say "$@" >&2
    exit 1
}

# The toolchain that rust-toolchain.toml pins: rustup would not find that file from elsewhere.
toolchain=$(rustc --print sysroot)/bin
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/dependent"
target=$(cd "$target/dependent" && pwd)

folder=$(mktemp -d)
# Cargo names the files of these crates by their folders, so the next run cannot use them.
trap 'rm -rf "$folder" "$target"/debug/{deps,.fingerprint}/{,lib}{dependent,warpath,cust,cuda_std}[-_]*' EXIT

# --- the packages -------------------------------------------------------------------------------------------

# Two lines of names: the crates that are published, and the features of `warpath`.
described=$(cargo metadata --offline --no-deps --format-version 1 | python3 -c '
import json, sys
published = [package for package in json.load(sys.stdin)["packages"] if package["publish"] is None]
print(*(package["name"] for package in published))
print(*(name for package in published if package["name"] == "warpath" for name in package["features"]))
')
{
    read -ra crates
    read -ra features
} <<<"$described"

rm -rf "$target/package"
cargo package --offline --quiet --no-verify --allow-dirty --target-dir "$target" "${crates[@]/#/--package=}"

cd "$folder"
for package in "$target"/package/*.crate; do
    tar -xzf "$package"
done
for crate in "${crates[@]}"; do
    # The version begins with a digit, unlike the rest of a longer name.
    unpacked=("$crate"-[0-9]*)
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [[ -s ${unpacked[0]}/$file ]] || die "the package of $crate has no $file"
    done
    # Such a dependency has a version, and two packages that need each other cannot be published.
    if grep -q '^\[dev-dependencies\.warpath' "${unpacked[0]}/Cargo.toml"; then
        die "the package of $crate has a dev-dependency on Warpath: give its path alone"
    fi
    mv "${unpacked[0]}" "$crate"
done

# --- a dependent of the packages ----------------------------------------------------------------------------

# Runs a command with only the variables that find Cargo, its downloads and the C compiler.
clean() {
    env -i PATH="$toolchain:$PATH" HOME="$HOME" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" "$@"
}

# Runs cargo in the empty folder. Builds that share a target folder share these settings.
cargo_here() {
    local command=$1
    shift
    clean RUSTFLAGS='-D warnings' cargo "$command" --offline --quiet --target-dir "$target" "$@"
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

mkdir -p dependent/src
cat >Cargo.toml <<EOF
[workspace]
resolver = "3"
members = ["dependent", "warpath-cli", "warpath-cuda-std"]

[profile.dev]
debug = false
incremental = false

# The packages come before those of a registry.
[patch.crates-io]
$(for crate in "${crates[@]}"; do echo "$crate = { path = \"$crate\" }"; done)
EOF
cat >dependent/Cargo.toml <<EOF
[package]
name = "dependent"
version = "0.1.0"
edition = "2024"

[dependencies]
warpath = { version = "*", default-features = false }

[features]
$(for feature in "${features[@]}"; do echo "$feature = [\"warpath/$feature\"]"; done)
EOF
cat >dependent/src/main.rs <<'EOF'
//! Prints the languages in each file, or the error. The first argument is `auto` or `cuda`.

use warpath::{DeviceChoice, Engine, Error, Query};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let device = if args[0] == "cuda" { DeviceChoice::Cuda(0) } else { DeviceChoice::Auto };
    for file in &args[1..] {
        if let Err(error) = print(device.clone(), file) {
            println!("{error}");
        }
    }
}

fn print(device: DeviceChoice, file: &str) -> Result<(), Error> {
    let engine = Engine::builder().device(device).build()?;
    let query = Query::compile("$.user.lang")?;
    for hit in engine.open(file)?.query(&query)? {
        println!("{}", hit?.text());
    }
    Ok(())
}
EOF
printf '%s\n' '{"user":{"lang":"en"}}' '{"user":{}}' '{"user":{"lang":"fi"}}' >lines.ndjson
gzip -k lines.ndjson
# The first bytes of the other compressions.
printf '\x28\xb5\x2f\xfd' >lines.zst
printf 'BZh' >lines.bz2
printf '\xfd7zXZ\0' >lines.xz
printf '\x04\x22\x4d\x18' >lines.lz4
cp "$root/Cargo.lock" .
both=$'"en"\n"fi"'

say "default features"
cargo_here build -p dependent
expect "$both"$'\n'"$both" "$target/debug/dependent" auto lines.ndjson lines.ndjson.gz
# With a driver or without: the program ends.
clean "$target/debug/dependent" cuda lines.ndjson >/dev/null

say "no features"
cargo_here build -p dependent --no-default-features
expect "$both" "$target/debug/dependent" auto lines.ndjson
expect 'this build of Warpath uses no CUDA devices: its feature `cuda` is off' \
    "$target/debug/dependent" cuda lines.ndjson
for pair in gzip:lines.ndjson.gz zstd:lines.zst bzip2:lines.bz2 xz:lines.xz lz4:lines.lz4; do
    feature=${pair%%:*} file=${pair##*:}
    off="which this build of Warpath does not read: its feature \`$feature\` is off"
    expect "$file: is compressed by $feature, $off" "$target/debug/dependent" auto "$file"
done

for feature in "${features[@]}"; do
    [[ $feature != default ]] || continue
    say "feature $feature"
    cargo_here check -p dependent --no-default-features --features "$feature"
done

say "warpath-cuda-std"
cargo_here check -p warpath-cuda-std

say "the program"
cargo_here build -p warpath-cli
expect "$both" "$target/debug/warpath" query '$.user.lang' lines.ndjson
expect "$both" "$target/debug/warpath" query '$.user.lang' "file://$folder/lines.ndjson"
# Object stores are off by default: the message names the command that builds them.
off='s3://bucket/key: is in an object store, which this build of Warpath does not read: its feature `object-store` is off'
help='`cargo install --path host/cli --features object-store` builds a program that does'
expect "error: $off"$'\n'"  help: $help" sh -c '! "$0" query "$.id" s3://bucket/key 2>&1' "$target/debug/warpath"
