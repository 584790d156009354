#!/usr/bin/env python3
"""Checks that the layers of `host` only look down, and that modules import each other in no large circle.

    tests/layers.py            fails where a rule is broken, and prints the imports that break it
    tests/layers.py --graph    prints the crates, their files and the sizes of their import cycles

Four rules (docs/architecture.md, "Which crate knows which?"):

1. A crate depends only on layers below its own. Development dependencies may name the facade, for examples.
2. Code of a crate below the facade does not name the facade. Doc comments may.
3. Inside a crate no cycle of imports has more than LARGEST files. A parent that only re-exports what is in
   its children does not import them. Tests do not count.
4. The text of a predicate is parsed only where a person wrote it (WRITTEN), and is never made by `format!`.
   Programs join predicates by their algebra (host/lang/src/predicate/algebra.rs).

Imports are read from the text: `use` declarations, and paths that begin with `crate`, `self`, `super` or a
child module. A path is followed through re-exports to the file that defines the item.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# From the bottom to the top: folder and root file. A layer uses those before it.
LAYERS = [
    ("shared", "lib.rs"),
    ("host/cust", "lib.rs"),
    ("host/inflate", "lib.rs"),
    ("host/core", "lib.rs"),
    ("host/terminal", "lib.rs"),
    ("host/lang", "lib.rs"),
    ("host/store", "lib.rs"),
    ("host/part", "lib.rs"),
    ("host/folder", "lib.rs"),
    ("host/resident", "lib.rs"),
    ("host/answer", "lib.rs"),
    ("host/cpu", "lib.rs"),
    ("host/device", "lib.rs"),
    ("host/plan", "lib.rs"),
    ("host/exec", "lib.rs"),
    ("host", "lib.rs"),
    ("host/remote", "lib.rs"),
    ("host/cli", "lib.rs"),
    ("host/sql", "lib.rs"),
    ("host/cluster", "lib.rs"),
    ("host/serve", "lib.rs"),
]
FACADE = "host"
LARGEST = 3
# The files that parse what a person wrote as a predicate, or what they advise a person to write.
WRITTEN = {
    "host/lang/src/predicate.rs",
    "host/c/src/input.rs",
    "host/cli/src/cli/args/options.rs",
    "host/cli/src/cli/query.rs",
    "host/cli/src/cli/reasons/lookup.rs",
    "host/cli/src/cli/store.rs",
    "host/cli/src/cli/reasons/why.rs",
    "host/python/src/reading.rs",
}

ITEM = re.compile(
    r"^ *(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe|extern\s+\"[^\"]*\")\s+)*"
    r"(fn|struct|enum|trait|type|const|static|mod|union|macro_rules!)\s+([A-Za-z_]\w*)",
    re.M,
)
USE = re.compile(r"^ *(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.M)
PATH = re.compile(r"(?<![\w:])((?:crate|self|super)(?:::[A-Za-z_]\w*)+)")


def blank(text):
    """Replaces everything but newlines by spaces."""
    return re.sub(r"[^\n]", " ", text)


def code_of(source):
    """The source with comments, strings and character literals blanked, byte for byte."""
    token = re.compile(
        r"//[^\n]*|/\*|(?<![A-Za-z0-9_])b?r(#*)\"|b?\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^\\'])'", re.S
    )
    out, at = [], 0
    while found := token.search(source, at):
        start, end = found.span()
        if found.group().startswith("/*"):
            depth = 1
            while depth:
                step = re.compile(r"/\*|\*/").search(source, end)
                depth += 1 if step.group() == "/*" else -1
                end = step.end()
        elif found.group(1) is not None:
            end = source.index('"' + found.group(1), end) + 1 + len(found.group(1))
        out += [source[at:start], blank(source[start:end])]
        at = end
    return "".join(out) + source[at:]


def leaves(tree, prefix=()):
    """The paths of a use tree, each with the name that it brings into scope."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, alias = tree.partition(" as ")
        path = prefix + tuple(part.strip() for part in path.split("::") if part.strip())
        if path and path[-1] == "self" and len(path) > 1:
            path = path[:-1]
        if path:
            yield path, alias.strip() or path[-1]
        return
    prefix += tuple(part.strip() for part in tree[:brace].split("::") if part.strip())
    depth, part = 0, ""
    for char in tree[brace + 1 : tree.rfind("}")] + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            if part.strip():
                yield from leaves(part, prefix)
            part = ""
        else:
            part += char


class Module:
    """A module, in a file of its own or within another's."""

    def __init__(self, path, file, code):
        self.path, self.file, self.code = path, file, code
        self.items, self.children, self.uses = set(), set(), []


