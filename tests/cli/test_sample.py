"""Tests of `privatemail sample`: python3 test_sample.py path/to/privatemail. Needs numpy only."""
import filecmp
import json
import os
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy

PROGRAM = os.path.abspath(sys.argv[1])
PARTS = ("public", "gallery", "queries")
FEATURES = 160
USAGE, OUTPUT = 2, 4


def sample(*arguments, **options):
    return subprocess.run([PROGRAM, "sample", *map(str, arguments)], capture_output=True, text=True, **options)


def made(folder, *arguments):
    """Makes a sample, which must work, and loads it: {part: (features, labels)}."""
    result = sample("--out", folder, *arguments)
    assert result.returncode == 0, result.stderr
    return {part: (numpy.load(f"{folder}/{part}.npy"), numpy.load(f"{folder}/{part}_labels.npy")) for part in PARTS}


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(place, name), folder)
                  for place, _, names in os.walk(folder) for name in names)


def read_png(path):
    """Pixels of a grey 8-bit PNG; every chunk's checksum is looked at."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    offset, compressed, names = 8, b"", []
    while offset < len(data):
        size, name = struct.unpack(">I4s", data[offset:offset + 8])
        body = data[offset + 8:offset + 8 + size]
        assert struct.unpack(">I", data[offset + 8 + size:offset + 12 + size])[0] == zlib.crc32(name + body)
        if name == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
        compressed += body if name == b"IDAT" else b""
        names.append(name)
        offset += 12 + size
    assert names[0] == b"IHDR" and names[-1] == b"IEND" and (depth, colour, interlaced) == (8, 0, 0)
    lines = numpy.frombuffer(zlib.decompress(compressed), numpy.uint8).reshape(height, width + 1)
    return unfilter(lines, width, height)


def unfilter(lines, width, height):
    pixels = numpy.zeros((height + 1, width + 1), int)      # a border of zeros above and to the left
    for row in range(height):
        kind = lines[row, 0]
        for column in range(width):
            left, above, corner = pixels[row + 1, column], pixels[row, column + 1], pixels[row, column]
            nearest = min((left, above, corner), key=lambda value: abs(left + above - corner - value))
            guess = (0, left, above, (left + above) // 2, nearest)[kind]
            pixels[row + 1, column + 1] = (lines[row, 1 + column] + guess) & 255
    return pixels[1:, 1:]


def accuracy(parts):
    """Share of pictures whose most similar other picture, by cosine, is of their class."""
    features = numpy.concatenate([parts[part][0] for part in PARTS]).astype(float)
    labels = numpy.concatenate([parts[part][1] for part in PARTS])
    features /= numpy.linalg.norm(features, axis=1, keepdims=True)
    similar = features @ features.T
    numpy.fill_diagonal(similar, -2)
    return (labels[similar.argmax(1)] == labels).mean()


# Tests: each gets an empty folder ----------------------------------------------------------------------------

def test_defaults(folder):
    parts = made(f"{folder}/s")
    for part, per_class in zip(PARTS, (21, 37, 2)):
        features, labels = parts[part]
        assert features.dtype == numpy.float32 and features.shape == (12 * per_class, FEATURES)
        assert labels.dtype.kind == "i" and labels.shape == (12 * per_class,)
        assert numpy.array_equal(numpy.bincount(labels), [per_class] * 12)
        assert numpy.isfinite(features).all() and features.any(axis=1).all()
        names = [f"{row:04d}.png" for row in range(12 * per_class)]
        assert sorted(os.listdir(f"{folder}/s/images/{part}")) == names


def test_nearest_neighbours_are_mostly_but_not_always_of_the_class(folder):
    for seed in (1, 2):
        found = accuracy(made(f"{folder}/{seed}", "--no-images", "--seed", seed))
        print(f"    seed {seed}: accuracy {found:.3f}")
        assert 0.6 <= found <= 0.97
    found = accuracy(made(f"{folder}/all", "--no-images", "--classes", 64))
    print(f"    64 classes: accuracy {found:.3f}")
    assert 0.6 <= found <= 0.97


def test_parts_share_no_picture(folder):
    parts = made(f"{folder}/s", "--no-images", "--classes", 20)
    rows = [row.tobytes() for part in PARTS for row in parts[part][0]]
    assert len(rows) == 20 * 60 == len(set(rows))


def test_same_seed_same_bytes(folder):
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        made(f"{folder}/{name}", "--classes", 3, "--per-class", 10, "--seed", seed)
    names = files_below(f"{folder}/a")
    assert names == files_below(f"{folder}/b") and len(names) == 30 + 6 + 1
    assert filecmp.cmpfiles(f"{folder}/a", f"{folder}/b", names, shallow=False) == (names, [], [])
    same, _, _ = filecmp.cmpfiles(f"{folder}/a", f"{folder}/c", names, shallow=False)
    assert same == [f"{part}_labels.npy" for part in sorted(PARTS)]


def test_pictures_do_not_change_features(folder):
    made(f"{folder}/with", "--classes", 2, "--per-class", 8)
    made(f"{folder}/without", "--classes", 2, "--per-class", 8, "--no-images")
    names = files_below(f"{folder}/without")
    assert len(names) == 6
    assert filecmp.cmpfiles(f"{folder}/with", f"{folder}/without", names, shallow=False) == (names, [], [])


def test_pngs(folder):
    made(f"{folder}/s", "--classes", 3, "--per-class", 8, "--size", 24)
    seen = set()
    for part in PARTS:
        for name in os.listdir(f"{folder}/s/images/{part}"):
            pixels = read_png(f"{folder}/s/images/{part}/{name}")
            assert pixels.shape == (24, 24) and pixels.std() > 5
            seen.add(pixels.tobytes())
    assert len(seen) == 24
    sheet = read_png(f"{folder}/s/contact.png")
    assert min(sheet.shape) >= 3 * 48 and sheet[0, 0] == 255 and sheet.min() < 100


def test_limits(folder):
    for name, classes, per_class, size in (("small", 64, 8, 16), ("large", 2, 8, 128)):
        parts = made(f"{folder}/{name}", "--classes", classes, "--per-class", per_class, "--size", size)
        assert [len(parts[part][1]) for part in PARTS] == [3 * classes, 3 * classes, 2 * classes]
        assert read_png(f"{folder}/{name}/images/queries/0000.png").shape == (size, size)


def test_json(folder):
    result = sample("--out", f"{folder}/s", "--classes", 5, "--per-class", 20, "--no-images", "--json")
    answer = json.loads(result.stdout)
    assert answer["out"] == f"{folder}/s" and answer["features"] == FEATURES and answer["images"] is False
    assert [answer[part] for part in PARTS] == [35, 55, 10] and len(set(answer["names"])) == answer["classes"] == 5


def test_existing_folders(folder):
    os.makedirs(f"{folder}/empty")
    made(f"{folder}/empty/", "--no-images")                 # with a slash at the end, too
    before = {name: os.stat(f"{folder}/empty/{name}").st_mtime_ns for name in files_below(f"{folder}/empty")}
    with open(f"{folder}/file", "w") as file:
        file.write("kept")
    for name in ("empty", "file", "file/below", "no/such/parent"):
        result = sample("--out", f"{folder}/{name}", "--no-images")
        assert result.returncode == OUTPUT and name.split("/")[0] in result.stderr and not result.stdout, name
        assert result.stderr.startswith("privatemail sample: ")
        assert any(word in result.stderr for word in ("another name", "make it first")), result.stderr
    result = sample("--out", f"{folder}/{'n' * 250}", "--no-images")
    assert result.returncode == OUTPUT and "shorter name" in result.stderr, result.stderr
    assert before == {name: os.stat(f"{folder}/empty/{name}").st_mtime_ns for name in files_below(f"{folder}/empty")}
    assert sorted(os.listdir(folder)) == ["empty", "file"]


def test_wrong_options(folder):
    wrong = (["--classes", 1], ["--classes", 65], ["--per-class", 7], ["--per-class", 1001], ["--size", 15],
             ["--size", 129], ["--classes", "many"], ["--seed", -1], ["--colour"], ["surplus"])
    for arguments in wrong:
        result = sample("--out", f"{folder}/s", *arguments)
        assert result.returncode == USAGE and result.stderr, arguments
    assert sample().returncode == USAGE and sample("--out", "").returncode == USAGE
    assert not os.listdir(folder)


def test_help(folder):
    result = sample("--help")
    assert result.returncode == 0 and "--per-class" in result.stdout and not os.listdir(folder)


def test_nothing_is_left_when_a_file_cannot_be_written(folder):
    """A limit on the size of files stands for a full disk: features do not fit, the first pictures do."""
    import resource
    import signal

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

    result = sample("--out", f"{folder}/s", preexec_fn=limit)
    assert result.returncode == OUTPUT and result.stderr and not os.listdir(folder), result
    os.makedirs(f"{folder}/closed", 0o555)
    if os.geteuid() != 0:                                   # root may write anywhere
        assert sample("--out", f"{folder}/closed/s").returncode == OUTPUT
        assert not os.listdir(f"{folder}/closed")


def main():
    passed = failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
                passed += 1
                print(f"{name[5:]}: ok")
            except Exception as error:
                failed += 1
                print(f"{name[5:]}: FAILED: {type(error).__name__}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
