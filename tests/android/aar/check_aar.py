#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks into an AAR and the jars beside it: what is in them, and whether Android will load its libraries.

    check_aar.py AAR [--abi ABI]... [--sizes FILE] [--limit ABI=BYTES]...

One line a check; the last is 'N passed, N failed'. --abi: it has these ABIs and no others; otherwise all four. --sizes
writes "ABI bytes" of code and constants, a line each.
"""
import argparse
import io
import json
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
MACHINES = {"arm64-v8a": ("ELF64", "AArch64"), "armeabi-v7a": ("ELF32", "ARM"),
            "x86_64": ("ELF64", "Advanced Micro Devices X86-64"), "x86": ("ELF32", "Intel 80386")}
HEADERS = ("core/include/privatemail.h", "core/include/privatemail_public.h", "core/include/privatemail_crowd.h",
           "platform/privatemail_platform.h")
MODULES = {"privatemail": "libprivatemail.a", "privatemail_shared": "libprivatemail.so"}
PAGE = 0x4000
# What every compiler for a 32-bit CPU has in its own support library, and an NDK links in.
COMPILERS_OWN = re.compile(r"__aeabi_(u?l(2d|divmod)|d2u?lz|uidiv(mod)?)|__u?(div|mod)di3|_GLOBAL_OFFSET_TABLE_")

passed = failed = 0


def check(name, good, detail=""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok      {name}")
    else:
        failed += 1
        print(f"FAILED  {name}: {detail}")


def equal(name, have, want):
    check(name, have == want, f"{have!r} instead of {want!r}")


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libc_symbols():
    lines = (ROOT / "android/aar/libc.symbols").read_text().splitlines()
    return {f"{name}@{version}" for version, name in (line.split() for line in lines if line and line[0] != "#")}


def public_functions():
    text = "".join((ROOT / header).read_text() for header in HEADERS)
    return set(re.findall(r"^PML_API\b[^;(]*?\b(pml_\w+)\s*\(", text, re.MULTILINE))


# ---- a library ---------------------------------------------------------------------------------------------------

def check_library(abi, path, limit):
    elf_class, machine = MACHINES[abi]
    header = tool("llvm-readelf", "-hW", str(path))
    dynamic = tool("llvm-readelf", "-dW", str(path))
    segments = [line.split() for line in tool("llvm-readelf", "-lW", str(path)).splitlines()]
    symbols = [line.split() for line in tool("llvm-readelf", "--dyn-syms", "-W", str(path)).splitlines()]
    symbols = [line for line in symbols if len(line) >= 8 and line[0][:-1].isdigit()]

    equal(f"{abi}: class", re.search(r"Class: +(\S+)", header)[1], elf_class)
    equal(f"{abi}: machine", re.search(r"Machine: +(.+)", header)[1], machine)
    equal(f"{abi}: soname", re.findall(r"soname: \[(.+)\]", dynamic), ["libprivatemail.so"])
    equal(f"{abi}: needs libc.so alone", re.findall(r"NEEDED\).*\[(.+)\]", dynamic), ["libc.so"])
    check(f"{abi}: bound when loaded", re.search(r"FLAGS_1\) +NOW", dynamic), dynamic)
    check(f"{abi}: code is not relocated", "TEXTREL" not in dynamic, dynamic)
    check(f"{abi}: no search path", "RPATH" not in dynamic and "RUNPATH" not in dynamic, dynamic)

    loads = [line for line in segments if line[:1] == ["LOAD"]]
    equal(f"{abi}: segments are aligned to 16 KiB", {int(line[-1], 16) for line in loads}, {PAGE})
    check(f"{abi}: file and memory agree on pages", loads and all(
        (int(line[1], 16) - int(line[2], 16)) % PAGE == 0 for line in loads), loads)
    pages = [range(int(line[2], 16) // PAGE, -(-(int(line[2], 16) + int(line[5], 16)) // PAGE)) for line in loads]
    check(f"{abi}: no two segments on one page", all(
        first.stop <= second.start for first, second in zip(pages, pages[1:])), pages)
    flags = ["".join(line[6:-1]) for line in loads]
    check(f"{abi}: nothing is writable and executable", not any("W" in f and "E" in f for f in flags), flags)
    stack = [line for line in segments if line[:1] == ["GNU_STACK"]]
    check(f"{abi}: the stack is not executable", len(stack) == 1 and "E" not in "".join(stack[0][6:-1]), stack)
    check(f"{abi}: read-only after relocation", any(line[:1] == ["GNU_RELRO"] for line in segments), segments)

    exported = {line[7].split("@")[0] for line in symbols if line[6] != "UND"}
    imported = {line[7] for line in symbols if line[6] == "UND"}
    equal(f"{abi}: exports the entry of Java and the public functions", exported, public_functions() | {"JNI_OnLoad"})
    check(f"{abi}: imports what Android's libc has", imported and imported <= libc_symbols(),
          sorted(imported - libc_symbols()))
    check(f"{abi}: is stripped", ".symtab" not in tool("llvm-readelf", "-SW", str(path)))
    if limit:
        size = path.stat().st_size
        check(f"{abi}: {size} bytes, limit {limit}", size < limit, "too large")


def check_archive(abi, path):
    defined = set(tool("llvm-nm", "--defined-only", "-g", "-j", str(path)).split())
    undefined = set(tool("llvm-nm", "-u", "-j", str(path)).split())
    own = {symbol.split("@")[0] for symbol in libc_symbols()}
    foreign = {name for name in undefined - defined - own if not COMPILERS_OWN.fullmatch(name) and not name.endswith(":")}
    check(f"{abi}: static library has the public functions", public_functions() <= defined,
          sorted(public_functions() - defined))
    equal(f"{abi}: static library takes nothing else from outside", foreign, set())


def text_size(path):
    """Code and constants, as for the other platforms."""
    sections = re.findall(r"^(\.text|\.rodata)\S*\s+(\d+)", tool("llvm-size", "-A", str(path)), re.MULTILINE)
    return sum(int(size) for _, size in sections)


# ---- the archive -------------------------------------------------------------------------------------------------

def expected_names(abis):
    names = {"AndroidManifest.xml", "LICENSE", "LICENSE-BearSSL", "R.txt", "classes.jar", "proguard.txt", "prefab/prefab.json"}
    names |= {f"jni/{abi}/libprivatemail.so" for abi in abis}
    for module, library in MODULES.items():
        folder = f"prefab/modules/{module}"
        names |= {f"{folder}/module.json"} | {f"{folder}/include/{pathlib.Path(header).name}" for header in HEADERS}
        names |= {f"{folder}/libs/android.{abi}/{name}" for abi in abis for name in ("abi.json", library)}
    return names


def check_contents(aar, abis):
    names = aar.namelist()
    equal("the AAR has its files and no others", set(names), expected_names(abis))
    equal("they are sorted", names, sorted(names))
    equal("they have one date", {info.date_time for info in aar.infolist()}, {(1980, 1, 1, 0, 0, 0)})

    manifest = xml.fromstring(aar.read("AndroidManifest.xml"))
    equal("the manifest's package", manifest.get("package"), "org.privatemail")
    equal("the manifest's lowest API level", [dict(element.attrib) for element in manifest.iter("uses-sdk")],
          [{"{http://schemas.android.com/apk/res/android}minSdkVersion": "24"}])
    check("the manifest asks for no permission", manifest.find("uses-permission") is None)

    header = aar.read("prefab/modules/privatemail/include/privatemail.h").decode()
    version = ".".join(re.findall(r"#define PML_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    package = json.loads(aar.read("prefab/prefab.json"))
    equal("Prefab's package", package,
          {"schema_version": 2, "name": "privatemail", "version": version, "dependencies": []})
    for module, library in MODULES.items():
        folder = f"prefab/modules/{module}"
        equal(f"Prefab's module {module}", json.loads(aar.read(f"{folder}/module.json"))["library_name"],
              "libprivatemail")
        for abi in abis:
            entry = json.loads(aar.read(f"{folder}/libs/android.{abi}/abi.json"))
            check(f"Prefab's {module} for {abi}", isinstance(entry.pop("ndk", None), int) and entry == {
                "abi": abi, "api": 24, "stl": "none", "static": library.endswith(".a")}, entry)
    for abi in abis:
        equal(f"Prefab's shared library is Java's, {abi}",
              aar.read(f"prefab/modules/privatemail_shared/libs/android.{abi}/libprivatemail.so"),
              aar.read(f"jni/{abi}/libprivatemail.so"))


def check_classes(aar):
    jar = zipfile.ZipFile(io.BytesIO(aar.read("classes.jar")))
    names = jar.namelist()
    sources = {path.stem for path in (ROOT / "android/privatemail/src/main/java").rglob("*.java")}
    equal("every source has its class", {pathlib.PurePath(name).stem.split("$")[0] for name in names}, sources)
    check("classes are of org.privatemail alone", all(name.startswith("org/privatemail/") for name in names), names)
    equal("classes are Java 8's", {jar.read(name)[7] for name in names}, {52})


def public_methods(aar):
    """(class and method, its description by javap) of all that apps can call and that was written by hand."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "classes.jar"
        path.write_bytes(aar.read("classes.jar"))
        names = [name[:-len(".class")].replace("/", ".") for name in zipfile.ZipFile(path).namelist()]
        text = tool("javap", "-v", "-public", "-cp", str(path), *names)
    for part in text.split("Classfile ")[1:]:
        name = re.search(r"this_class: #\d+ +// (\S+)", part)[1]
        if "ACC_PUBLIC" not in re.search(r"^  flags: (.*)", part, re.MULTILINE)[1]:
            continue
        for block in re.split(r"\n\n|\n\{\n", part):
            head = re.search(r"^  public .*?(\S+)\(.*\n    descriptor: ", block, re.MULTILINE)
            if not head or "SYNTHETIC" in block or (" java.lang.Enum" in part and head[1] in ("values", "valueOf")):
                continue
            yield f"{name}.{head[1].split('.')[-1]}", block


