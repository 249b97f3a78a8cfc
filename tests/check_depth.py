#!/usr/bin/env python3
"""Of each function that wipes the stack, the deepest call must be that wipe: by gcc's call graphs (-fcallgraph-info=su).

    check_depth.py GRAPH.ci...
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
sys.dont_write_bytecode = True
from stack_depth import Depths, plain, read_graphs  # noqa: E402

WIPING = 7  # of the public functions; an inlined one counts again


def main():
    frames, calls = read_graphs([list(map(Path, sys.argv[1:]))],
                                lambda name: re.search("dots_s8_|nearest|quantise_.*_avx2", name))
    depths = Depths(frames, calls)
    wiping = [name for name in frames if "pml_wipe_stack" in calls.get(name, ())]
    deeper = [chain for _, chain in map(depths.of, wiping) if "pml_wipe_stack" not in chain]
    for chain in deeper:
        print("    deeper than what is wiped:", " > ".join(map(plain, chain)))
    sys.exit(len(wiping) < WIPING or len(deeper) > 0)


if __name__ == "__main__":
    main()
