"""Names that a C source defines at file scope, and how to change them. Knows the C of this project, not all of C."""

import re

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<arrow>->)
  | (?P<space>\s+)
  | (?P<sign>.)
""", re.X | re.M | re.S)

DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)")
NO_FUNCTIONS = {"__attribute__", "_Static_assert", "_Alignas", "__declspec"}


def tokens(text):
    """(kind, text) of every token; directives are one token each."""
    return [(found.lastgroup, found[0]) for found in TOKEN.finditer(text)]


def words_of(text):
    """All words of a source but those of its comments."""
    code = (value for kind, value in tokens(text) if kind in ("word", "directive"))
    return {word for value in code for word in re.findall(r"[A-Za-z_]\w*", value)}


def macros_of(text):
    """Names that a source defines by #define, once each."""
    found = (DEFINE.match(value) for kind, value in tokens(text) if kind == "directive")
    return list(dict.fromkeys(match[1] for match in found if match))


def declarations(text):
    """The declarations and definitions of a source, each a list of (depth of braces, depth of parentheses, token)."""
    current, braces, parentheses = [], 0, 0
    for kind, value in tokens(text):
        if kind in ("comment", "directive", "space"):
            continue
        braces -= value == "}"
        parentheses -= value == ")"
        current.append((braces, parentheses, value))
        braces += value == "{"
        parentheses += value == "("
        body = value == "}" and braces == 0 and is_function(current)
        if braces == 0 and parentheses == 0 and (value == ";" or body):
            yield current
            current = []


def is_function(declaration):
    """Whether the braces that just closed are a function's body: a parenthesis stands before them."""
    opened = max(i for i, (braces, _, value) in enumerate(declaration) if braces == 0 and value == "{")
    return opened > 0 and declaration[opened - 1][2] == ")"


def outside(declaration):
    """What stands in no braces and no parentheses."""
    return [value for braces, parentheses, value in declaration if braces == 0 and parentheses == 0]


def own_name(values):
    """The name that a declaration gives to a function, a variable or a type."""
    for i, value in enumerate(values[:-1]):
        if re.match(r"[A-Za-z_]\w*$", value) and value not in NO_FUNCTIONS and values[i + 1] in ("(", "=", "[", ";"):
            return value
    return None


def defined_names(text):
    """Static functions and data, types, tags and constants of a source or header: all that one file may have once."""
    names = set()
    for declaration in declarations(text):
        values = [value for _, _, value in declaration]
        plain = outside(declaration)
        for i, value in enumerate(values[:-2]):
            if value in ("struct", "enum", "union") and values[i + 2] == "{" and declaration[i][0] == 0:
                names.add(values[i + 1])
        if "enum" in plain and "{" in plain:
            names.update(constants(declaration))
        if "static" in plain or "typedef" in plain:
            names.add(own_name(plain))
    return names - {None}


def constants(declaration):
    """The constants of an enum: a word after the brace or a comma, unless it is a macro with arguments."""
    inside = [value for braces, parentheses, value in declaration if braces == 1 and parentheses == 0 and value != "}"]
    starts = [0] + [i + 1 for i, value in enumerate(inside) if value == ","]
    words = (inside[i:i + 2] for i in starts)
    return {word[0] for word in words if word and re.match(r"[A-Za-z_]\w*$", word[0]) and word[1:] != ["("]}


def renamed(text, changes):
    """The source with its names changed, in the bodies of macros too; members keep theirs."""
    if not changes:
        return text
    out, before = [], ""
    for kind, value in tokens(text):
        if kind == "directive" and DEFINE.match(value):
            head = DEFINE.match(value)[0]
            value = head + renamed(value[len(head):], changes)
        elif kind == "word" and before not in (".", "->"):
            value = changes.get(value, value)
        out.append(value)
        if kind not in ("space", "comment"):
            before = value
    return "".join(out)
