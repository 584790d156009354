#!/bin/sh
# Installs Warpath from the folder that has this script. Root's rights are not needed.
#
#   ./install.sh [--force] [PREFIX]
#
# Programs go to PREFIX/bin; man pages, completions and licences to PREFIX/share. PREFIX is ~/.local by
# default, and is made if it does not exist. An installation that this script made before is replaced. Other
# files with the same names are an error, unless --force allows to overwrite them.
#
# PREFIX/share/warpath/uninstall.sh removes what was installed, and nothing else.
set -eu
umask 022
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
force=false
prefix=

die() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    printf 'install.sh: %s\nusage: ./install.sh [--force] [PREFIX]\n' "$*" >&2
    exit 2
}

for argument; do
    case $argument in
    --force) force=true ;;
    -h | --help)
        sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
        exit
        ;;
    -*) usage "unknown option \`$argument\`" ;;
    '') usage "PREFIX is empty" ;;
    *)
        [ -z "$prefix" ] || usage "more than one PREFIX: \`$prefix\` and \`$argument\`"
        prefix=$argument
        ;;
    esac
done
: "${prefix:=${HOME:?is not set: name a PREFIX}/.local}"
case $prefix in
/*) ;;
*) prefix=$(pwd)/$prefix ;;
esac
record=share/warpath/installed

cd "$here"
[ -f SHA256SUMS ] || die "no file SHA256SUMS beside this script: unpack the whole archive"
sha256sum --quiet --check SHA256SUMS >&2 || die "the unpacked files are not those of the archive: unpack it again"
# Before anything is written: the archive is for this processor, and the system's C library is new enough.
for program in bin/*; do
    "$program" --version >/dev/null || die "$program does not run on this system; README.md says what it needs"
done

# The files that are installed, as lines `SHA256  PATH`.
files=$(grep -E '^[0-9a-f]{64}  (bin|share)/' SHA256SUMS)

# Whether the file at PATH of the prefix is the one that an earlier installation put there.
ours() {
    [ -f "$prefix/$record" ] && [ ! -L "$prefix/$1" ] && [ -f "$prefix/$1" ] &&
        grep -qxF "file $(sha256sum <"$prefix/$1" | cut -c 1-64)  $1" "$prefix/$record"
}
if ! $force; then
    for path in $(printf '%s\n' "$files" | cut -c 67-); do
        if [ -e "$prefix/$path" ] || [ -L "$prefix/$path" ]; then
            ours "$path" || die "$prefix/$path exists, and this script did not install it: move it away, or add --force"
        fi
    done
fi
if [ -f "$prefix/$record" ]; then
    sh ./uninstall.sh --quiet "$prefix" || die "cannot remove the earlier installation in $prefix"
fi

# Folders are recorded if they are made here, so that uninstalling removes them, too.
above=0
folder=$prefix
made=
if [ ! -e "$prefix" ]; then
    made='dir .'
    folder=$(dirname "$prefix")
    while [ ! -e "$folder" ]; do
        above=$((above + 1))
        folder=$(dirname "$folder")
    done
fi
folders=$(printf '%s\nshare/warpath/uninstall.sh\n' "$(printf '%s\n' "$files" | cut -c 67-)" |
    while read -r path; do
        while path=$(dirname "$path") && [ "$path" != . ]; do echo "$path"; done
    done | sort -u)
for path in $folders; do
    [ -e "$prefix/$path" ] || made="$made
dir $path"
done
mkdir -p "$prefix/share/warpath" || die "cannot make $prefix/share/warpath: name a PREFIX that you may write to"
{
    echo "# The files and folders of an installation of Warpath. uninstall.sh reads this file."
    printf '%s\n' "$files" | sed 's/^/file /'
    echo "file $(sha256sum <uninstall.sh | cut -c 1-64)  share/warpath/uninstall.sh"
    [ -z "$made" ] || printf '%s\n' "$made" | sed '/^$/d'
    echo "above $above"
} >"$prefix/$record" || die "cannot write to $prefix: name a PREFIX that you may write to"

# Everything is recorded, so it can be removed if a file cannot be written.
undo() {
    status=$?
    trap - EXIT
    sh ./uninstall.sh --quiet "$prefix" || true
    echo "install.sh: the installation failed, and was removed" >&2
    exit "$status"
}
trap undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
for path in $folders; do
    mkdir -p "$prefix/$path"
done
for path in $(printf '%s\n' "$files" | cut -c 67-); do
    rm -f "$prefix/$path"
    cp "$path" "$prefix/$path"
done
cp uninstall.sh "$prefix/share/warpath/uninstall.sh"
trap - EXIT

echo "Warpath is installed in $prefix. To remove it, run"
echo "  sh '$prefix/share/warpath/uninstall.sh'"
case :${PATH:-}: in
*:"$prefix/bin":*) ;;
*) echo "PATH does not have $prefix/bin yet; add this line to the profile of your shell:"; echo "  export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
