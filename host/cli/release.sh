#!/usr/bin/env bash
# Builds the program for a release, and what an installation puts beside it.
#
#   host/cli/release.sh FOLDER [--sql] [CARGO OPTION]...
#
# FOLDER gets bin/warpath, without symbols; share/man/man1; and the completions of bash, zsh and fish, where
# these shells look for them below a prefix such as /usr/local. With `--sql` it also gets bin/warpath-sql and
# bin/warpath-cluster, which take half an hour to build. `--no-default-features`, for example, is an option
# for cargo, which builds bin/warpath with it.
set -euo pipefail

if (($# == 0)) || [[ $1 == -* ]]; then
    echo "usage: host/cli/release.sh FOLDER [--sql] [CARGO OPTION]..." >&2
    exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
with_sql=false
if [[ ${1:-} == --sql ]]; then
    with_sql=true
    shift
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

cargo build --profile dist --locked -p warpath-cli "$@"
mkdir -p "$folder/bin" "$folder/share/man/man1" "$folder/share/bash-completion/completions" \
    "$folder/share/zsh/site-functions" "$folder/share/fish/vendor_completions.d"
program=$folder/bin/warpath
install "${CARGO_TARGET_DIR:-target}/dist/warpath" "$program"
"$program" man "$folder/share/man/man1"
"$program" completions bash >"$folder/share/bash-completion/completions/warpath"
"$program" completions zsh >"$folder/share/zsh/site-functions/_warpath"
"$program" completions fish >"$folder/share/fish/vendor_completions.d/warpath.fish"
"$program" --version
if $with_sql; then
    # Not by the profile `dist`: optimising all crates together takes long here, and no hot path needs it.
    for name in warpath-sql warpath-cluster; do
        cargo build --release --locked -p "$name"
        install --strip "${CARGO_TARGET_DIR:-target}/release/$name" "$folder/bin/$name"
        "$folder/bin/$name" --version
    done
fi