def nullness(text):
    return re.findall(r"androidx\.annotation\.(NonNull|Nullable)\b", text)


def check_descriptions(aar):
    """What Kotlin and an IDE know of the methods: which values may be null, and the names of the parameters."""
    unsaid, unnamed, nullable, count = [], [], set(), 0
    for name, block in public_methods(aar):
        arguments, result = re.search(r"descriptor: \((.*)\)(\S+)", block).groups()
        arguments = re.findall(r"\[*(?:L[^;]+;|[A-Z])", arguments)
        said = re.search(r"RuntimeInvisibleAnnotations:\n((?:      .*\n?)*)", block)
        said = nullness(said[1]) if said else []
        each = re.split(r"parameter \d+:", block.partition("RuntimeInvisibleParameterAnnotations:")[2])[1:]
        each += [""] * (len(arguments) - len(each))
        wanted = [len(kind) > 1 for kind in arguments]
        count += 1
        if [len(nullness(text)) for text in each] != wanted or len(said) != (len(result) > 1):
            unsaid.append(name)
        names = re.search(r"MethodParameters:\n +Name +Flags\n((?:      .*\n?)*)", block)
        names = names[1].split("\n")[:len(arguments)] if names else []
        debugged = "    Code:" not in block or "LocalVariableTable:" in block or not arguments
        if not debugged or len(names) != len(arguments) or not all(re.match(r" +[a-z]\w+", line) for line in names):
            unnamed.append(name)
        if said == ["Nullable"]:
            nullable.add(name.removeprefix("org/privatemail/"))
    check(f"{count} public methods say which values may be null", count > 60 and unsaid == [], unsaid)
    equal("public methods have the names of their parameters", unnamed, [])
    equal("these results may be null", nullable, {
        "BudgetStore.load", "CrowdBundle.kept", "FileBudgetStore.load", "Options.crowd", "Pack.model", "Pack.rows",
        "PreferencesBudgetStore.load", "Release.rows"})


