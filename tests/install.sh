#!/usr/bin/env bash
# Installs the archives and wheels of host/cli/release.sh, uses them, and uninstalls them.
#
#   tests/install.sh FOLDER                 on this machine, in folders that are removed afterwards
#   tests/install.sh FOLDER --root SUITE    in an empty Debian, such as bookworm, by root with debootstrap
#
# FOLDER is what release.sh made. Nothing is compiled. The programs run with an empty environment and an empty
# home. In the Debian there is neither Rust nor a compiler, and another user than root installs; then apt gets
# Python for the wheel. Archives for another processor are verified and run by qemu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    printf 'install.sh: %s\nusage: tests/install.sh FOLDER [--root SUITE]\n' "$*" >&2
    exit 2
}
(($# == 1)) || { (($# == 3)) && [[ $2 == --root ]]; } || usage "expected one FOLDER"
[[ -f $1/SHA256SUMS ]] || die "$1 has no SHA256SUMS: name a folder that host/cli/release.sh made"
release=$(cd "$1" && pwd)
suite=${3:-}
machine=$(uname -m)

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
say() { printf 'install.sh: %s\n' "$*"; }

# --- the release script's own errors ------------------------------------------------------------------------

# refuses STATUS TEXT ARGUMENT...
refuses() {
    local expected=$1 text=$2 status=0 message
    shift 2
    message=$(host/cli/release.sh "$@" 2>&1) || status=$?
    [[ $status == "$expected" && $message == *"$text"* ]] ||
        die "release.sh $* exits with $status, and not with $expected and \`$text\`: $message"
}
refuses 2 'no FOLDER'
refuses 2 'unknown option' --all "$work/new"
refuses 2 'unknown target' --target wasm "$work/new"
refuses 2 '--binaries needs a value' --binaries
refuses 2 'more than one FOLDER' "$work/new" "$work/newer"
refuses 1 "$work exists" --binaries "$work" "$work"
refuses 1 "there is no program $work/warpath" --binaries "$work" "$work/new"
cp LICENSE-MIT "$work/warpath"
refuses 1 'is not a program for Linux' --binaries "$work" "$work/new"
rm "$work/warpath"
[[ ! -e $work/new ]] || die "release.sh leaves its folder although it failed"

# --- what is done there -------------------------------------------------------------------------------------

mkdir "$work/test"
cat >"$work/test/archive" <<'END'
#!/bin/sh
# archive FOLDER MACHINE: run in an empty folder that is HOME, too.
set -eu
die() { echo "FAILED: $*" >&2; exit 1; }
# The command fails, with that status, and its messages have that text.
fails() {
    expected=$1 text=$2
    shift 2
    status=0
    "$@" >message 2>&1 || status=$?
    [ "$status" = "$expected" ] || { cat message; die "$* exits with $status and not with $expected"; }
    grep -qF -e "$text" message || { cat message; die "$* does not report \`$text\`"; }
    rm message
}
tree() { (cd "$1" && find . | sort); }

here=$PWD
(cd "$1" && sha256sum --quiet -c SHA256SUMS) || die "checksums"
tar -xzf "$1"/warpath-*-"$2"-*.tar.gz
cd warpath-*-"$2"-*
sha256sum --quiet -c SHA256SUMS || die "checksums of the archive"
archive=$PWD
cd ..
mkdir home
export HOME="$here/home"
people=$here/people.ndjson
cp "$1/../test/people.ndjson" "$people"

./warpath*/install.sh
PATH=$HOME/.local/bin:$PATH
[ "$(command -v warpath)" = "$HOME/.local/bin/warpath" ] || die "warpath is not on the PATH"
warpath --version
[ "$(warpath query '$.user.lang' "$people" | head -n 3 | tr '\n' ' ')" = '"en" "nl" "fr" ' ] || die "query"
[ "$(warpath query --count '$.user.name' "$people")" = "$(grep -c '"name"' "$people")" ] || die "count"
if [ -f "$archive/bin/warpath-sql" ]; then
    warpath sql --version
    # Twice: the second time the schema is there.
    for _ in 1 2; do
        [ "$(warpath sql --format csv "SELECT level, count(*) AS n FROM '$people' WHERE level = 'warn' GROUP BY level" |
            tr '\r\n' '  ' | tr -s ' ')" = "$(printf 'level,n warn,%s ' "$(grep -c '"warn"' "$people")")" ] || die "SQL"
    done
else
    echo "no warpath-sql in this archive: SQL is not tested"
fi
share=$HOME/.local/share
for file in bash-completion/completions/warpath zsh/site-functions/_warpath fish/vendor_completions.d/warpath.fish; do
    grep -q count-by "$share/$file" || die "$file does not complete commands"
done
for name in warpath warpath-query warpath-sql; do
    grep -q '^\.TH' "$share/man/man1/$name.1" || die "no man page of $name"
done
bash -c '. "$1" && complete -p warpath' bash "$share/bash-completion/completions/warpath" >/dev/null ||
    die "the completions are not valid in bash"
for file in LICENSE-MIT LICENSE-APACHE; do
    [ -s "$share/doc/warpath/$file" ] || die "no $file"
done

# Again, over the first installation; then a file is changed by its owner, and stays.
./warpath*/install.sh >/dev/null
echo mine >"$share/man/man1/warpath-tree.1"
fails 1 'did not install it' ./warpath*/install.sh
sh "$share/warpath/uninstall.sh" >message
grep -q 'warpath-tree.1 has changed' message || die "no word about a changed file"
rm message
[ "$(tree home)" = ".
./.local
./.local/share
./.local/share/man
./.local/share/man/man1
./.local/share/man/man1/warpath-tree.1" ] || { tree home; die "other files stay"; }
fails 1 'exists, and this script did not install it' ./warpath*/install.sh
[ "$(find home -type f | wc -l)" = 1 ] || die "an installation that failed leaves files"
./warpath*/install.sh --force >/dev/null
sh "$share/warpath/uninstall.sh"
rm -r home
mkdir home

./warpath*/install.sh >/dev/null
./warpath*/uninstall.sh
[ "$(tree home)" = . ] || { tree home; die "uninstalling leaves files"; }
fails 1 'no installation in' ./warpath*/uninstall.sh

# A prefix with spaces, in folders that do not exist yet; and one with files of others.
./warpath*/install.sh "home/a b/c  d/\$e" >/dev/null
"home/a b/c  d/\$e/bin/warpath" --version >/dev/null
sh "home/a b/c  d/\$e/share/warpath/uninstall.sh" >/dev/null
[ "$(tree home)" = . ] || { tree home; die "uninstalling leaves folders"; }
mkdir -p "home/a b/bin" "home/a b/share/man"
touch "home/a b/bin/other"
before=$(tree home)
./warpath*/install.sh "home/a b" >/dev/null
./warpath*/uninstall.sh "home/a b" >/dev/null
[ "$(tree home)" = "$before" ] || { tree home; die "uninstalling changes other files"; }

fails 2 'unknown option `--prefix=x`' ./warpath*/install.sh --prefix=x
fails 2 'unknown option `--all`' ./warpath*/uninstall.sh --all
fails 2 'more than one PREFIX' ./warpath*/install.sh a b
fails 1 'cannot make' ./warpath*/install.sh people.ndjson/x
echo >>"$archive/README.md"
fails 1 'unpack it again' ./warpath*/install.sh
rm "$archive/SHA256SUMS"
fails 1 'unpack the whole archive' ./warpath*/install.sh
[ "$(tree home)" = "$before" ] || { tree home; die "an installation that failed leaves files"; }
END

cat >"$work/test/wheel" <<'END'
#!/bin/sh
# wheel FOLDER MACHINE: run in an empty folder that is HOME, too.
set -eu
die() { echo "FAILED: $*" >&2; exit 1; }
export HOME="$PWD" PIP_DISABLE_PIP_VERSION_CHECK=1
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "$(python3 --version) is older than 3.10, which the module needs: the wheel is not tested"
    exit
fi
cp "$1/../test/people.ndjson" .
python3 -m venv venv
before=$(find venv -type f -o -type d | grep -v __pycache__ | sort)
venv/bin/pip install --quiet --no-index --no-deps "$1"/warpath-*_"$2".whl
PATH=$PWD/venv/bin:$PATH
[ "$(command -v warpath)" = "$PWD/venv/bin/warpath" ] || die "warpath is not on the PATH"
warpath --version
[ "$(warpath query '$.user.lang' people.ndjson | head -n 2 | tr '\n' ' ')" = '"en" "nl" ' ] || die "query"
[ "$(python3 -c 'import warpath; print(warpath.open("people.ndjson").query("$.user.lang").count())')" = \
    "$(warpath query --count '$.user.lang' people.ndjson)" ] || die "the module"
[ -f venv/share/man/man1/warpath.1 ] || die "no man page"
for file in venv/lib/python3*/site-packages/LICENSE*; do
    [ ! -e "$file" ] || die "pip puts $file beside all modules"
done
if grep -rho 'file:///[^"]*' venv/lib/python3*/site-packages/warpath-*.dist-info/sboms |
    grep -v '^file:///warpath/'; then
    die "the wheel has names of folders of the machine that made it"
fi
pip check
pip uninstall --quiet --yes warpath
rm -rf venv/share/man venv/share/bash-completion venv/share/fish venv/share/zsh 2>/dev/null
[ "$(find venv -type f -o -type d | grep -v -e __pycache__ -e '^venv/share$' | sort)" = "$before" ] ||
    die "pip leaves files"
END

# --- where it is done ---------------------------------------------------------------------------------------

cp tests/data/people.ndjson "$work/test"
mkdir "$work/release"
cp "$release"/* "$work/release"
wheel=false
if compgen -G "$release/warpath-*_$machine.whl" >/dev/null; then wheel=true; fi
archive=("$release"/warpath-*-"$machine"-*.tar.gz)
[[ -f ${archive[0]} || -z $suite ]] || die "$release has no archive for $machine"

# run NAME: one of the scripts above, in an empty folder.
if [[ -z $suite ]]; then
    run() {
        mkdir "$work/run-$1"
        (cd "$work/run-$1" && env -i PATH=/usr/bin:/bin HOME="$work/run-$1" \
            sh "$work/test/$1" "$work/release" "$machine")
    }
    python=$(command -v python3 || true)
else
    [[ $(id -u) == 0 ]] || die "--root needs root"
    command -v debootstrap >/dev/null || die "--root needs debootstrap: install the package"
    # The mirror of this machine, if it has one.
    # shellcheck disable=SC2016  # apt's own variable
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | head -n 1 || true)
    say "debootstrap makes Debian $suite"
    mkdir "$work/root"
    debootstrap --variant=minbase "$suite" "$work/root" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
        { tail "$work/log" >&2; die "debootstrap failed"; }
    mv "$work/test" "$work/release" "$work/root/srv"
    mkdir -m 777 "$work/root/srv/run"
    as=1000:1000
    run() {
        mkdir -m 777 "$work/root/srv/run/$1"
        chroot --userspec="$as" "$work/root" /usr/bin/env -i PATH=/usr/bin:/bin HOME="/srv/run/$1" \
            sh -c "cd /srv/run/$1 && sh /srv/test/$1 /srv/release $machine"
    }
    for name in cc gcc rustc cargo python3; do
        if chroot "$work/root" which "$name" >/dev/null 2>&1; then die "the empty Debian has $name"; fi
    done
    say "it has glibc $(chroot "$work/root" ldd --version | sed -n '1s/.* //p')"
    python=
fi

if [[ -f ${archive[0]} ]]; then
    say "the archive for $machine"
    run archive
else
    say "no archive for $machine: nothing is installed"
    (cd "$release" && sha256sum --quiet -c SHA256SUMS)
fi
if $wheel; then
    say "the wheel"
    if [[ -n $suite ]]; then
        chroot "$work/root" sh -c 'apt-get -qq update && apt-get -qq install -y --no-install-recommends python3-venv' \
            >"$work/log" 2>&1 || { tail "$work/log" >&2; die "apt failed"; }
        run wheel
    elif [[ -n $python ]]; then
        run wheel
    else
        say "no python3 on this machine: the wheel is not tested"
    fi
else
    say "no wheel for $machine: it is not tested"
fi

# Other processors: the same files, and a program that runs.
for other in "$release"/warpath-*.tar.gz; do
    if [[ $other == "${archive[0]}" ]]; then continue; fi
    say "${other##*/}"
    mkdir "$work/other"
    tar -xzf "$other" -C "$work/other" --strip-components 1
    (cd "$work/other" && sha256sum --quiet -c SHA256SUMS)
    if [[ -f ${archive[0]} ]]; then
        diff <(tar -tzf "${archive[0]}" | cut -d/ -f2-) <(tar -tzf "$other" | cut -d/ -f2-) ||
            say "the archives have different files"
    fi
    processor=${other%-unknown-*}
    processor=${processor##*-}
    if command -v "qemu-$processor" >/dev/null && [[ -d /usr/$processor-linux-gnu ]]; then
        qemu=("qemu-$processor" -L "/usr/$processor-linux-gnu")
        people=$work/other/people.ndjson
        cp tests/data/people.ndjson "$people"
        [[ $("${qemu[@]}" "$work/other/bin/warpath" query --count '$.user.lang' "$people") == \
            "$(grep -c '"lang"' "$people")" ]] || die "query under qemu"
        if [[ -f $work/other/bin/warpath-sql ]]; then
            "${qemu[@]}" "$work/other/bin/warpath-sql" --format csv "SELECT count(*) AS n FROM '$people'" |
                tr -d '\r' | grep -qx "$(wc -l <"$people")" || die "SQL under qemu"
        fi
    else
        say "no qemu for $processor: its programs did not run"
    fi
    rm -rf "$work/other"
done
say "all passed"
