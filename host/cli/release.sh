#!/usr/bin/env bash
# Makes the archives and wheels of a release.
#
#   host/cli/release.sh [OPTION]... FOLDER [-- CARGO OPTION...]
#
# FOLDER is made, and gets for each target
#
#   warpath-VERSION-TARGET.tar.gz       programs, man pages, completions, licences, install.sh, uninstall.sh
#   warpath-VERSION-cp310-abi3-….whl    the Python module, and the program `warpath` on the PATH
#   SHA256SUMS                          their checksums
#
# Options:
#
#   --target TARGET     x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu; by default both
#   --binaries FOLDER   compile nothing: FOLDER has warpath, and may have warpath-sql, warpath-cluster, and
#                       the module's wheel, warpath-*.whl. Programs that it does not have are left out
#   --no-sql            without warpath-sql, which takes ten minutes to compile
#   --cluster           with warpath-cluster, which takes as long
#   --no-wheel          without the wheel
#   --no-licences       without the licences of dependencies, which `cargo about` collects. For tests
#
# Cargo options choose the features of `warpath`, for example `-- --features object-store`. `cargo about` gets
# them, too.
#
# The C compiler and the linker are those of Zig, so the programs run with an older glibc than that of this
# machine. pip installs Zig, cargo-zigbuild and maturin into the target folder, and Cargo installs `cargo
# about` there. The program itself writes man pages and completions; for ARM it runs under qemu.
#
# The same commit and the same compiled programs give the same archives, byte for byte: files are sorted,
# belong to user 0, and have the time of the commit (SOURCE_DATE_EPOCH takes precedence).
set -euo pipefail
export LC_ALL=C
umask 022

# The lowest that Rust supports. Debian 11 has 2.31.
glibc=2.17
# A new version may give other bytes, so one is chosen here.
python_tools=(cargo-zigbuild==0.24.1 ziglang==0.17.1 maturin==1.16.0)
about=0.9.3
known=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu)

die() {
    printf 'release.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    printf 'release.sh: %s\n' "$*" >&2
    echo 'usage: host/cli/release.sh [--target TARGET]... [--binaries FOLDER] [--no-sql] [--cluster] [--no-wheel]' \
        '[--no-licences] FOLDER [-- CARGO OPTION...]' >&2
    exit 2
}

targets=() binaries='' folder='' sql=true cluster=false wheel=true licences=true
while (($#)); do
    case $1 in
    --target | --binaries)
        [[ -n ${2:-} ]] || usage "$1 needs a value"
        if [[ $1 == --binaries ]]; then
            binaries=$2
        else
            [[ " ${known[*]} " == *" $2 "* ]] || usage "unknown target \`$2\`; the targets are ${known[*]}"
            targets+=("$2")
        fi
        shift
        ;;
    --no-sql) sql=false ;;
    --cluster) cluster=true ;;
    --no-wheel) wheel=false ;;
    --no-licences) licences=false ;;
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
        exit
        ;;
    --)
        shift
        break
        ;;
    -*) usage "unknown option \`$1\`" ;;
    *)
        [[ -z $folder ]] || usage "more than one FOLDER: \`$folder\` and \`$1\`; options for cargo follow \`--\`"
        folder=$1
        ;;
    esac
    shift
done
[[ -n $folder ]] || usage "no FOLDER"
[[ ! -e $folder && ! -L $folder ]] || die "$folder exists: name a folder that does not, or remove it"
if [[ -n $binaries ]]; then
    [[ -f $binaries/warpath ]] || die "--binaries: there is no program $binaries/warpath"
    [[ -z $* ]] || usage "--binaries compiles nothing, so it takes no options for cargo"
    binaries=$(cd "$binaries" && pwd)
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

scratch=$(mktemp -d)
complete=false
finish() {
    rm -rf "$scratch"
    # A part of a release would look like a whole one.
    if ! $complete; then rm -rf "$folder"; fi
}
trap finish EXIT

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) ||
        die "this is no checkout of git: set SOURCE_DATE_EPOCH to the time of the release, in seconds since 1970"