def check_jars(path):
    """Sources and documentation, as Maven and an IDE want them beside the library."""
    folder = ROOT / "android/privatemail/src/main/java"
    with zipfile.ZipFile(path.with_name(path.stem + "-sources.jar")) as jar:
        equal("the sources are in a jar", {name: jar.read(name) for name in jar.namelist()},
              {str(source.relative_to(folder)): source.read_bytes() for source in folder.rglob("*.java")})
    public = {source.stem for source in folder.rglob("*.java")
              if re.search(r"^public (final |abstract )*(class|enum|interface) ", source.read_text(), re.MULTILINE)}
    with zipfile.ZipFile(path.with_name(path.stem + "-javadoc.jar")) as jar:
        pages = {pathlib.PurePath(name).stem for name in jar.namelist()
                 if re.fullmatch(r"org/privatemail/[A-Z]\w+\.html", name)}
        equal("every public class has its page in a jar", pages, public)
        check("which begins with index.html", "index.html" in jar.namelist())
        check_no_path_of_this_machine(jar)


def check_pom(path, artifact, packaging):
    """All that Maven Central asks for, and the version of the header."""
    root = xml.fromstring(path.read_bytes())
    maven = "{http://maven.apache.org/POM/4.0.0}"
    said = {place: root.findtext("/".join(maven + part for part in place.split("/"))) for place in (
        "name", "description", "url", "licenses/license/name", "licenses/license/url", "developers/developer/name",
        "scm/connection", "scm/url")}
    check(f"{path.name} says all that Maven Central asks for", all(said.values()), said)
    header = (ROOT / HEADERS[0]).read_text()
    version = ".".join(re.findall(r"#define PML_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    equal(f"{path.name}: coordinates", [root.findtext(maven + name) for name in (
        "groupId", "artifactId", "version", "packaging")], ["org.privatemail", artifact, version, packaging])
    return {need.findtext(maven + "artifactId"): need.findtext(maven + "version")
            for need in root.iter(maven + "dependency")}


