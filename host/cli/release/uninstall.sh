#!/bin/sh
# Removes an installation of Warpath: the files and folders that install.sh has made, and nothing else.
#
#   uninstall.sh [--quiet] [PREFIX]
#
# PREFIX is the one that was given to install.sh. If this script is in an installation, that one is the
# default, otherwise ~/.local. A file that has changed since it was installed stays, and so does a folder that
# has other files; both are reported. --quiet reports nothing but errors.
set -eu
export LC_ALL=C

here=$(cd "$(dirname "$0")" && pwd)
quiet=false
prefix=
record=share/warpath/installed

die() {
    printf 'uninstall.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    printf 'uninstall.sh: %s\nusage: uninstall.sh [--quiet] [PREFIX]\n' "$*" >&2
    exit 2
}
say() { $quiet || printf '%s\n' "$*"; }

for argument; do
    case $argument in
    --quiet) quiet=true ;;
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
if [ -z "$prefix" ] && [ -f "$here/installed" ]; then
    prefix=$(cd "$here/../.." && pwd)
fi
: "${prefix:=${HOME:?is not set: name a PREFIX}/.local}"
[ -f "$prefix/$record" ] || die "no installation in $prefix: there is no file $prefix/$record"
prefix=$(cd "$prefix" && pwd)

list=$(cat "$prefix/$record")

printf '%s\n' "$list" | sed -n 's/^file //p' | while read -r sum path; do
    if [ -L "$prefix/$path" ]; then
        say "$prefix/$path is a link now, and stays"
    elif [ -f "$prefix/$path" ]; then
        if [ "$sum" = "$(sha256sum <"$prefix/$path" | cut -c 1-64)" ]; then
            rm "$prefix/$path"
        else
            say "$prefix/$path has changed since it was installed, and stays"
        fi
    fi
done || die "cannot remove all files in $prefix: run this script as the user who installed them"
rm "$prefix/$record"

# The innermost folders first.
remove() {
    if [ -d "$1" ] && ! rmdir "$1" 2>/dev/null; then
        say "$1 has other files, and stays"
        return 1
    fi
}
cd /
kept=false
for path in $(printf '%s\n' "$list" | sed -n 's/^dir //p' | sort -r); do
    if [ "$path" = . ]; then
        remove "$prefix" || kept=true
    else
        remove "$prefix/$path" || true
    fi
done
above=$(printf '%s\n' "$list" | sed -n 's/^above //p')
folder=$prefix
while [ "${above:-0}" -gt 0 ] && ! $kept; do
    folder=$(dirname "$folder")
    remove "$folder" || kept=true
    above=$((above - 1))
done
say "Warpath is no longer installed in $prefix"
