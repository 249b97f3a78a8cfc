#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes flash pages as platform/baremetal/budget_flash_example.c finds them when a micro:bit starts.

    budget_pages.py FOLDER      blank.bin, spent.bin, old.bin (spent, of version 1), damaged.bin
"""

import hashlib
import struct
import sys
from pathlib import Path

PAGE = 1024
OWNER = b"device 0001".ljust(16, b"\0")  # example_main.c's


def sealed(head):
    return head + hashlib.sha256(head).digest()[:8]


def budget(cap, spent):
    """SPEC 4, for response alone; in 2^-20."""
    return sealed(b"PMLB" + struct.pack("<I16sQQIIQQQQQQII", 2, OWNER, 0, 0, cap, 0, 0, 0, 0, 0, 0, 0, spent, 0))


def old_budget(cap, spent):
    return sealed(b"PMLB" + struct.pack("<I16sQQIIQ", 1, OWNER, 0, 0, cap, spent, 0))


def page(stored, number):
    """The marks follow the first 64 bytes."""
    marks = struct.pack("<II", number, number ^ 0xFFFFFFFF)
    return (stored[:64] + marks + stored[64:]).ljust(PAGE, b"\xff")


def main(folder):
    fresh, spent = budget(20 << 20, 0), budget(20 << 20, 20 << 20)
    damaged = spent[:97] + bytes([spent[97] ^ 1]) + spent[98:]
    # The older page holds a fresh budget: who falls back to it spends twice.
    for name, pages in {
        "blank": b"\xff" * 2 * PAGE,
        "spent": page(spent, 2) + page(fresh, 1),
        "old": page(old_budget(20 << 20, 20 << 20), 2) + page(old_budget(20 << 20, 0), 1),
        "damaged": page(damaged, 2) + page(fresh, 1),
    }.items():
        (folder / f"{name}.bin").write_bytes(pages)


if len(sys.argv) != 2:
    sys.exit(__doc__)
main(Path(sys.argv[1]))