def check_kotlin(path):
    """The layer for Kotlin, where there was a compiler for it."""
    jar_path = path.with_name(path.stem + "-kotlin.jar")
    if not jar_path.exists():
        print("skipped the layer for Kotlin: there is no compiler")
        return
    folder = ROOT / "android/kotlin/src/main/kotlin"
    with zipfile.ZipFile(jar_path) as jar:
        classes = [name for name in jar.namelist() if name.endswith(".class")]
        check("the layer for Kotlin has its own package alone",
              classes and all(name.startswith("org/privatemail/kotlin/") for name in classes), classes)
        equal("its classes are Java 8's", {jar.read(name)[7] for name in classes}, {52})
        check("Kotlin finds its functions", "META-INF/privatemail-kotlin.kotlin_module" in jar.namelist(),
              jar.namelist())
    with zipfile.ZipFile(path.with_name(path.stem + "-kotlin-sources.jar")) as jar:
        equal("its sources are in a jar", {name: jar.read(name) for name in jar.namelist()},
              {str(source.relative_to(folder)): source.read_bytes() for source in folder.rglob("*.kt")})
    needs = check_pom(path.with_name(path.stem + "-kotlin.pom"), "privatemail-kotlin", "jar")
    script = (ROOT / "android/kotlin/build.gradle.kts").read_text()
    settings = (ROOT / "android/settings.gradle.kts").read_text()
    equal("it needs what Gradle's script says", [needs.get("kotlinx-coroutines-core"), needs.get("kotlin-stdlib")],
          [re.search(r"kotlinx-coroutines-core:([0-9.]+)", script)[1],
           re.search(r'"org.jetbrains.kotlin.android"\) version "([0-9.]+)"', settings)[1]])
    check("and the AAR", "privatemail" in needs, needs)


def check_rules(aar):
    """What libprivatemail.so looks up by name must be kept: the class, its methods, the classes in their signatures."""
    rules = aar.read("proguard.txt").decode()
    shim = "".join(path.read_text() for path in (ROOT / "android/privatemail/src/main/c").glob("*.c"))
    classes = {name.replace("/", ".") for name in re.findall(r"\bL?(org/privatemail/\w+)", shim)}
    kept = set(re.findall(r"^-keep(?:names)? class (\S+)", rules, re.MULTILINE))
    equal("the rules keep the classes that C names", kept, classes)
    check("the rules keep the native methods", "native <methods>;" in rules)
    for name in re.findall(r"Get(?:Static)?MethodID\([^\"]*\"(\w+)\"", shim):
        check(f"the rules keep {name}, which C calls", re.search(rf"\b{name}\(", rules), rules)