fi
export SOURCE_DATE_EPOCH
mkdir -p "${CARGO_TARGET_DIR:-target}"
target_dir=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
tools=$target_dir/release-tools

# The target of a program, by the header of its ELF file.
target_of() {
    case $(od -An -tx1 -j18 -N2 "$1") in
    ' 3e 00') echo x86_64-unknown-linux-gnu ;;
    ' b7 00') echo aarch64-unknown-linux-gnu ;;
    *) die "$1 is not a program for Linux on x86-64 or ARM" ;;
    esac
}

# The lowest glibc with which programs run: the newest symbol version that they need.
needed_glibc() {
    readelf -W --version-info "$@" | grep -o 'GLIBC_[0-9][0-9.]*' | cut -d_ -f2 | sort -Vu | tail -n 1
}

# --- compile ------------------------------------------------------------------------------------------------

get_tools() {
    [[ -x $tools/bin/python ]] || python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check "${python_tools[@]}"
    PATH=$tools/bin:$PATH
}

# compile TARGET PARTS CARGO_OPTION...: programs and the module's wheel, in the folder PARTS.
compile() {
    local target=$1 parts=$2
    shift 2
    # The names of this machine's folders would be in messages of panics, and make the bytes depend on them.
    local separator=$'\x1f'
    export CARGO_ENCODED_RUSTFLAGS="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
    CARGO_ENCODED_RUSTFLAGS+="$separator--remap-path-prefix=$PWD=/warpath"
    if ! [[ -d $(rustc --print sysroot)/lib/rustlib/$target ]]; then
        rustup target add "$target" || die "rustup could not get the standard library for $target"
    fi
    cargo zigbuild --profile dist --locked --target "$target.$glibc" -p warpath-cli "$@"
    cp "$target_dir/$target/dist/warpath" "$parts"
    local name
    for name in warpath-sql warpath-cluster; do
        if [[ $name == warpath-sql ]] && ! $sql || [[ $name == warpath-cluster ]] && ! $cluster; then
            continue
        fi
        # Not by the profile `dist`: optimising all crates together takes long here, and no hot path needs it.
        CARGO_PROFILE_RELEASE_STRIP=true cargo zigbuild --release --locked --target "$target.$glibc" -p "$name"
        cp "$target_dir/$target/release/$name" "$parts"
    done
    if $wheel; then
        (cd host/python && maturin build --quiet --locked --release --zig --compatibility manylinux2014 \
            --target "$target" --target-dir "$target_dir/python" --out "$parts")
    fi
    for name in "$parts"/warpath*; do
        if [[ $name != *.whl ]]; then
            local needed
            needed=$(needed_glibc "$name")
            [[ $(printf '%s\n' "$needed" "$glibc" | sort -V | tail -n 1) == "$glibc" ]] ||
                die "$name needs glibc $needed, which is newer than $glibc"
        fi
    done
}

# --- pack ---------------------------------------------------------------------------------------------------

# collect_licences MANIFEST TARGET FILE FEATURE_OPTION...
collect_licences() {
    local manifest=$1 target=$2 file=$3
    shift 3
    if ! "$tools/bin/cargo-about" --version >"$scratch/about" 2>&1 || ! grep -qF " $about" "$scratch/about"; then
        cargo install --quiet --locked --root "$tools" --features cli "cargo-about@$about"
    fi
    "$tools/bin/cargo-about" generate --locked --fail --manifest-path "$manifest" --target "$target" "$@" \
        --config host/cli/release/about.toml --output-file "$file" host/cli/release/about.hbs
}

