#!/usr/bin/env python3
"""Writes the descriptions of the library for registries of embedded software, or checks those that are there.

    scripts/manifests.py            writes library.json (PlatformIO) and idf_component.yml (ESP-IDF) at the top
    scripts/manifests.py --check    compares them with what would be written, and the version with privatemail.h
    scripts/manifests.py --packages FOLDER [--url URL]
                                    packages of the pair of files (scripts/amalgamate.py) for Arduino and CMSIS:
                                    FOLDER/PrivateMail-VERSION.zip and FOLDER/PrivateMail.PrivateMail.VERSION.pack

The version and the description are those of CMakeLists.txt, the sources those of core/sources.cmake, and the same
sources give the same bytes. URL is where the package is published; unless given, that of android/gradle.properties.
"""

import argparse
import json
import re
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "scripts"))
sys.dont_write_bytecode = True
import amalgamate  # noqa: E402

PROJECT = (TOP / "CMakeLists.txt").read_text()
VERSION = amalgamate.version()
DESCRIPTION = re.search(r'DESCRIPTION "([^"]+)"', PROJECT)[1]
LONG = ("The device turns features of a picture into one small differentially private message and ranks what a server "
        "returns. Freestanding C11 without heap, libm or globals.")
ARDUINO = TOP / "platform/arduino"
URL = re.search(r"^privatemail\.url=(.+)$", (TOP / "android/gradle.properties").read_text(), re.M)[1]


# CPUs whose double has 64 bits, which core/base/base.h demands: all but 8-bit AVR and such.
PLATFORMIO = ["atmelsam", "espressif32", "espressif8266", "native", "nordicnrf52", "nxpimxrt", "nxplpc", "raspberrypi",
              "renesas-ra", "sifive", "ststm32", "teensy"]
ARCHITECTURES = ["esp32", "esp8266", "mbed", "mbed_giga", "mbed_nano", "mbed_opta", "mbed_portenta", "mbed_rp2040",
                 "nrf52", "renesas_portenta", "renesas_uno", "rp2040", "sam", "samd", "stm32", "zephyr"]


def sources():
    """What a device builds: all of the core but what only servers and tools call, and all kernels, of which those of
    other CPUs compile to nothing."""
    core = [path for condition, path in amalgamate.lists() if "PML_WITH_PUBLIC" not in condition]
    return core + sorted(str(path.relative_to(TOP)) for path in TOP.glob("platform/kernels_*.c"))


# ---- at the top: these build the sources as they are ---------------------------------------------------------------

def platformio():
    folders = ["core", "core/include", "platform"]
    return json.dumps({
        "name": "PrivateMail",
        "version": VERSION,
        "description": f"{DESCRIPTION}. {LONG}",
        "keywords": ["privacy", "differential privacy", "search"],
        "license": "Apache-2.0",
        "frameworks": "*",
        "platforms": PLATFORMIO,
        "headers": ["privatemail.h", "privatemail_crowd.h"],
        "build": {
            "srcDir": ".",
            "srcFilter": ["-<*>", *(f"+<{source}>" for source in sources())],
            "flags": ["-ffp-contract=off", *(f"-I{folder}" for folder in folders)],
            "includeDir": "core/include",
        },
        "export": {"include": ["LICENSE", "README.md", "library.json", "core", "platform/*.c", "platform/*.h"]},
    }, indent=2) + "\n"


def espidf():
    keep = ["core/**/*", "platform/*.c", "platform/*.h", "platform/cmake/*", "CMakeLists.txt", "LICENSE", "README.md",
            "idf_component.yml"]
    return "\n".join([
        "# Written by scripts/manifests.py.",
        f'version: "{VERSION}"',
        f'description: "{DESCRIPTION}"',
        'license: "Apache-2.0"',
        "dependencies:",
        '  idf: ">=5.0"',
        "files:",
        "  exclude:",
        '    - "**/*"',
        "  include:",
        *(f'    - "{pattern}"' for pattern in keep),
    ]) + "\n"


