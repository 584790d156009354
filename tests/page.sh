#!/usr/bin/env bash
# Tests the page of `warpath serve` in a browser, over real servers.
#
#   tests/page.sh                      all tests
#   tests/page.sh live.test.js         one file of tests/page
#   tests/page.sh screenshots          draws docs/page-*.png anew; pngquant makes them small
#   WARPATH_SERVE=… WARPATH=… tests/page.sh    these programs; nothing is built
#
# It needs Node.js 20.11 or newer with npm, and Chromium, which CHROMIUM names if it is not in the PATH. npm gets
# the driver of the browser, the checker of accessibility, the linter and the formatter, in the versions of
# tests/page/package-lock.json. `tests/page.sh format` formats the page and its tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for name in chromium chromium-browser google-chrome; do
    CHROMIUM=${CHROMIUM:-$(command -v "$name" || true)}
done
if [[ -z $CHROMIUM ]] || ! command -v npm >/dev/null; then
    echo "page.sh: Node.js, npm and Chromium are needed; in Debian: apt-get install nodejs npm chromium" >&2
    exit 1
fi
export CHROMIUM
if [[ -z ${WARPATH_SERVE:-} || -z ${WARPATH:-} ]]; then
    # Of the whole workspace, because its other builds have compiled the same dependencies.
    cargo build --quiet --locked --workspace --bin warpath --bin warpath-serve
    export WARPATH_SERVE=${WARPATH_SERVE:-${CARGO_TARGET_DIR:-$PWD/target}/debug/warpath-serve}
    export WARPATH=${WARPATH:-${CARGO_TARGET_DIR:-$PWD/target}/debug/warpath}
fi

check() {
    local bin=tests/page/node_modules/.bin page=(host/serve/page tests/page)
    "$bin/eslint" --config tests/page/eslint.config.js "${page[@]}"
    "$bin/prettier" --config tests/page/.prettierrc.json --log-level warn "$1" "${page[@]}"
}

npm ci --prefix tests/page --silent --no-audit --no-fund
case ${1:-} in
    format) check --write ;;
    screenshots)
        (cd tests/page && node --test screenshots.js)
        pngquant --force --ext .png --speed 1 --strip 64 docs/page-*.png
        ;;
    *)
        check --check
        # Each file has a browser of its own, and servers.
        cd tests/page
        node --test --test-concurrency=1 "$@"
        ;;
esac