def kept_fields(rules):
    """Class, type and name of every field that a rule keeps."""
    return {(name, *field) for name, body in re.findall(r"^-keepclassmembers class org\.privatemail\.(\w+) \{(.*?)\}",
                                                        rules, re.MULTILINE | re.DOTALL)
            for field in re.findall(r"([\w.]+) (\w+);", body)}


def buffers_of(text):
    """The buffers among the fields of a class, by javap, and those that something but a constructor reads."""
    name = re.search(r"^(?:\w+ )*class org\.privatemail\.([\w$]+)", text, re.MULTILINE)[1]
    fields = {(name, *field) for field in re.findall(r"^  (?:\w+ )*(java\.nio\.\w*Buffer) (\w+);", text, re.MULTILINE)}
    methods = text.split("\n\n")[1:] if "\n\n" in text else []
    constructor = re.compile(rf"^  (?:\w+ )*org\.privatemail\.{re.escape(name)}\(", re.MULTILINE)
    code = "\n".join(method for method in methods if not constructor.search(method))
    read = set(re.findall(r"getfield +#\d+ +// Field (\w+):Ljava/nio/", code))
    return fields, {field for field in fields if field[2] in read}


def check_kept_memory(aar):
    """Native memory points into these buffers, and Java alone keeps them reachable: a shrinker sees that nothing reads
    them, and would remove them. The collector would then free what the library still reads."""
    rules = aar.read("proguard.txt").decode()
    fields, read = set(), set()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "classes.jar"
        path.write_bytes(aar.read("classes.jar"))
        names = [name[:-len(".class")].replace("/", ".") for name in zipfile.ZipFile(path).namelist()]
        for text in tool("javap", "-p", "-c", "-cp", str(path), *names).split("Compiled from ")[1:]:
            if re.search(r"^(?:\w+ )*class ", text, re.MULTILINE):
                each = buffers_of(text)
                fields, read = fields | each[0], read | each[1]
    held = {(name, kind, field) for name, kind, field in fields - read}
    check("some buffers are kept and not read", ("Pack", "java.nio.ByteBuffer", "bytes") in held, held)
    # These are read, but by methods that an app may not use, and that a shrinker then removes.
    held |= {("Client", "org.privatemail.Pack", "pack"), ("Pack", "java.nio.ByteBuffer", "view")}
    equal("the rules keep the fields that keep native memory", kept_fields(rules), held)


def check_no_path_of_this_machine(archive):
    found = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]
    equal(f"{pathlib.Path(archive.filename).name}: no file names a folder of this machine", found, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("aar", type=pathlib.Path)
    parser.add_argument("--abi", action="append", choices=MACHINES)
    parser.add_argument("--sizes", type=pathlib.Path)
    parser.add_argument("--limit", action="append", default=[], metavar="ABI=BYTES")
    options = parser.parse_args()
    limits = {abi: int(size) for abi, size in (limit.split("=") for limit in options.limit)}

    abis = options.abi or list(MACHINES)
    sizes = []
    with zipfile.ZipFile(options.aar) as aar, tempfile.TemporaryDirectory() as folder:
        check_contents(aar, abis)
        check_classes(aar)
        check_descriptions(aar)
        check_jars(options.aar)
        equal("the AAR needs nothing", check_pom(options.aar.with_suffix(".pom"), "privatemail", "aar"), {})
        check_kotlin(options.aar)
        check_rules(aar)
        check_kept_memory(aar)
        check_no_path_of_this_machine(aar)
        for abi in abis:
            path = pathlib.Path(aar.extract(f"jni/{abi}/libprivatemail.so", folder))
            check_library(abi, path, limits.get(abi))
            check_archive(abi, aar.extract(f"prefab/modules/privatemail/libs/android.{abi}/libprivatemail.a", folder))
            sizes.append(f"{abi} {text_size(path)}\n")
    if options.sizes:
        options.sizes.write_text("".join(sizes))
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
