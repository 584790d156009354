#!/usr/bin/env python3
"""Checks the prose of comments, Markdown and messages.

    tests/prose.py             prints each fault as `FILE:LINE: RULE: TEXT`, and fails if there is one
    tests/prose.py FILE...     checks these files only

Four rules:

1. opening   A doc comment begins with a noun or with a verb in the third person: not with a word of OPENINGS.
2. word      Comments, Markdown and messages use the field's words: not those of WORDS. Code spans, code
             blocks, addresses and names in braces do not count. A message is a string literal of Rust that
             has three words in a row.
3. width     Lines of comments and of Markdown have at most WIDTH columns. Tables, code blocks, and lines that
             a single word such as an address makes too long are exempt.
4. start     A sentence begins with its noun: not with "Those of" or "So does". Messages do not count.

It reads the files of Rust, Markdown, Python, shell, TOML and YAML that git tracks, or would track.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = (".rs", ".md", ".py", ".sh", ".toml", ".yml")
WIDTH = 110

# After the heading "Errors", the noun is the heading's.
STARTS = re.compile(
    r"(?:(?<=[.:;]\s)|(?<!Errors\n\s)(?<!Errors\n\n\s)(?:^|(?<=\n\s)))"
    r"(?:So\s+(?:are|can|did|do|does|had|has|have|is|may|must|was|were|will|would)|"
    r"Those\s+(?:above|are|at|below|beyond|for|from|get|have|in|is|of|on|that|was|were|which|who|with|without))\b"
)
OPENINGS = re.compile(
    r"(?:As|Because|How|If|It|Of|Such|That|They|Those|What|When|Where|Whether|Which|Who|Whose|Why)\b"
)

DETERMINERS = "an?|all|any|each|every|first|its|last|no|of|other|right|same|such|the|their|these|two|with|wrong"
# (expression, the words to write instead)
WORDS = [
    (r"\bstands?\b(?!\s+for\b)|\bstood\b|\bstanding\b(?!\s+quer)", "is at, begins at, is, holds"),
    (r"\b(?:re-?)?ask(?:s|ed|ing)?\b(?!\s+for\b)", "evaluate, query"),
    (r"\bwho(?:ever)?\s+(?:asks?|calls)\b", "the caller"),
    (r"\btold\b|\btell(?:s|ing)?\b(?!\s+(?:\w+\s+)?apart\b)", "report, say"),
    (r"\bbehind\b", "after, past, below"),
    (r"\bso\s+many\b(?!\s+\w+\s+that\b)", "N, this many"),
    (
        r"(?<!\bin\s)(?<!\bin\sits\s)(?<!\bin\sthe\s)(?<!\bin\stheir\s)(?<!\btake\sthe\s)(?<!\btakes\sthe\s)"
        r"\bplaces?\b",
        "offset, position, location",
    ),
    (rf"\b(?:{DETERMINERS})\s+answers?\b|(?<=')s\s+answers?\b", "result, output, match"),
    (r"\b(?:was|were)\s+(?:written|said)\s+to\s+be\b|\bas\s+(?:it|they)\s+(?:was|were)\s+written\b", "checksum mismatch"),
    (r"\bmakes?\s+no\s+sense\b", "invalid"),
]
# This word may occur once in a file, beside the word to write instead.
ONCE = (re.compile(r"\bpage-\s*locked\b", re.I), "pinned, after the first time")

# (file, rule, reason); at most twenty.
EXCEPTIONS = [
    ("docs/bench/README.md", "width", "written by `bench plot`, with lines that measurements make long"),
    ("docs/bench/cpu.md", "width", "written by `bench plot`"),
    ("docs/bench/gpu.md", "width", "written by `bench plot`"),
    ("docs/bench/bitmap/README.md", "width", "written by `bench bitmap-plots`"),
    ("docs/bench/twig/README.md", "width", "written by `bench twig-plots`"),
    ("gpu/src/kernel.rs", "start", "a changed comment makes all PTX stale"),
    ("host/cli/src/cli/args/options.rs", "start", "help, which many snapshots repeat"),
    ("host/cli/src/cli/args/schema.rs", "start", "help, which a snapshot repeats"),
    ("tests/prose.py", "word", "its lists name the words"),
]

TOKEN = re.compile(
    r"(?P<line>//[^\n]*)|(?P<block>/\*)|(?<![A-Za-z0-9_])[bc]?r(?P<hashes>#*)\""
    r"|[bc]?\"(?:\\.|[^\"\\])*\"|'(?:\\.[^']*|[^\\'])'",
    re.S,
)
MESSAGE = re.compile(r"[A-Za-z,`']{2,} [A-Za-z`']+ [A-Za-z`']+")


def rust(source):
    """Yields the comments and messages of Rust, as (kind, [(line number, text)])."""
    texts, at, number, counted = [], 0, 1, 0
    while found := TOKEN.search(source, at):
        start, end = found.span()
        number, counted = number + source.count("\n", counted, start), start
        last = texts[-1] if texts else ("", "", [])
        if found["line"]:
            mark = re.match(r"//!|///(?!/)|/+", found["line"]).group()
            line = (number, found["line"][len(mark) :])
            alone = not source[source.rfind("\n", 0, start) + 1 : start].strip()
            if alone and last[1] == mark and last[2][-1][0] == number - 1:
                last[2].append(line)
            else:
                texts.append(("doc" if mark in ("///", "//!") else "comment", mark if alone else "", [line]))
        elif found["block"]:
            depth = 1
            while depth:
                step = re.compile(r"/\*|\*/").search(source, end)
                depth, end = depth + (1 if step.group() == "/*" else -1), step.end()
            texts.append(("comment", "", list(enumerate(source[start:end].split("\n"), number))))
        else:
            if found["hashes"] is not None:
                end = source.index('"' + found["hashes"], end) + 1 + len(found["hashes"])
            if MESSAGE.search(source[start:end]):
                texts.append(("message", "", list(enumerate(source[start:end].split("\n"), number))))
        at = end
    return [(kind, lines) for kind, _, lines in texts]


def scripts(source):
    """Yields the comments of Python, shell, TOML and YAML, and the documentation strings of Python."""
    texts, inside = [], False
    for number, line in enumerate(source.split("\n"), 1):
        if inside or line.lstrip().startswith('"""'):
            if not inside:
                texts.append(("comment", []))
            texts[-1][1].append((number, line.replace('"""', "   ")))
            inside ^= line.count('"""') == 1
        elif found := re.search(r"(?:^|\s)#(?!!)(.*)", line):
            if not (texts and texts[-1][1][-1][0] == number - 1):
                texts.append(("comment", []))
            texts[-1][1].append((number, found[1]))
    return texts


