#!/usr/bin/env python3
"""Checks that every loop of core and transport ends, and that no function calls itself, on clang's syntax trees.

    proofs/loops/check_loops.py              every source; ends with 'N proved, N failed', one for each file
    proofs/loops/check_loops.py --list       also prints each loop, and how it is known to end
    proofs/loops/check_loops.py --planted    puts the bugs of planted_loops.txt into copies; each must be found

A loop ends for one of three reasons, and README.md says why these are enough:

  counted   its head counts a variable towards a bound, and nothing in the loop or in what it calls changes either
  variant   it has an ACSL loop variant in a function whose contract Frama-C WP proves (proofs/wp/units.txt)
  reason    reasons.txt names it, with an argument for people
"""

import argparse
import re
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True  # the tree of sources stays as it is
sys.path.insert(0, str(ROOT / "scripts"))
from planted import Failure, read_list  # noqa: E402
from syntax import ENUMERATED, Program, kind, members_written, plain, type_of, variable, walk, written  # noqa: E402

LARGEST = {  # of x86-64
    "_Bool": 1, "unsigned char": 2**8 - 1, "signed char": 2**7 - 1, "char": 2**7 - 1, "unsigned short": 2**16 - 1,
    "short": 2**15 - 1, "unsigned int": 2**32 - 1, "int": 2**31 - 1, "unsigned long": 2**64 - 1, "long": 2**63 - 1}
FOLDED = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "<<": lambda a, b: a << b}
MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


# ---- numbers ---------------------------------------------------------------------------------------------------------


def values(node):
    """The values that an expression of literals, constants of enumerations, + - * << and ? may have; none if it is
    another expression."""
    if kind(node) == "ConstantExpr" and "value" in node:
        return {int(node["value"])}
    node = plain(node)
    if kind(node) == "IntegerLiteral":
        return {int(node["value"])}
    if kind(node) == "DeclRefExpr" and node["referencedDecl"]["kind"] == "EnumConstantDecl":
        return {ENUMERATED[name] for name in (node["referencedDecl"]["name"],) if name in ENUMERATED}
    if kind(node) == "CStyleCastExpr":
        return values(node["inner"][0])
    if kind(node) == "ConditionalOperator":
        either = [values(side) for side in node["inner"][1:]]
        return either[0] | either[1] if all(either) else set()
    if kind(node) == "BinaryOperator" and node["opcode"] in FOLDED:
        left, right = (values(side) for side in node["inner"])
        return {FOLDED[node["opcode"]](a, b) for a in left for b in right}
    return set()


def constant(node):
    """The only value that an expression may have, or None."""
    found = values(node)
    return found.pop() if len(found) == 1 else None


def largest(node):
    """The largest value that an expression may have, or None for what is no integer."""
    return max(values(node), default=LARGEST.get(type_of(plain(node))))


def least(node):
    name = type_of(plain(node))
    return 0 if name.startswith(("unsigned", "_Bool")) else -LARGEST[name] - 1


# ---- counted loops ---------------------------------------------------------------------------------------------------


def parts(loop):
    """(condition, step, body)"""
    inner = loop["inner"]
    if kind(loop) == "ForStmt":
        return inner[2], inner[3], inner[4]
    return (inner[1], {}, inner[0]) if kind(loop) == "DoStmt" else (inner[-2], {}, inner[-1])


def split(node, operator):
    node = plain(node)
    if kind(node) == "BinaryOperator" and node["opcode"] == operator:
        return split(node["inner"][0], operator) + split(node["inner"][1], operator)
    return [node] if node else []


def every_round(loop):
    """The expressions that run in every round: the step, the first part of the condition, and the statements of a body
    that nothing skips."""
    condition, step, body = parts(loop)
    found = split(step, ",")
    if condition:
        first = split(condition, "&&")[0]
        found += [plain(side) for side in first.get("inner", ())] if kind(first) == "BinaryOperator" else []
    if not any(kind(part) == "ContinueStmt" for part in walk(body)):
        found += [plain(part) for part in body.get("inner", ())] if kind(body) == "CompoundStmt" else [plain(body)]
    return found


def movement(step):
    """(variable, by how much at most), '/' for a number that is halved; (None, 0) for what moves nothing so."""
    if kind(step) == "UnaryOperator" and step["opcode"] in ("++", "--"):
        return variable(step["inner"][0]), 1 if step["opcode"] == "++" else -1
    if kind(step) == "CompoundAssignOperator":
        by = values(step["inner"][1])
        if step["opcode"] in ("+=", "-=") and by and min(by) >= 1:
            return variable(step["inner"][0]), max(by) if step["opcode"] == "+=" else -max(by)
        if (step["opcode"], by) in ((">>=", {1}), ("/=", {2})):
            return variable(step["inner"][0]), "/"
    return None, 0


