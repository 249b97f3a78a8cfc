"""Functions, their calls and what they write, from clang's syntax trees of core and transport."""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

FOLDERS = ("core", "transport")
INCLUDES = (".", "core", "core/include", "core/stages", "platform", "transport", "transport/include")
TRANSPARENT = ("ParenExpr", "ImplicitCastExpr", "ConstantExpr")
FILLERS = ("memcpy", "memmove", "memset", "pml_wipe")  # write all of what their first argument points at

ENUMERATED = {}  # constants of enumerations


@dataclass
class Function:
    name: str
    file: str
    key: tuple                                      # (name, source of a static function or "")
    body: dict
    calls: set = field(default_factory=set)         # keys
    through_pointers: bool = False
    members: set = field(default_factory=set)       # names of members that it writes
    exposed: set = field(default_factory=set)       # ids of variables whose address it takes


# ---- nodes -----------------------------------------------------------------------------------------------------------


def kind(node):
    return node.get("kind")


def walk(node):
    yield node
    for child in node.get("inner", ()):
        yield from walk(child)


def plain(node):
    """An expression without parentheses and conversions that nobody wrote."""
    while kind(node) in TRANSPARENT:
        node = node["inner"][0]
    return node


def type_of(node):
    names = node.get("type", {})
    return re.sub(r"\b(const|volatile) ", "", names.get("desugaredQualType", names.get("qualType", "")))


def variable(node):
    """The id of the variable that an expression is, or None."""
    node = plain(node)
    if kind(node) == "DeclRefExpr" and node["referencedDecl"]["kind"] in ("VarDecl", "ParmVarDecl"):
        return node["referencedDecl"]["id"]
    return None


def written(node):
    """What an expression writes, if it writes something."""
    if kind(node) == "CompoundAssignOperator" or (kind(node) == "BinaryOperator" and node["opcode"] == "="):
        return plain(node["inner"][0])
    if kind(node) == "UnaryOperator" and node["opcode"] in ("++", "--"):
        return plain(node["inner"][0])
    return None


def takes_address(node):
    return kind(node) == "UnaryOperator" and node["opcode"] == "&"


def is_function(node):
    return kind(node) == "DeclRefExpr" and node["referencedDecl"]["kind"] == "FunctionDecl"


def is_foreign(target):
    """Is what is called a member of BearSSL's tables? They hold functions of BearSSL alone."""
    return kind(target) == "MemberExpr" and re.match(r"(struct )?br_", type_of(target["inner"][0])) is not None


def members_written(node, records):
    """The names of all members that an expression writes itself: of a.b[i].c = d these are b and c, and of a whole
    struct all that it has."""
    left = written(node)
    if kind(node) == "CallExpr" and plain(node["inner"][0]).get("referencedDecl", {}).get("name") in FILLERS:
        target = plain(node["inner"][1])
        while kind(target) == "CStyleCastExpr":
            target = plain(target["inner"][0])
        left = {"inner": [target], "type": {"qualType": type_of(target).removesuffix("*").strip()}}
    if left is None:
        return set()
    names = {part["name"] for part in walk(left) if kind(part) == "MemberExpr"}
    return names | records.get(type_of(left).removeprefix("struct "), set())


# ---- units -----------------------------------------------------------------------------------------------------------


def exposed_members(unit):
    """The names of all members whose address is taken: a pointer may write them, wherever."""
    targets = [plain(node["inner"][0]) for node in walk(unit) if takes_address(node)]
    return {target["name"] for target in targets if kind(target) == "MemberExpr"}


def variables_of_files(unit):
    """(file, name) of variables that outlive a call and can be written."""
    lasting = [node for node in unit["inner"] if kind(node) == "VarDecl"]
    lasting += [node for node in walk(unit) if kind(node) == "VarDecl" and node.get("storageClass") == "static"]
    return {(node["file"], node["name"]) for node in lasting
            if node["file"].split("/")[0] in FOLDERS and not is_constant(node["type"]["qualType"])}


def is_constant(name):
    name = re.sub(r"\[.*", "", name).strip()
    return name.endswith("*const") if "*" in name else "const" in name.split()


def sources(tree):
    return sorted(path.relative_to(tree).as_posix() for folder in FOLDERS for path in (tree / folder).rglob("*.c"))


def parse(tree, source):
    command = ["clang", "-std=c11", "-ffreestanding", "-fsyntax-only", "-Xclang", "-ast-dump=json",
               *("-I" + str(tree / folder) for folder in INCLUDES), str(tree / source)]
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{source} does not compile:\n{done.stderr.decode()}")
    unit = json.loads(done.stdout)
    place(unit, tree)
    for node in walk(unit):
        if kind(node) == "EnumConstantDecl" and kind(node.get("inner", [{}])[0]) == "ConstantExpr":
            ENUMERATED[node["name"]] = int(node["inner"][0]["value"])
    return unit