def prose(lines):
    """The lines with code and addresses replaced, as (line number, text, whether it is code or a table)."""
    fenced, out = False, []
    for number, line in lines:
        fence = re.match(r"\s*(?:```|~~~)", line)
        fenced ^= bool(fence)
        indented = re.match(r" {5,}\S", line) and (not out or not out[-1][1].strip())
        code = fenced or fence or indented
        out.append((number, "" if code else line, bool(code) or line.lstrip().startswith("|")))
    text = "\n".join(line for _, line, _ in out)
    for code in (r"(`+)(?!`)(?:.|\n(?!\s*\n))+?(?<!`)\1(?!`)", r"\]\([^)\s]*\)|https?://[^\s>)]+"):
        text = re.sub(code, lambda found: re.sub(r"[^\n]+", "`", found.group()), text)
    return [(number, line, code) for (number, _, code), line in zip(out, text.split("\n"), strict=True)]


def faults(path):
    """Yields the faults of a file, as (line number, rule, what is wrong)."""
    source = path.read_text()
    if path.suffix == ".md":
        texts = [("markdown", list(enumerate(source.split("\n"), 1)))]
    else:
        texts = rust(source) if path.suffix == ".rs" else scripts(source)
    rows, seen = source.split("\n"), 0
    for kind, lines in texts:
        if kind == "message":
            text = [(number, re.sub(r"\{[^{}]*\}", "`", line), True) for number, line in lines]
        else:
            text = prose(lines)
        if kind == "doc" and (found := OPENINGS.match(lines[0][1].strip())):
            yield lines[0][0], "opening", f"`{found.group()}`"
        for number, _, code in text:
            row = rows[number - 1]
            words = row.split()
            if len(row) > WIDTH and not code and len(row) - len(row.lstrip(" /!#*")) + max(map(len, words)) <= WIDTH:
                yield number, "width", f"{len(row)} columns"
        joined = "\n".join(line for _, line, _ in text)
        at = lambda found: text[joined.count("\n", 0, found.start())][0]
        for expression, instead in WORDS:
            for found in re.finditer(expression, joined, re.I):
                yield at(found), "word", f"`{' '.join(found.group().split())}`; write {instead}"
        for found in STARTS.finditer(joined) if kind != "message" else ():
            yield at(found), "start", f"`{' '.join(found.group().split())}`; write the noun"
        for found in ONCE[0].finditer(joined):
            seen += 1
            if seen > 1:
                yield at(found), "word", f"`page-locked`; write {ONCE[1]}"


def main():
    names = sys.argv[1:]
    if not names:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        names = [name for name in listed.split("\0") if name.endswith(SUFFIXES) or name == ".ci/run"]
    exempt = {(file, rule) for file, rule, _ in EXCEPTIONS}
    count = 0
    for name in names:
        if not (ROOT / name).is_file():
            continue
        for number, rule, what in sorted(faults(ROOT / name)):
            if (name, rule) not in exempt:
                count += 1
                print(f"{name}:{number}: {rule}: {what}")
    if count:
        print(f"{count} faults of prose; {Path(__file__).name} says what the rules are", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
