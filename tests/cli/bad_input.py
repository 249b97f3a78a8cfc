"""Everything that can be wrong with options and files: the right exit code, a message, and nothing left behind."""
import contextlib
import os
import resource
import shutil
import subprocess

import numpy as np

from harness import FAULT, INPUT, OUTPUT, PRIVACY, USAGE, golden, read_budget

PACK = ["pack", "--features", "public.npy", "--labels", "labels.npy", "--slots", "class", "--out", "new.pmpk"]
PRIVATIZE = ["privatize", "--pack", "p.pmpk", "--features", "query.npy", "--labels", "query_labels.npy",
             "--epsilon", "4", "--out", "new.cbor"]


def changed(base, **options):
    """The base command with options replaced; None takes one away."""
    result, i = [base[0]], 1
    while i < len(base):
        name = base[i][2:]
        value = options.pop(name, base[i + 1])
        if value is not None:
            result += [base[i], value]
        i += 2
    for name, value in options.items():
        result += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    return result


def bad_features(tester):
    rows = np.random.default_rng(1).standard_normal((20, 16)).astype("f4")
    whole = tester.read("public.npy")
    tester.save("f64.npy", rows.astype("f8"))
    tester.save("ints.npy", rows.astype("i4"))
    tester.save("fortran.npy", np.asfortranarray(rows))
    tester.save("big.npy", rows.astype(">f4"))
    tester.save("empty.npy", rows[:0])
    tester.save("flat.npy", rows[0])
    tester.save("deep.npy", rows.reshape(4, 5, 16))
    tester.save("wide.npy", np.ones((2, 4097), dtype="f4"))
    for name, value in (("nan", np.nan), ("inf", np.inf)):
        spoilt = rows.copy()
        spoilt[7, 3] = value
        tester.save(name + ".npy", spoilt)
    spoilt = rows.copy()
    spoilt[7] = 0
    tester.save("zero.npy", spoilt)
    tester.write("truncated.npy", whole[:-5])
    tester.write("headless.npy", whole[:40])
    tester.write("long.npy", whole + b"x")
    tester.write("nothing.npy", b"")
    tester.write("text.npy", b"1.0,2.0,3.0\n" * 20)
    names = "f64 ints fortran big empty flat deep wide nan inf zero truncated headless long nothing text absent".split()
    for name in names:
        extra = ["7"] if name in ("nan", "inf", "zero") else []
        tester.fails("pack " + name, INPUT, [name + ".npy"] + extra, *changed(PACK, features=name + ".npy"))
        tester.fails("privatize " + name, INPUT, [name + ".npy"] + extra,
                     *changed(PRIVATIZE, features=name + ".npy", labels=None, label="7"))
    tester.fails("a folder", INPUT, ["."], *changed(PACK, features="."))


def bad_labels(tester):
    labels = np.load(tester.path("labels.npy"))
    for name, array in {"floats": labels.astype("f4"), "short": labels[:-1], "square": labels.reshape(20, 10),
                        "bigl": labels.astype(">i4"), "bools": labels > 0, "huge": labels + (1 << 40),
                        "none": labels[:0]}.items():
        tester.save(name + ".npy", array)
        tester.fails("labels " + name, INPUT, [name + ".npy"], *changed(PACK, labels=name + ".npy"))
    tester.save("three.npy", np.array([0, 1, 7]))
    tester.fails("query labels short", INPUT, ["three.npy", "query.npy"], *changed(PRIVATIZE, labels="three.npy"))
    tester.save("foreign.npy", np.full(6, 12345))
    tester.fails("query label unknown", INPUT, ["foreign.npy", "class"], *changed(PRIVATIZE, labels="foreign.npy"))
    # one class only: either a pack of one slot or a refusal, never a half one
    tester.save("same.npy", np.zeros(200, dtype="i4"))
    done = tester.run(*changed(PACK, labels="same.npy", out="same.pmpk"))
    good = done.returncode == 0 and tester.run("inspect", "same.pmpk").returncode == 0
    refused = done.returncode == INPUT and b"class" in done.stderr and not os.path.exists(tester.path("same.pmpk"))
    tester.check(good or refused, "one class only: %r" % done.stderr)