def comparisons(condition, moved):
    """(variable's side, operator, bound) of each part that must hold and compares the variable."""
    for part in split(condition, "&&"):
        if kind(part) == "BinaryOperator" and part["opcode"] in MIRRORED:
            left, right, operator = *part["inner"], part["opcode"]
            for side, bound, name in ((left, right, operator), (right, left, MIRRORED[operator])):
                side = side_of(side)
                if variable(side) == moved:
                    yield side, name, bound


def side_of(side):
    """The variable of i, i++ or --i."""
    side = plain(side)
    return plain(side["inner"][0]) if kind(side) == "UnaryOperator" and side["opcode"] in ("++", "--") else side


def arrives(side, operator, bound, by):
    """Does the variable come to where the comparison fails, without wrapping around on its way?"""
    if type_of(side).endswith("*"):  # beyond its object a pointer would be undefined
        return by != "/" and (by > 0) == (operator in ("<", "<="))
    own, most = LARGEST.get(type_of(side)), largest(bound)
    if own is None or most is None:
        return False
    if least(side) == 0 and not values(bound) and least(bound) < 0:
        most = max(most, own)  # it is converted, and may be negative
    if by == "/":
        return operator == ">" and least(side) == 0
    if by > 0 and operator in ("<", "<="):
        return most - (operator == "<") + by <= own
    if by < 0 and operator in (">", ">="):
        lowest = constant(bound)
        if lowest is None:
            return by == -1 and operator == ">"
        return lowest + (operator == ">") + by >= least(side)
    return False


def changes(program, function, loop, bound):
    """Why a bound may change while the loop runs, or None."""
    inside = [left for left in map(written, walk(loop)) if left is not None]
    reached = program.reached_from(loop, function)
    for part in walk(bound):
        star = kind(part) == "UnaryOperator" and part["opcode"] == "*"
        if star or kind(part) in ("CallExpr", "ArraySubscriptExpr"):
            return "its bound is read anew in each round"
        if kind(part) == "DeclRefExpr" and variable(part):
            name = part["referencedDecl"]["name"]
            if variable(part) in function.exposed:
                return f"the address of {name} is taken"
            if any(variable(left) == variable(part) for left in inside):
                return f"{name} is written in the loop"
        if kind(part) == "MemberExpr":
            name = part["name"]
            if name in program.exposed:
                return f"the address of a {name} is taken"
            if any(name in members_written(node, program.records) for node in walk(loop)):
                return f"{name} is written in the loop"
            writer = next((other.name for other in reached if name in other.members), None)
            if writer:
                return f"{name} is written by {writer}"
    return None


def why_not_counted(program, function, loop):
    """None if the loop counts towards a bound."""
    condition = parts(loop)[0]
    if not condition:
        return "it has no condition"
    why = "no variable moves by a constant towards a bound in every round"
    for step in every_round(loop):
        moved, by = movement(step)
        for side, operator, bound in comparisons(condition, moved) if moved else ():
            writers = sum(1 for node in walk(loop) if written(node) is not None and variable(written(node)) == moved)
            if writers > 1 or moved in function.exposed:
                why = "its variable is changed elsewhere, too"
            elif not arrives(side, operator, bound, by):
                why = "it may wrap around before it comes to its bound"
            else:
                why = changes(program, function, loop, bound)
                if why is None:
                    return None
    return why


# ---- loops of a tree -------------------------------------------------------------------------------------------------


@dataclass
class Loop:
    file: str
    line: int
    function: str
    head: str
    why: str  # it is not known to be counted, or None
    variant: bool


def head_of(lines, loop):
    """The line that begins the loop, without a comment; of `do` also the one that ends it."""
    heads = [lines[loop["line"] - 1]] + ([lines[parts(loop)[0]["line"] - 1]] if kind(loop) == "DoStmt" else [])
    return " ... ".join(re.sub(r"/\*.*?\*/", "", head).strip().removesuffix("{").strip() for head in heads)


def has_variant(lines, line):
    """Is there an annotation with a loop variant right above?"""
    match = re.search(r"/\*@((?!\*/).)*\*/\s*\Z", "\n".join(lines[:line - 1]), re.DOTALL)
    return bool(match and "loop variant" in match[0])


