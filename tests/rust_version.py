#!/usr/bin/env python3
"""Checks that the Rust version that packages state is the toolchain that all checks run with.

1. `rust-version` of the workspace is the channel of rust-toolchain.toml, without the patch release.
2. Each crate that is published inherits it. Manifests with a version of their own state the same one.
3. host/README.md, which is in the package, names it.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def read(name):
    return tomllib.loads((ROOT / name).read_text())


def faults():
    workspace = read("Cargo.toml")["workspace"]
    stated = workspace["package"]["rust-version"]
    channel = read("rust-toolchain.toml")["toolchain"]["channel"]
    if re.sub(r"^(\d+\.\d+)\.\d+$", r"\1", channel) != stated:
        yield f"Cargo.toml: rust-version is {stated}, but rust-toolchain.toml pins {channel}"
    published = 0
    for name in [*workspace["members"], *workspace["exclude"], "benches/peers"]:
        package = read(f"{name}/Cargo.toml")["package"]
        version = package.get("rust-version")
        if package.get("publish") is True:
            published += 1
            if version != {"workspace": True}:
                yield f"{name}/Cargo.toml: expected `rust-version.workspace = true`, found {version!r}"
        elif isinstance(version, str) and version != stated:
            yield f"{name}/Cargo.toml: rust-version is {version}, but {stated} in Cargo.toml"
    if published == 0:
        yield "no member of the workspace says `publish = true`"
    if f"Rust {stated} " not in (ROOT / "host/README.md").read_text():
        yield f"host/README.md does not say that a build needs Rust {stated}"


found = list(faults())
for fault in found:
    print(fault, file=sys.stderr)
sys.exit(1 if found else 0)