def bad_options(tester):
    for what, needle, options in (
            ("unknown", "--neighbors", dict(neighbors="3")), ("K", "neighbours", dict(neighbours="65")),
            ("K 0", "neighbours", dict(neighbours="0")), ("K text", "neighbours", dict(neighbours="ten")),
            ("dims", "dims", dict(dims="17")), ("m", "cells", dict(cells="1")),
            ("M", "prototypes-per-cell", dict(prototypes_per_cell="17")),
            ("M 0", "prototypes-per-cell", dict(prototypes_per_cell="0")),
            ("share", "share", dict(share="1.5")), ("share and m", "share", dict(share="0.5", cells="4")),
            ("epsilon and m", "epsilon", dict(epsilon="4", cells="4")), ("epsilon", "epsilon", dict(epsilon="17")),
            ("epsilon nan", "epsilon", dict(share="0.1", epsilon="nan")), ("tiny share", "share", dict(share="1e-7")),
            ("rows a prototype", "rows-per-prototype", dict(rows_per_prototype="0")),
            ("too many rows a prototype", "rows-per-prototype", dict(rows_per_prototype="1025")),
            ("one row a prototype", "everybody who has it can read these rows", dict(rows_per_prototype="1")),
            ("anchors", "everybody who has it can read these rows", dict(gaussian=True)),
            ("both and one", "--response-only", dict(gaussian=True, response_only=True, rows_are_public=True)),
            ("neighbours of nobody", "--gaussian", dict(neighbours="3")), ("graph of nobody", "--gaussian", dict(alpha="1")),
            ("alpha", "alpha", dict(alpha="5")), ("alpha nan", "alpha", dict(alpha="nan")),
            ("bandwidth", "bandwidth", dict(bandwidth="-1")),
            ("useless bandwidth", "--gaussian", dict(bandwidth="1", response_only=True)),
            ("codes", "codes", dict(codes="none")), ("codes of no class", "--codes lda needs --labels", dict(labels=None, slots="one", codes="lda")),
            ("slots", "slots", dict(slots="two")), ("one and alpha", "alpha", dict(slots="one", alpha="1")),
            ("count", "slot-count", dict(slot_count="5")), ("sketch", "sketch", dict(sketch="257")),
            ("threads", "threads", dict(threads="-1")), ("many threads", "256", dict(threads="257")),
            ("labels", "labels", dict(labels=None, slots="class")),
            ("no features", "features", dict(features=None)), ("no out", "out", dict(out=None))):
        tester.fails("pack " + what, USAGE, [needle], *changed(PACK, **options))
    for what, needle, options in (
            ("epsilon 0", "epsilon", dict(epsilon="0")), ("epsilon -1", "epsilon", dict(epsilon="-1")),
            ("epsilon nan", "epsilon", dict(epsilon="nan")), ("epsilon 17", "epsilon", dict(epsilon="17")),
            ("epsilon text", "epsilon", dict(epsilon="4x")), ("no epsilon", "epsilon", dict(epsilon=None)),
            ("delta with response", "delta", dict(delta="1e-5")), ("bytes", "value-bytes", dict(value_bytes="1")),
            ("delta 0", "delta", dict(mechanism="gaussian", delta="0")),
            ("delta 1", "delta", dict(mechanism="gaussian", delta="1")),
            ("3 bytes", "value-bytes", dict(mechanism="gaussian", value_bytes="3")),
            ("mechanism", "laplace", dict(mechanism="laplace")), ("both labels", "label", dict(label="7")),
            ("no label", "label", dict(labels=None)), ("unknown label", "class", dict(labels=None, label="12345")),
            ("label 1.5", "label", dict(labels=None, label="1.5")), ("row", "--row 0 to 5", dict(row="6")),
            ("repeat", "repeat", dict(repeat="0")), ("budget-new alone", "budget", dict(budget_new="3")),
            ("owner alone", "budget", dict(owner="me")), ("json to stdout", "--out -", dict(out="-", json=True))):
        tester.fails("privatize " + what, USAGE, [needle], *changed(PRIVATIZE, **options))
    tester.fails("missing value", USAGE, ["--out"], *PRIVATIZE[:-1])
    tester.fails("twice", USAGE, ["--epsilon", "twice"], *PRIVATIZE, "--epsilon", "4")
    tester.fails("flag with value", USAGE, ["--json"], "inspect", "p.pmpk", "--json=yes")
    tester.fails("suggestion", USAGE, ["--epsilon?"], *PRIVATIZE, "--epsilno", "4")
    tester.fails("no pack to inspect", USAGE, ["missing"], "inspect")
    tester.fails("two packs to inspect", USAGE, ["too many"], "inspect", "p.pmpk", "p.pmpk")
    tester.fails("help as a file", INPUT, ["--help"], "decode", "--pack", "p.pmpk", "--", "--help")
    text = tester.fails("a name to obey", INPUT, ["?[31mred"], "inspect", "\x1b[31mred\n").stderr
    tester.check(b"\x1b" not in text and text.count(b"\n") == 1, "control characters are not printed")
    tester.fails("decode without pack", USAGE, ["--pack"], "decode", "new.cbor")


