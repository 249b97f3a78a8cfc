"""Random words, uniform integers, rounded normal deviates and ternary entries (SPEC 5.10 to 5.13)."""
import numpy

WORD = 1 << 32
BLOCKS_AT_ONCE = 16


def _rotate(words, count):
    return (words << numpy.uint32(count)) | (words >> numpy.uint32(32 - count))


def _quarter_round(state, a, b, c, d):
    state[a] += state[b]
    state[d] = _rotate(state[d] ^ state[a], 16)
    state[c] += state[d]
    state[b] = _rotate(state[b] ^ state[c], 12)
    state[a] += state[b]
    state[d] = _rotate(state[d] ^ state[a], 8)
    state[c] += state[d]
    state[b] = _rotate(state[b] ^ state[c], 7)


def chacha20_blocks(key, counter, count=1, nonce=bytes(12)):
    """`count` ChaCha20 blocks (RFC 8439) from block `counter`, as bytes. uint32 arithmetic wraps: exact."""
    words = numpy.frombuffer(b"expand 32-byte k" + key + bytes(4) + nonce, dtype="<u4")
    start = numpy.repeat(words.astype(numpy.uint32)[:, None], count, axis=1)
    start[12] = numpy.arange(counter, counter + count, dtype=numpy.uint64).astype(numpy.uint32)
    state = start.copy()
    for _ in range(10):
        for i in range(4):
            _quarter_round(state, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            _quarter_round(state, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    state += start
    return state.T.astype("<u4").tobytes()


class KeyStream:
    """The key stream of one key, read as bytes or as u32 words; counts the words taken."""

    def __init__(self, key):
        assert len(key) == 32
        self.key, self.block, self.buffer, self.position, self.words = bytes(key), 0, b"", 0, 0

    def bytes(self, count):
        while self.position + count > len(self.buffer):
            fresh = chacha20_blocks(self.key, self.block, BLOCKS_AT_ONCE)
            self.buffer, self.position = self.buffer[self.position:] + fresh, 0
            self.block += BLOCKS_AT_ONCE
        taken = self.buffer[self.position:self.position + count]
        self.position += count
        return taken

    def word(self):
        self.words += 1
        return int.from_bytes(self.bytes(4), "little")

    def below(self, bound):
        """Uniform integer below `bound`, 1 <= bound <= 2^32, by rejection."""
        while True:
            word = self.word()
            if word < WORD - WORD % bound:
                return word % bound


class LazyUniform:
    """Twenty limbs, most significant first; a limb is drawn when first needed."""

    def __init__(self, stream):
        self.stream, self.limbs = stream, []

    def limb(self, index):
        if index == len(self.limbs):
            self.limbs.append(self.stream.word())
        return self.limbs[index]


def less(a, b):
    for index in range(20):
        left = a.limb(index)
        right = b.limb(index)
        if left != right:
            return left < right
    return False


def half(stream):
    """True with probability e^(-1/2)."""
    u = LazyUniform(stream)
    if u.limb(0) >= 1 << 31:
        return True
    n = 1
    while True:
        v = LazyUniform(stream)
        if not less(v, u):
            return n % 2 == 0
        u = v
        n += 1


def step(stream, k, x):
    """True with probability exp(-x(2k+x)/(2k+2))."""
    n, y = 0, x
    while True:
        z = LazyUniform(stream)
        if not less(z, y):
            break
        f = stream.below(2 * k + 2)
        if f == 2 * k + 1:
            break
        if f == 2 * k and not less(LazyUniform(stream), x):
            break
        y = z
        n += 1
    return n % 2 == 0


def deviate(stream, s):
    """Normal deviate of standard deviation 2^s, rounded."""
    while True:
        k = 0
        while k < 32 and half(stream):
            k += 1
        if k == 32:
            continue
        if not all(half(stream) for _ in range(k * (k - 1))):
            continue
        x = LazyUniform(stream)
        if not all(step(stream, k, x) for _ in range(k + 1)):
            continue
        magnitude = (k << s) + ((x.limb(0) >> (31 - s)) + 1) // 2
        return -magnitude if stream.word() & 1 else magnitude