def place(unit, tree):
    """Gives every node the file and the line where it begins: clang writes them only where they change."""
    now = [None, None]

    def step(node):
        for name, where in (("loc", node.get("loc")), *node.get("range", {}).items()):
            for part in ((where or {}).get("spellingLoc"), (where or {}).get("expansionLoc"), where):
                if part:
                    now[:] = part.get("file", now[0]), part.get("line", now[1])
            if name == "begin":
                path = (now[0] or "").removeprefix(str(tree) + "/").removeprefix("./")
                node["file"], node["line"] = path, now[1]
        for child in node.get("inner", ()):
            step(child)

    sys.setrecursionlimit(10000)
    step(unit)


def records_of(unit):
    """The names of the members of every struct, those of structs within it too, by the name of its type."""
    found = {}
    for node in unit["inner"]:
        owned = node["inner"][0].get("ownedTagDecl", {}).get("id") if kind(node) == "TypedefDecl" else None
        if kind(node) == "RecordDecl":
            members = {part["name"] for part in walk(node) if kind(part) == "FieldDecl" and "name" in part}
            found[node.get("name", node["id"])] = members
        elif owned in found:  # a struct without a name
            found[node["name"]] = found[owned]
    return {name: members for name, members in found.items() if not name.startswith("0x")}


def functions_of(unit, source, records):
    """(the functions of a unit that have a body, the keys of those whose address is taken)"""
    declared = [node for node in unit["inner"] if kind(node) == "FunctionDecl"]
    local = {node["name"] for node in declared if node.get("storageClass") == "static"}

    def key(declaration):
        return declaration["name"], source if declaration["name"] in local else ""

    found, taken = [], set()
    for node in unit["inner"]:
        body = next((child for child in node.get("inner", ()) if kind(child) == "CompoundStmt"), None)
        if kind(node) == "FunctionDecl" and body and node["file"].split("/")[0] in FOLDERS:
            function = Function(node["name"], node["file"], key(node), body)
            taken |= fill(function, key, records)
            found.append(function)
        elif kind(node) == "VarDecl":  # tables of functions
            taken |= {key(part["referencedDecl"]) for part in walk(node) if is_function(part)}
    return found, taken


def fill(function, key, records):
    """Notes what the body calls and writes. Returns the keys of functions whose address it takes."""
    called = set()
    for node in walk(function.body):
        function.members |= members_written(node, records)
        if kind(node) == "CallExpr":
            target = plain(node["inner"][0])
            if is_function(target):
                function.calls.add(key(target["referencedDecl"]))
                called.add(id(target))
            elif not is_foreign(target):
                function.through_pointers = True
        if takes_address(node) and variable(node["inner"][0]):
            function.exposed.add(variable(node["inner"][0]))
    return {key(node["referencedDecl"]) for node in walk(function.body) if is_function(node) and id(node) not in called}


class Program:
    """All functions of a tree of sources, and who can call whom."""

    def __init__(self, tree):
        self.functions, self.taken, self.records, units = {}, set(), {}, []
        self.exposed, self.globals = set(), set()
        with ThreadPoolExecutor(2) as pool:
            for source, unit in zip(sources(tree), pool.map(lambda source: parse(tree, source), sources(tree))):
                self.records |= records_of(unit)
                self.exposed |= exposed_members(unit)
                self.globals |= variables_of_files(unit)
                units.append((source, unit))
        self.all = []  # each once, also those of headers
        seen = set()
        for source, unit in units:
            found, taken = functions_of(unit, source, self.records)
            self.taken |= taken
            for function in found:
                self.functions[function.key] = function
                if (function.file, function.name) not in seen:
                    seen.add((function.file, function.name))
                    self.all.append(function)

    def callees(self, function):
        """A call through a pointer may reach every function whose address is taken."""
        return function.calls | (self.taken if function.through_pointers else set())

    def reach(self, start):
        """The keys of all functions that these can call, and these."""
        seen, todo = set(), set(start)
        while todo:
            key = todo.pop()
            if key in self.functions and key not in seen:
                seen.add(key)
                todo |= self.callees(self.functions[key])
        return seen

    def reached_from(self, node, function):
        """The functions that a part of a function's body can call."""
        names, pointers = set(), False
        for part in walk(node):
            if kind(part) == "CallExpr":
                target = plain(part["inner"][0])
                names.add(target["referencedDecl"]["name"] if is_function(target) else "")
                pointers |= not is_function(target) and not is_foreign(target)
        start = {key for key in function.calls if key[0] in names} | (self.taken if pointers else set())
        return [self.functions[key] for key in self.reach(start)]