# pack TARGET PARTS CARGO_OPTION...: the archive and the wheel, in $folder.
pack() {
    local target=$1 parts=$2 name programs=()
    shift 2
    local root=$scratch/warpath-$version-$target
    local doc=$root/share/doc/warpath run=()
    mkdir -p "$root/bin" "$root/share/man/man1" "$root/share/bash-completion/completions" \
        "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d" "$doc"
    if [[ $(uname -m) != "${target%%-*}" ]]; then
        run=("qemu-${target%%-*}" -L "/usr/${target%%-*}-linux-gnu")
        command -v "${run[0]}" >/dev/null ||
            die "programs for $target need qemu here: install the packages qemu-user and libc6-dev-arm64-cross"
    fi
    for name in warpath warpath-sql warpath-cluster; do
        [[ -f $parts/$name ]] || continue
        if [[ $name == warpath-sql ]] && ! $sql || [[ $name == warpath-cluster ]] && ! $cluster; then
            continue
        fi
        [[ $(target_of "$parts/$name") == "$target" ]] ||
            die "$parts/$name is a program for $(target_of "$parts/$name"), and not for $target"
        install -m 755 "$parts/$name" "$root/bin/$name"
        # Those that are compiled here have no symbols; others lose them, if `strip` knows the processor.
        strip "$root/bin/$name" 2>/dev/null || true
        [[ $("${run[@]}" "$root/bin/$name" --version) == *" $version" ]] ||
            die "$parts/$name --version is not $version, the version in Cargo.toml"
        programs+=("$name")
    done
    local program=("${run[@]}" "$root/bin/warpath")
    "${program[@]}" man "$root/share/man/man1"
    "${program[@]}" completions bash >"$root/share/bash-completion/completions/warpath"
    "${program[@]}" completions zsh >"$root/share/zsh/site-functions/_warpath"
    "${program[@]}" completions fish >"$root/share/fish/vendor_completions.d/warpath.fish"

    cp LICENSE-MIT LICENSE-APACHE "$doc"
    if $licences; then
        for name in "${programs[@]}"; do
            local manifest=host/${name#warpath-}/Cargo.toml options=()
            if [[ $name == warpath ]]; then manifest=host/cli/Cargo.toml options=("$@"); fi
            collect_licences "$manifest" "$target" "$doc/licences-$name.txt" "${options[@]}"
        done
    fi
    local needed
    needed=$(needed_glibc "${programs[@]/#/$root/bin/}")
    sed -e "s/@VERSION@/$version/; s/@TARGET@/$target/; s/@GLIBC@/$needed/" host/cli/release/README.md >"$root/README.md"
    install -m 755 host/cli/release/install.sh host/cli/release/uninstall.sh "$root"
    (cd "$root" && find . -type f ! -name SHA256SUMS -printf '%P\0' | sort -z | xargs -0 sha256sum >"$scratch/sums")
    mv "$scratch/sums" "$root/SHA256SUMS"
    chmod -R u=rwX,go=rX "$root"
    tar --sort=name --format=ustar --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        -C "$scratch" -cf - "${root##*/}" | gzip -9n >"$folder/${root##*/}.tar.gz"
    echo "release.sh: ${root##*/}.tar.gz has ${programs[*]}, for glibc $needed or newer"

    local module=("$parts"/warpath-*.whl)
    if $wheel && [[ -f ${module[0]} ]]; then
        ((${#module[@]} == 1)) || die "$parts has more than one wheel"
        if $licences; then
            collect_licences host/python/Cargo.toml "$target" "$doc/licences-python.txt"
        fi
        python3 host/cli/release/wheel.py "${module[0]}" "$root" "$(needed_glibc "$root/bin/warpath")" "$folder" >/dev/null
    elif $wheel; then
        echo "release.sh: no wheel: $parts has no wheel of the Python module"
    fi
}

if [[ -n $binaries ]]; then
    ((${#targets[@]})) || targets=("$(target_of "$binaries/warpath")")
    ((${#targets[@]} == 1)) || usage "--binaries is for one target"
    pack "${targets[0]}" "$binaries"
else
    ((${#targets[@]})) || targets=("${known[@]}")
    get_tools
    for target in "${targets[@]}"; do
        parts=$scratch/parts-$target
        mkdir "$parts"
        compile "$target" "$parts" "$@"
        pack "$target" "$parts" "$@"
    done
fi
(cd "$folder" && sha256sum -- * >"$scratch/SHA256SUMS")
mv "$scratch/SHA256SUMS" "$folder"
complete=true
ls -l "$folder"