class Crate:
    """The modules of a crate but for those called `tests`."""

    def __init__(self, root):
        self.modules = {}
        self.load((), root, root.parent)

    def load(self, path, file, folder):
        self.scan(Module(path, file, code_of(file.read_text())), folder)

    def scan(self, module, folder):
        self.modules[module.path] = module
        code, depths, depth = module.code, [], 0
        for char in code:
            depth -= char == "}"
            depths.append(depth)
            depth += char == "{"
        for found in ITEM.finditer(code):
            kind, name = found.groups()
            if depths[found.start(1)]:
                continue
            if kind != "mod":
                module.items.add(name)
                continue
            rest = code[found.end() :].lstrip()
            tested = "cfg(test)" in code[max(0, found.start() - 40) : found.start()]
            path = module.path + (name,)
            if rest.startswith(";"):
                module.children.add(name)
                if not tested and name != "tests":
                    self.load(path, folder / f"{name}.rs", folder / name)
            else:
                start = code.index("{", found.end())
                end = next(at for at in range(start + 1, len(code)) if code[at] == "}" and depths[at] == 0)
                inner = Module(path, module.file, code[start + 1 : end])
                module.code = module.code[:start] + blank(code[start:end]) + module.code[end:]
                module.children.add(name)
                if not tested and name != "tests":
                    self.scan(inner, folder / name)
        for found in USE.finditer(module.code):
            for path, name in leaves(found.group(2)):
                module.uses.append((path, name, bool(found.group(1))))

    def absolute(self, module, path):
        """A path from the crate's root, or None for one that leads out of the crate."""
        at = module.path
        if path[0] == "crate":
            return path[1:]
        if path[0] in ("self", "super"):
            while path and path[0] in ("self", "super"):
                at = at[:-1] if path[0] == "super" else at
                path = path[1:]
            return at + path
        return at + path if path[0] in module.children else None

    def defines(self, path, steps=0):
        """The module that defines what a path names, through re-exports; None if that is another crate."""
        depth = 0
        while path[: depth + 1] in self.modules and depth < len(path):
            depth += 1
        module = self.modules[path[:depth]]
        if depth == len(path) or path[depth] in module.items or path[depth] in module.children or steps > 9:
            return module
        for use, name, _ in module.uses:
            if name == path[depth] or name == "*":
                target = self.absolute(module, use[:-1] if name == "*" else use)
                if name == path[depth]:
                    return None if target is None else self.defines(target + path[depth + 1 :], steps + 1)
                if target is not None:
                    deeper = self.defines(target + path[depth:], steps + 1)
                    if deeper is not None and path[depth] in deeper.items:
                        return deeper
        return module

    def imports(self):
        """(file, imported file, path) of every import across files."""
        for module in self.modules.values():
            body = USE.sub(lambda found: blank(found.group()), module.code)
            paths = [tuple(found.group(1).split("::")) for found in PATH.finditer(body)]
            for child in module.children:
                paths += [tuple(p.split("::")) for p in re.findall(rf"(?<![\w:]){child}(?:::\w+)+", body)]
            for path, name, public in module.uses:
                target = self.absolute(module, path)
                below = target is not None and target[: len(module.path)] == module.path
                if not (public and below) or re.search(rf"\b{re.escape(name)}\b", body):
                    paths.append(path)
            for path in paths:
                target = self.absolute(module, path)
                if target is None:
                    continue
                found = self.defines(tuple(part for part in target if part != "*"))
                if found is not None and found.file != module.file:
                    yield module.file, found.file, "::".join(path)


def cycles(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(stack[at:])
            del stack[at:]

    for node in list(graph):
        if node not in order:
            visit(node)
    return found


def parsed_predicates():
    """The places that break rule 4."""
    faults, seen = [], set()
    for file in sorted(ROOT.glob("host/**/src/**/*.rs")):
        name = str(file.relative_to(ROOT))
        if file.name == "tests.rs" or "/target/" in name:
            continue
        code = code_of(file.read_text()).split("#[cfg(test)]\nmod tests {")[0]
        for found in re.finditer(r"\bPredicate::(?:parse|of_value)\((\s*&?\s*format!)?", code):
            seen.add(name)
            line = code.count("\n", 0, found.start()) + 1
            if found.group(1):
                faults.append(f"{name}:{line}: `format!` makes the text of a predicate")
            elif name not in WRITTEN:
                faults.append(f"{name}:{line}: parses a predicate that no person wrote")
    unused = sorted(WRITTEN - seen - {"host/lang/src/predicate.rs"})
    return faults + [f"tests/layers.py: {name} parses no predicate" for name in unused]


def main():
    sys.setrecursionlimit(10_000)
    faults, names, below = [], {}, set()
    for folder, _ in LAYERS:
        names[folder] = tomllib.loads((ROOT / folder / "Cargo.toml").read_text())["package"]["name"]
    facade = names[FACADE].replace("-", "_")
    for folder, root in LAYERS:
        manifest = tomllib.loads((ROOT / folder / "Cargo.toml").read_text())
        # `warpath-cust` is imported as `cust`.
        used = {"warpath-cust" if name == "cust" else name for name in manifest.get("dependencies", {})}
        for name in sorted((used & set(names.values())) - below):
            faults.append(f"{folder}/Cargo.toml: {names[folder]} depends on {name}, which is no layer below it")
        is_below_facade = FACADE not in below and folder != FACADE and names[FACADE] not in below
        below.add(names[folder])
        crate = Crate(ROOT / folder / "src" / root)
        graph, why = {}, {}
        for file, other, path in crate.imports():
            graph.setdefault(file, set()).add(other)
            why.setdefault((file, other), set()).add(path)
        if is_below_facade:
            for module in crate.modules.values():
                if re.search(rf"(?<![\w:]){facade}::", module.code):
                    faults.append(f"{module.file.relative_to(ROOT)}: code names the facade `{facade}`")
        found = cycles(graph)
        if "--graph" in sys.argv:
            files = len({module.file for module in crate.modules.values()})
            lower = ", ".join(sorted(used & set(names.values()))) or "nothing"
            sizes = ", ".join(str(len(cycle)) for cycle in sorted(found, key=len, reverse=True)) or "none"
            print(f"{names[folder]}: {files} files, uses {lower}; files in each cycle: {sizes}")
        for cycle in found:
            if len(cycle) > LARGEST:
                lines = [f"{folder}: {len(cycle)} files import each other in a circle:"]
                for file in sorted(cycle):
                    for other in sorted(graph[file] & set(cycle)):
                        paths = ", ".join(sorted(why[file, other]))
                        lines.append(f"    {file.relative_to(ROOT)} -> {other.relative_to(ROOT)}: {paths}")
                faults.append("\n".join(lines))
    faults += parsed_predicates()
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
