#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the parts that scripts/build-aar.sh made together into an AAR, with a Prefab package for C users inside. Beside
it come its POM, a jar of the sources and, when they were made, one of their documentation and the jars for Kotlin.

Archives are repeatable: entries sorted, one fixed date, no attributes of this machine.
"""
import argparse
import io
import json
import pathlib
import re
import xml.etree.ElementTree as xml
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = ROOT / "android/privatemail"
HEADERS = ("core/include/privatemail.h", "core/include/privatemail_public.h", "core/include/privatemail_crowd.h",
           "platform/privatemail_platform.h")
MAVEN = "http://maven.apache.org/POM/4.0.0"
# The oldest libraries that the layer for Kotlin runs with: those of android/kotlin/build.gradle.kts.
KOTLIN_NEEDS = (("org.jetbrains.kotlin", "kotlin-stdlib", "2.2.0", None),
                ("org.jetbrains.kotlinx", "kotlinx-coroutines-core", "1.10.2", None))
ANDROID = "http://schemas.android.com/apk/res/android"


def archive(entries):
    """The bytes of a zip file of {name: bytes}."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            file.writestr(info, entries[name])
    return out.getvalue()


def json_bytes(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def version():
    header = (ROOT / HEADERS[0]).read_text()
    return ".".join(re.search(rf"#define PML_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def manifest(api):
    """The module's manifest with what Gradle would take from build.gradle.kts."""
    script = (MODULE / "build.gradle.kts").read_text()
    xml.register_namespace("android", ANDROID)
    root = xml.fromstring((MODULE / "src/main/AndroidManifest.xml").read_bytes())
    root.set("package", re.search(r'namespace = "([^"]+)"', script)[1])
    xml.SubElement(root, "uses-sdk", {f"{{{ANDROID}}}minSdkVersion": str(api)})
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def jar(folder, pattern):
    return archive({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob(pattern) if path.is_file()})


def prefab(parts, abis, api, ndk):
    """Modules have the names of the CMake targets, as Gradle's have: privatemail is the static library."""
    entries = {"prefab.json": json_bytes(
        {"schema_version": 2, "name": "privatemail", "version": version(), "dependencies": []})}
    for module, library in (("privatemail", "libprivatemail.a"), ("privatemail_shared", "libprivatemail.so")):
        folder = f"modules/{module}"
        entries[f"{folder}/module.json"] = json_bytes(
            {"export_libraries": [], "library_name": "libprivatemail", "android": {}})
        for header in HEADERS:
            path = ROOT / header
            entries[f"{folder}/include/{path.name}"] = path.read_bytes()
        for abi in abis:
            entries[f"{folder}/libs/android.{abi}/{library}"] = (parts / abi / library).read_bytes()
            entries[f"{folder}/libs/android.{abi}/abi.json"] = json_bytes(
                {"abi": abi, "api": api, "ndk": ndk, "stl": "none", "static": library.endswith(".a")})
    return {f"prefab/{name}": data for name, data in entries.items()}


def properties():
    """android/gradle.properties."""
    lines = (ROOT / "android/gradle.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def add(parent, tag, text=None, /, **children):
    """A new element with a text, or with one child per keyword."""
    element = xml.SubElement(parent, tag)
    element.text = text
    for child, value in children.items():
        xml.SubElement(element, child).text = value
    return element


def pom(artifact, packaging, needs=()):
    """What a registry wants to know; the same as android/publishing.gradle.kts says."""
    known = properties()
    root = xml.Element("project", xmlns=MAVEN)
    for name, text in (("modelVersion", "4.0.0"), ("groupId", "org.privatemail"), ("artifactId", artifact),
                       ("version", version()), ("packaging", packaging), ("name", "PrivateMail"),
                       ("description", "Search a remote collection without revealing what you look for"),
                       ("url", known["privatemail.url"])):
        add(root, name, text)
    add(add(root, "licenses"), "license", name="Apache-2.0", url="https://www.apache.org/licenses/LICENSE-2.0")
    add(add(root, "developers"), "developer", name=known["privatemail.developer"])
    add(root, "scm", connection=known["privatemail.scm"], url=known["privatemail.url"])
    if needs:
        dependencies = add(root, "dependencies")
        for group, name, number, kind in needs:
            need = add(dependencies, "dependency", groupId=group, artifactId=name, version=number)
            if kind:
                add(need, "type", kind)
            add(need, "scope", "compile")
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def kotlin_pom():
    return pom("privatemail-kotlin", "jar", (("org.privatemail", "privatemail", version(), "aar"),) + KOTLIN_NEEDS)


def package_kotlin(parts, beside):
    pathlib.Path(f"{beside}-kotlin.jar").write_bytes(jar(parts / "kotlin", "*"))
    pathlib.Path(f"{beside}-kotlin-sources.jar").write_bytes(jar(ROOT / "android/kotlin/src/main/kotlin", "*.kt"))
    # Maven Central wants a jar of documentation; that of the layer is its page.
    pathlib.Path(f"{beside}-kotlin-javadoc.jar").write_bytes(
        archive({"README.md": (ROOT / "android/README.md").read_bytes()}))
    pathlib.Path(f"{beside}-kotlin.pom").write_bytes(kotlin_pom())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=pathlib.Path, required=True, help="folder of libraries and classes")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--bearssl-licence", type=pathlib.Path, required=True)
    parser.add_argument("--api", type=int, required=True, help="lowest API level")
    parser.add_argument("--ndk", type=int, required=True, help="major version of the NDK, for Prefab")
    parser.add_argument("abis", nargs="+")
    options = parser.parse_args()

    entries = {
        "AndroidManifest.xml": manifest(options.api),
        "LICENSE": (ROOT / "LICENSE").read_bytes(),
        "LICENSE-BearSSL": options.bearssl_licence.read_bytes(),
        "R.txt": b"",  # no resources
        "classes.jar": jar(options.parts / "classes", "*.class"),
        "proguard.txt": (MODULE / "consumer-rules.pro").read_bytes(),
    }
    for abi in options.abis:
        entries[f"jni/{abi}/libprivatemail.so"] = (options.parts / abi / "libprivatemail.so").read_bytes()
    entries.update(prefab(options.parts, options.abis, options.api, options.ndk))
    options.out.write_bytes(archive(entries))
    beside = str(options.out.with_suffix(""))
    pathlib.Path(f"{beside}.pom").write_bytes(pom("privatemail", "aar"))
    pathlib.Path(f"{beside}-sources.jar").write_bytes(jar(MODULE / "src/main/java", "*.java"))
    if (options.parts / "javadoc/index.html").exists():
        pathlib.Path(f"{beside}-javadoc.jar").write_bytes(jar(options.parts / "javadoc", "*"))
    if (options.parts / "kotlin").exists():
        package_kotlin(options.parts, beside)


if __name__ == "__main__":
    main()