TREE = {"library.json": platformio, "idf_component.yml": espidf}


# ---- packages of the pair ------------------------------------------------------------------------------------------

def arduino(url):
    return "\n".join([
        "name=PrivateMail",
        f"version={VERSION}",
        "author=The PrivateMail authors",
        "maintainer=The PrivateMail authors",
        f"sentence={DESCRIPTION}.",
        f"paragraph={LONG}",
        "category=Communication",
        f"url={url}",
        "architectures=" + ",".join(ARCHITECTURES),
        "includes=privatemail.h",
    ]) + "\n"


def cmsis(url):
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>PrivateMail</vendor>
  <name>PrivateMail</name>
  <description>{escape(DESCRIPTION)}. {escape(LONG)}</description>
  <url>{escape(url)}</url>
  <license>LICENSE</license>
  <releases>
    <release version="{VERSION}">See CHANGELOG.md of the sources.</release>
  </releases>
  <conditions>
    <condition id="Cortex-M">
      <description>Cortex-M processors that the library is tested on, and their relatives</description>
      <accept Dcore="Cortex-M0"/>
      <accept Dcore="Cortex-M0+"/>
      <accept Dcore="Cortex-M3"/>
      <accept Dcore="Cortex-M4"/>
      <accept Dcore="Cortex-M7"/>
      <accept Dcore="Cortex-M23"/>
      <accept Dcore="Cortex-M33"/>
      <accept Dcore="Cortex-M55"/>
      <accept Dcore="Cortex-M85"/>
    </condition>
  </conditions>
  <components>
    <component Cclass="Security" Cgroup="PrivateMail" Cversion="{VERSION}" condition="Cortex-M">
      <description>{escape(DESCRIPTION)}</description>
      <files>
        <file category="header" name="src/privatemail.h"/>
        <file category="sourceC" name="src/privatemail.c"/>
      </files>
    </component>
  </components>
</package>
"""


def archive(path, files):
    """A zip file that depends on its files alone: sorted, with one date."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content)


def packages(folder, url):
    folder.mkdir(parents=True, exist_ok=True)
    licence = (TOP / "LICENSE").read_text()
    pair = {"src/privatemail.c": amalgamate.one_source(), "src/privatemail.h": amalgamate.one_header(),
            "LICENSE": licence}
    sketches = {str(path.relative_to(ARDUINO)): path.read_text() for path in ARDUINO.rglob("*") if path.is_file()}
    library = {**pair, **sketches, "library.properties": arduino(url)}
    archive(folder / f"PrivateMail-{VERSION}.zip", {f"PrivateMail/{name}": text for name, text in library.items()})
    pack = {**pair, "PrivateMail.PrivateMail.pdsc": cmsis(url)}
    archive(folder / f"PrivateMail.PrivateMail.{VERSION}.pack", pack)


# ---- checks --------------------------------------------------------------------------------------------------------

def check():
    problems = []
    header = (TOP / "core/include/privatemail.h").read_text()
    parts = re.findall(r"^#define PML_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M)
    if ".".join(parts) != VERSION:
        problems.append(f"privatemail.h says {'.'.join(parts)}, CMakeLists.txt {VERSION}")
    for name, write in TREE.items():
        path = TOP / name
        if not path.is_file() or path.read_text() != write():
            problems.append(f"{name} is not what scripts/manifests.py writes: run it")
    problems += [f"{path} is not there" for path in sources() if not (TOP / path).is_file()]
    for problem in problems:
        print(f"manifests: {problem}", file=sys.stderr)
    return bool(problems)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--packages", type=Path, metavar="FOLDER")
    parser.add_argument("--url", default=URL)
    options = parser.parse_args()
    if options.check:
        return check()
    if options.packages:
        packages(options.packages, options.url)
        return 0
    for name, write in TREE.items():
        (TOP / name).write_text(write())
    return 0


if __name__ == "__main__":
    sys.exit(main())