def private_values(tester):
    """Messages about a query name rows and files, never a class or a feature."""
    tester.save("wide_labels.npy", np.full(6, 12345 << 32))
    for options in (dict(labels=None, label="12345"), dict(labels=None, label="12345x"), dict(labels="foreign.npy"),
                    dict(labels="wide_labels.npy"), dict(features="nan.npy", labels=None, label="7")):
        done = tester.run(*changed(PRIVATIZE, **options))
        text = done.stderr.decode()
        tester.check(done.returncode in (USAGE, INPUT) and "12345" not in text and str(12345 << 32) not in text and
                     "feature 3" not in text, "%s: %r" % (options, text))
    tester.check(b"visible to other users" in tester.run("privatize", "--help").stdout, "help warns of --label")


def pinned_packs(tester):
    own, other = (tester.read(name)[8:24].hex() for name in ("p.pmpk", "one.pmpk"))
    for pin in (own, own.upper()):
        tester.succeeds("pinned", *changed(PRIVATIZE, pack_id=pin, out="pinned.cbor"), "--force")
    tester.fails("pinned to another", INPUT, ["p.pmpk", "--pack-id"], *changed(PRIVATIZE, pack_id=other))
    for pin in (own[:-1], own + "0", "x" * 32, "0x" + own[2:-1] + "g"):
        tester.fails("bad pin", USAGE, ["--pack-id"], *changed(PRIVATIZE, pack_id=pin))


