"""Bugs that are planted on purpose, in the syntax of tests/mutants/README.md. Tests (scripts/mutants.py), tests of the
Python package (python/tests/check_mutants.py), contracts (proofs/wp/plant_contracts.py) and analyses
(proofs/eva/check_behaviour.py) must each find theirs."""

import re
import sys
from dataclasses import dataclass, field


class Failure(Exception):
    """Why a bug was not found."""


@dataclass
class Bug:
    name: str
    place: str  # of the entry, for messages
    file: str = ""
    killers: list = field(default_factory=list)
    before: list = field(default_factory=list)
    after: list = field(default_factory=list)

    def apply(self, tree):
        """The text of its file in a tree of sources, with the bug in it."""
        text = (tree / self.file).read_text()
        before, after = ("".join(line + "\n" for line in lines) for lines in (self.before, self.after))
        changed, count = re.subn("^" + re.escape(before), lambda _: after, text, flags=re.MULTILINE)
        if count != 1 or before == after:
            raise Failure(f"does not apply: {count} places in {self.file}")
        return changed


def read_list(path):
    bugs = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.name}:{number}"
        word, _, rest = line.partition(" ")
        if line.startswith("#") or not line:
            continue
        elif word == "mutant":
            bugs.append(Bug(rest.strip(), place))
        elif not bugs:
            sys.exit(f"{place}: no 'mutant' before this line")
        elif word == "file":
            bugs[-1].file = rest.strip()
        elif word == "killed":
            bugs[-1].killers.append(rest.removeprefix("by").strip())
        elif line[0] in " -+":
            if line[0] in " -":
                bugs[-1].before.append(line[1:])
            if line[0] in " +":
                bugs[-1].after.append(line[1:])
        else:
            sys.exit(f"{place}: what is '{word}'?")
    for bug in bugs:
        if not (bug.file.endswith((".c", ".h", ".py")) and bug.killers and bug.before):
            sys.exit(f"{bug.place}: '{bug.name}' needs a source, something that finds it and a place")
    return bugs