def contracts():
    """The names of the functions whose contracts are proved, one as often as it stands in a unit."""
    rows = [line.split() for line in (ROOT / "proofs/wp/units.txt").read_text().splitlines() if line and line[0] != "#"]
    return [name for row in rows for name in row[3].split(",")]


def read_tree(tree):
    """(loops, [(file, problem)], files)"""
    program, names = Program(tree), set(contracts())
    loops = []
    problems = [(file, f"{name} outlives a call and can be written") for file, name in sorted(program.globals)]
    for function in program.all:
        lines = (tree / function.file).read_text().splitlines()
        if function.key in program.reach(program.callees(function)):
            problems.append((function.file, f"{function.name} can call itself"))
        for node in walk(function.body):
            if kind(node) in ("GotoStmt", "IndirectGotoStmt"):
                problems.append((function.file, f"{function.name} has a goto"))
            if kind(node) in ("ForStmt", "WhileStmt", "DoStmt"):
                loops.append(Loop(function.file, node["line"], function.name, head_of(lines, node),
                                  why_not_counted(program, function, node),
                                  function.name in names and has_variant(lines, node["line"])))
    return loops, problems, sorted({function.file for function in program.all})


def read_reasons():
    """[(file, function, head)]"""
    reasons, because = [], False
    for number, line in enumerate((HERE / "reasons.txt").read_text().splitlines(), 1):
        word, _, rest = line.partition(" ")
        if word == "because":
            because = True
        elif word == "loop":
            entry = tuple(part.strip() for part in rest.split(" | ", 2))
            if len(entry) != 3 or not because:
                sys.exit(f"reasons.txt:{number}: not 'file | function | head' behind a 'because'")
            reasons.append(entry)
    return reasons


def judge(tree):
    """([(loop, how it is known to end)], [(file, problem)], files)"""
    loops, problems, files = read_tree(tree)
    reasons, judged = read_reasons(), []
    for loop in loops:
        entry = loop.file, loop.function, loop.head
        if loop.why is None or loop.variant:
            how = "variant" if loop.why else "counted"
        elif entry in reasons:
            how = "reason"
            reasons.remove(entry)
        else:
            how = "not known"
            problems.append((loop.file, f"line {loop.line}, {loop.function}: {loop.head}: {loop.why}"))
        judged.append((loop, how))
    problems += [(entry[0], "reasons.txt has what is not needed: " + " | ".join(entry)) for entry in reasons]
    return judged, problems, files


def check(listing):
    judged, problems, files = judge(ROOT)
    failed = 0
    for file in sorted({*files, *(file for file, _ in problems)}):
        own = [text for place, text in problems if place == file]
        found = Counter(how for loop, how in judged if loop.file == file)
        failed += bool(own)
        print(f"{'FAILED' if own else 'proved'} loops of {file}" +
              "".join(f", {count} {how}" for how, count in sorted(found.items())))
        for text in own:
            print("    " + text)
        for loop, how in judged if listing else ():
            if loop.file == file:
                print(f"    {how:8} line {loop.line}, {loop.function}: {loop.head}")
    total = Counter(how for _, how in judged)
    print(f"{len(judged)} loops: " + ", ".join(f"{count} {how}" for how, count in sorted(total.items())))
    return len(files) - failed, failed


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def plant(bug):
    tree = ROOT / "build/loops"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("core", "transport", "platform"):
        shutil.copytree(ROOT / folder, tree / folder)
    (tree / bug.file).write_text(bug.apply(tree))
    problems = judge(tree)[1]
    shutil.rmtree(tree)
    if not any(file == bug.killers[0] for file, _ in problems):
        raise Failure(f"no problem in {bug.killers[0]}")
    return "%s: %s" % next(problem for problem in problems if problem[0] == bug.killers[0])


def run_planted():
    missed, bugs = 0, read_list(HERE / "planted_loops.txt")
    for bug in bugs:
        try:
            print(f"found {bug.name}: {plant(bug)}", flush=True)
        except Failure as failure:
            missed += 1
            print(f"MISSED {bug.name}: {failure}", flush=True)
    return len(bugs) - missed, missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print each loop, and how it is known to end")
    parser.add_argument("--planted", action="store_true", help="find planted bugs")
    options = parser.parse_args()
    good, bad = run_planted() if options.planted else check(options.list)
    print(f"{good} proved, {bad} failed")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
