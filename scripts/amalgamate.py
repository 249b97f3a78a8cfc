#!/usr/bin/env python3
"""Writes the whole library as one pair of files, privatemail.c and privatemail.h, for builds that take one source.

    scripts/amalgamate.py FOLDER

The pair has the core, the kernels for every CPU and for microcontrollers (those for AVX and NEON are left out), and the
entropy of Linux, Android, Windows and Apple's systems. It is C11; programs in C++ include the header. The same sources
give the same bytes.

What is built is said by macros, each 0 or 1, as in core/base/base.h: PML_WITH_RESPONSE, PML_WITH_GAUSSIAN,
PML_WITH_CROWD, PML_WITH_FRONT, PML_WITH_HEAD. Two are the pair's own: PML_WITH_ENTROPY, and PML_WITH_PUBLIC for what
only servers and tools call. Both are 1 on the systems above and 0 elsewhere.

In one file two static functions cannot have one name. So a static name that other sources use too, for whatever, gets
the name of its source before it, and the macros of a source end with it.
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))
sys.dont_write_bytecode = True
from c_names import defined_names, macros_of, renamed, words_of  # noqa: E402

PUBLIC = ["core/include/privatemail.h", "core/include/privatemail_crowd.h", "core/include/privatemail_public.h",
          "platform/privatemail_platform.h"]

# When CMakeLists.txt builds a list of core/sources.cmake.
CONDITIONS = {
    "PML_CORE_SOURCES": "",
    "PML_CORE_EXPONENTIAL_SOURCES": "PML_WITH_GAUSSIAN || PML_WITH_FRONT",
    "PML_CORE_FRONT_SOURCES": "PML_WITH_FRONT",
    "PML_CORE_FRONT_PUBLIC_SOURCES": "PML_WITH_FRONT && PML_WITH_PUBLIC",
    "PML_CORE_SKETCH_PUBLIC_SOURCES": "PML_WITH_PUBLIC",
    "PML_CORE_HEAD_SOURCES": "PML_WITH_HEAD",
    "PML_CORE_GAUSSIAN_SOURCES": "PML_WITH_GAUSSIAN",
    "PML_CORE_NORMAL_SOURCES": "PML_WITH_GAUSSIAN || PML_WITH_CROWD",
    "PML_CORE_RESPONSE_SOURCES": "PML_WITH_RESPONSE",
    "PML_CORE_CROWD_SOURCES": "PML_WITH_CROWD",
    "PML_CORE_CROWD_ACCOUNTING_SOURCES": "PML_WITH_CROWD",
    "PML_CORE_CROWD_SHUFFLE_SOURCES": "PML_WITH_CROWD && PML_WITH_PUBLIC",
}
KERNELS = ["platform/kernels_dsp.c", "platform/kernels_helium.c", "platform/kernels_select.c"]
ENTROPY = "platform/entropy.c"
TAKEN = {"UINT", "accept"}  # by the headers of systems that platform/entropy.c includes

INCLUDE = re.compile(r'^#include "([^"]+)"\n', re.M)
LICENCE = "SPDX-License-Identifier: Apache-2.0"

HEAD = """/* {licence}
 * PrivateMail {version}, the whole library in one file. Written by scripts/amalgamate.py: change the sources instead.
 *
 * Compile it as C11. Never use -ffast-math; give -ffp-contract=off, or a chip with fused multiply-add may release other
 * bytes than all other devices. */
"""

SETTINGS = """
/* PML_WITH_RESPONSE, PML_WITH_GAUSSIAN, PML_WITH_CROWD, PML_WITH_FRONT and PML_WITH_HEAD are below, in base.h. */
#if defined(_WIN32) || defined(__APPLE__) || defined(__linux__)
#define PML_KNOWN_SYSTEM 1
#else
#define PML_KNOWN_SYSTEM 0
#endif
#ifndef PML_WITH_ENTROPY /* pml_platform_entropy; without it the callback is yours, over a hardware generator */
#define PML_WITH_ENTROPY PML_KNOWN_SYSTEM
#endif
#ifndef PML_WITH_PUBLIC /* what servers and tools call: sketches of items, fronts without a pack, shuffling */
#define PML_WITH_PUBLIC PML_KNOWN_SYSTEM
#endif
#define PML_AMALGAMATION