def no_memory(tester):
    """Memory that is missing has its own exit code: it is the machine's fault, not the file's."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    if tester.run("--version", preexec_fn=limit).returncode != 0:
        print("skipped: no memory (this build needs more than the limit)")
        return
    header = tester.read("public.npy")[:128].replace(b"(200, 16)", b"(9999999, 16)").replace(b" " * 5, b" ", 1)
    tester.write("vast.npy", header.rstrip(b"\n").ljust(127) + b"\n")
    tester.write("vast.pmpk", b"PMPK")
    os.truncate(tester.path("vast.npy"), 128 + 9999999 * 64)
    os.truncate(tester.path("vast.pmpk"), 640 << 20)
    for arguments in (changed(PACK, features="vast.npy"), ["inspect", "vast.pmpk"],
                      changed(PRIVATIZE, pack="vast.pmpk"), changed(PRIVATIZE, features="vast.npy")):
        done = tester.run(*arguments, preexec_fn=limit)
        tester.check(done.returncode == FAULT and b"memory" in done.stderr, "no memory: exit code %d, %r" %
                     (done.returncode, done.stderr))
    for name in ("vast.npy", "vast.pmpk"):
        os.remove(tester.path(name))


def bad_packs(tester):
    whole = tester.read("p.pmpk")
    tester.write("bitflip.pmpk", whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    tester.write("cut.pmpk", whole[:-1])
    tester.write("longer.pmpk", whole + b"\0")
    tester.write("other.pmpk", b"PMPK" + b"\1" * 300)
    tester.write("nothing.pmpk", b"")
    for name in ("bitflip", "cut", "longer", "other", "nothing", "absent"):
        file = name + ".pmpk"
        tester.fails("inspect " + name, INPUT, [file], "inspect", file)
        tester.fails("privatize " + name, INPUT, [file], *changed(PRIVATIZE, pack=file))
        tester.fails("decode " + name, INPUT, [file], "decode", "response.0.cbor", "--pack", file)
    packs = dict(golden.make_packs())
    tester.write("f.pmpk", packs["f: gaussian only, one coordinate"].bytes)
    tester.fails("pack without response", PRIVACY, ["f.pmpk", "gaussian"], *changed(
        PRIVATIZE, pack="f.pmpk", labels=None, label="2147483647", features="eleven.npy"))
    tester.fails("pack without Gaussian", PRIVACY, ["only.pmpk", "response"],
                 *changed(PRIVATIZE, pack="only.pmpk", mechanism="gaussian"))
    tester.save("eleven.npy", np.ones((1, 11), dtype="f4"))
    tester.fails("other dimension", INPUT, ["eleven.npy"],
                 *changed(PRIVATIZE, features="eleven.npy", labels=None, label="7"))


def bad_releases(tester):
    whole = tester.read("response.0.cbor")
    tester.write("cut.cbor", whole[:-1])
    tester.write("more.cbor", whole + b"\0")
    tester.write("flip.cbor", b"\xff" + whole[1:])
    tester.write("nothing.cbor", b"")
    for name in ("cut", "more", "flip", "nothing", "absent"):
        tester.fails("decode " + name, INPUT, [name + ".cbor"], "decode", name + ".cbor", "--pack", "p.pmpk", "--json")
    tester.fails("decode with another pack", INPUT, ["response.0.cbor"], "decode", "response.0.cbor", "--pack",
                 "one.pmpk")
    tester.fails("one bad among good", INPUT, ["cut.cbor"], "decode", "response.0.cbor", "cut.cbor", "--pack", "p.pmpk",
                 "--json")


def bad_outputs(tester):
    tester.write("there.pmpk", b"precious")
    tester.write("there.cbor.3", b"precious")
    os.mkdir(tester.path("folder"))
    tester.fails("pack exists", OUTPUT, ["there.pmpk", "--force"], *changed(PACK, out="there.pmpk"))
    tester.fails("release exists", OUTPUT, ["there.pmpk", "--force"], *changed(PRIVATIZE, out="there.pmpk"))
    tester.fails("one of many exists", OUTPUT, ["there.cbor.3"], *changed(PRIVATIZE, out="there.cbor", repeat="5"))
    for base in (PACK, PRIVATIZE):
        tester.fails("no folder", OUTPUT, ["absent/new"], *changed(base, out="absent/new"))
        tester.fails("a folder", OUTPUT, ["folder"], *changed(base, out="folder"))
        tester.fails("a file as folder", OUTPUT, ["there.pmpk/new"], *changed(base, out="there.pmpk/new"))
    tester.fails("budget in no folder", OUTPUT, ["absent/b"],
                 *changed(PRIVATIZE, budget="absent/b", **{"budget_new": "9"}))
    if os.path.exists("/dev/full"):
        for arguments in (["inspect", "p.pmpk"], changed(PRIVATIZE, out="-"), ["--help"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([tester.program] + arguments, cwd=tester.folder, stdout=full,
                                      stderr=subprocess.PIPE, timeout=60)
            tester.check(done.returncode == OUTPUT and b"stdout" in done.stderr, "full stdout: %r" % done.stderr)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([tester.program] + PRIVATIZE, cwd=tester.folder, stdout=full, stderr=subprocess.PIPE,
                                  timeout=60)
        tester.check(done.returncode == OUTPUT and b"new.cbor and paid" in done.stderr,
                     "lost receipt: %r" % done.stderr)
        os.remove(tester.path("new.cbor"))


@contextlib.contextmanager
def small_disk(tester, name, options):
    """A tmpfs of a few pages; yields whether there is one."""
    path = tester.path(name)
    os.mkdir(path)
    mounted = os.geteuid() == 0 and shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", path], check=True)
        os.rmdir(path)


def full_disk(tester):
    with small_disk(tester, "disk", "size=8k") as mounted:
        if not mounted:
            print("skipped: a full disk (needs root and mount)")
            return
        tester.fails("disk too small", OUTPUT, ["disk/new.pmpk"],
                     *changed(PACK, out="disk/new.pmpk", gaussian=True, rows_are_public=True))
        tester.succeeds("budget on the disk", *changed(PRIVATIZE, budget="disk/b", budget_new="40"))
        os.remove(tester.path("new.cbor"))
        with contextlib.suppress(OSError):
            with open(tester.path("disk/ballast"), "wb", buffering=0) as ballast:
                while ballast.write(b"x" * 512):
                    pass
        tester.fails("full disk for a pack", OUTPUT, ["disk/new.pmpk"], *changed(PACK, out="disk/new.pmpk"))
        tester.fails("full disk for the budget", OUTPUT, ["disk/b"], *changed(PRIVATIZE, budget="disk/b"))
        tester.succeeds("budget elsewhere", *changed(PRIVATIZE, budget="elsewhere", budget_new="40"))
        os.remove(tester.path("new.cbor"))
        tester.fails("full disk for the release", OUTPUT, ["disk/new.cbor"],
                     *changed(PRIVATIZE, budget="elsewhere", out="disk/new.cbor"))
        tester.check(read_budget(tester.read("elsewhere"))[0] == 4 << 20, "a full disk costs nothing")
        os.remove(tester.path("disk/ballast"))
        os.remove(tester.path("disk/b"))
    with small_disk(tester, "blocks", "size=64k") as mounted:
        if mounted:
            tester.fails("a block for each of many", OUTPUT, ["blocks/r.0"],
                         *changed(PRIVATIZE, budget="elsewhere", repeat="20", epsilon="1", out="blocks/r"))


def unwritable(tester):
    with small_disk(tester, "sealed", "ro,size=16k") as mounted:
        if not mounted and os.geteuid() == 0:
            print("skipped: an unwritable folder (root may write everywhere, and mount does not work)")
            return
        os.chmod(tester.path("sealed"), 0o555) if not mounted else None
        for base in (PACK, PRIVATIZE):
            tester.fails("unwritable folder", OUTPUT, ["sealed/new"], *changed(base, out="sealed/new"))
        tester.fails("unwritable budget", OUTPUT, ["sealed/b"], *changed(PRIVATIZE, budget="sealed/b", budget_new="9"))


def run_all(tester):
    for test in (bad_features, bad_labels, bad_options, private_values, pinned_packs, no_memory, bad_packs,
                 bad_releases, bad_outputs, full_disk, unwritable):
        test(tester)
