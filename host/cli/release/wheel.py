#!/usr/bin/env python3
"""Adds the program to the wheel of the Python module, so that one wheel has both.

    wheel.py MODULE ROOT GLIBC FOLDER

MODULE is the wheel that maturin has built from host/python. ROOT has bin/warpath and share, as an archive of
a release has them. GLIBC is the lowest version, such as 2.17, with which the program runs. The new wheel is
written to FOLDER. It has the same bytes for the same inputs: its files are sorted, and have the time
SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path


def main():
    if len(sys.argv) != 5:
        sys.exit("usage: wheel.py MODULE ROOT GLIBC FOLDER")
    module, root, glibc, folder = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    # warpath-VERSION-PYTHON-ABI-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
    name, version, python, abi, platform = module.stem.split("-")
    found = re.search(r"manylinux_(\d+)_(\d+)_(x86_64|aarch64)", platform)
    if not found:
        sys.exit(f"wheel.py: {module.name} is not for manylinux: build it with --compatibility manylinux2014")
    needed = max((int(found[1]), int(found[2])), tuple(map(int, glibc.split("."))))
    platform = f"manylinux_{needed[0]}_{needed[1]}_{found[3]}"

    described = f"{name}-{version}.dist-info"
    # name in the wheel: (bytes, mode)
    files = {}
    with zipfile.ZipFile(module) as old:
        for entry in old.infolist():
            if entry.is_dir():
                continue
            content = old.read(entry)
            # The list of dependencies names the checkout's folder. release.sh keeps it out of programs, too.
            if entry.filename.startswith(f"{described}/sboms/"):
                content = content.replace(os.fsencode(Path(__file__).resolve().parents[3]), b"/warpath")
            files[entry.filename] = (content, (entry.external_attr >> 16) & 0o777 or 0o644)
    del files[f"{described}/RECORD"]
    tags = f"{described}/WHEEL"
    lines = [line for line in files[tags][0].decode().splitlines() if line and not line.startswith("Tag:")]
    lines.append(f"Tag: {python}-{abi}-{platform}")
    files[tags] = ("\n".join(lines).encode() + b"\n", 0o644)

    data = f"{name}-{version}.data"
    files[f"{data}/scripts/warpath"] = ((root / "bin/warpath").read_bytes(), 0o755)
    for path in sorted((root / "share").rglob("*")):
        inside = path.relative_to(root).as_posix()
        # The wheel has neither warpath-sql nor warpath-cluster.
        if path.is_dir() or path.match("licences-warpath-*.txt"):
            continue
        if inside.startswith("share/doc/"):
            files[f"{described}/licenses/{path.name}"] = (path.read_bytes(), 0o644)
        else:
            files[f"{data}/data/{inside}"] = (path.read_bytes(), 0o644)

    record = []
    for path, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    record.append(f"{described}/RECORD,,\n")

    stamp = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    wheel = folder / f"{name}-{version}-{python}-{abi}-{platform}.whl"
    with zipfile.ZipFile(wheel, "w") as new:
        # RECORD is the last file, as PEP 427 recommends.
        for path, (content, mode) in [
            *sorted(files.items()),
            (f"{described}/RECORD", ("".join(record).encode(), 0o644)),
        ]:
            entry = zipfile.ZipInfo(path, stamp)
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            new.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    print(wheel)


main()