#if defined(__clang__) /* which sees inline functions of headers here, and those that a reduced build leaves unused */
#pragma clang diagnostic ignored "-Wunused-function"
#endif
"""


def fail(message):
    sys.exit(f"amalgamate: {message}")


def version():
    return re.search(r"^    VERSION (\S+)$", (TOP / "CMakeLists.txt").read_text(), re.M)[1]


def lists():
    """(condition, source) of every source of the core, in the order of core/sources.cmake."""
    text = (TOP / "core/sources.cmake").read_text()
    for name, body in re.findall(r"^set\((\w+)\n(.*?)^\)", text, re.M | re.S):
        if name not in CONDITIONS:
            fail(f"core/sources.cmake has a list {name}: say in CONDITIONS when it is built")
        for source in re.findall(r"^ +([a-z0-9_/]+\.c)$", body, re.M):
            yield CONDITIONS[name], f"core/{source}"


def resolve(includer, name):
    """The path of what a file includes: beside it, or from the folders that every build names."""
    for folder in (Path(includer).parent, Path("core"), Path("core/include"), Path("platform")):
        path = (TOP / folder / name).resolve()
        if path.is_file():
            return str(path.relative_to(TOP))
    return fail(f"{includer} includes {name}, which is not there")


def read(path):
    """A file without the licence's line, which the pair has once."""
    text = (TOP / path).read_text()
    return text.replace(f"/* {LICENCE} */\n", "", 1).replace(f"/* {LICENCE}\n * ", "/* ", 1).replace(
        f"/* {LICENCE}\n *\n * ", "/* ", 1)


def headers_of(path, found):
    """The internal headers that a file needs, each after those that it needs itself."""
    for name in INCLUDE.findall((TOP / path).read_text()):
        header = resolve(path, name)
        if header not in PUBLIC and header not in found:
            headers_of(header, found)
            found.append(header)


def section(path, text, condition=""):
    lines = f"\n/* ==== {path} ==== */\n\n{text.strip()}\n"
    return f"\n#if {condition}\n{lines}\n#endif /* {condition} */\n" if condition else lines


def new_names(sources, headers):
    """For every source the names that it must change, since other files know them too, and what they become."""
    words = {path: words_of(read(path)) for path in [*PUBLIC, *headers, *sources]}
    taken = TAKEN.union(*words.values())
    changes = {path: {} for path in sources}
    for path in sources:
        others = TAKEN.union(*(words[other] for other in words if other != path))
        for name in sorted(defined_names(read(path)) & others):
            if name.startswith("pml_"):  # the tag of a public type, or of none else: the rooms know it by this name
                continue
            new = f"{Path(path).stem}_{name}"
            if new in taken:
                fail(f"{path}: {name} cannot become {new}, which is there already")
            taken.add(new)
            changes[path][name] = new
    return changes


def one_header():
    bodies = [section(path, INCLUDE.sub("", read(path))) for path in PUBLIC]
    return HEAD.format(licence=LICENCE, version=version()) + "".join(bodies)


def one_source():
    core = list(lists())
    sources = [source for _, source in core] + KERNELS + [ENTROPY]
    headers = []
    for path in sources:
        headers_of(path, headers)
    changes = new_names(sources, headers)

    # Macros that choose what the system's headers declare stand before the first of those.
    first, rest = read(ENTROPY).split('#include "privatemail_platform.h"\n', 1)
    features = first[first.index("#if"):]
    out = [HEAD.format(licence=LICENCE, version=version()), features, SETTINGS, '\n#include "privatemail.h"\n']
    out += [section(path, INCLUDE.sub("", read(path))) for path in headers]
    for condition, path in [*core, *(("", path) for path in KERNELS)]:
        text = INCLUDE.sub("", renamed(read(path), changes[path]))
        ends = "".join(f"#undef {name}\n" for name in macros_of(text))
        out.append(section(path, f"{text.rstrip()}\n\n{ends}", condition))
    entropy = first[:first.index("#if")] + renamed(rest, changes[ENTROPY])
    out.append(section(ENTROPY, entropy, "PML_WITH_ENTROPY"))
    return re.sub(r"\n{3,}", "\n\n", "".join(out))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stdout if sys.argv[1:] == ["--help"] else sys.stderr)
        return 0 if sys.argv[1:] == ["--help"] else 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("privatemail.h", one_header()), ("privatemail.c", one_source())):
        (folder / name).write_bytes(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
