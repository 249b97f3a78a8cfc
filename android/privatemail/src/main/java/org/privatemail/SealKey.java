// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A key of a gateway that messages can be sealed for: one of a key configuration (SPEC 10.1) with X25519, HKDF-SHA256
 * and ChaCha20-Poly1305. Immutable.
 */
final class SealKey {
    /** Longest configuration that is read: more keys than any operator has. */
    static final int LONGEST = 1 << 12;

    private static final int CHACHA20_POLY1305 = 0x0003;
    private static final int ALGORITHMS = 4; // bytes of a pair

    final byte id;
    final byte[] publicKey;

    SealKey(byte id, byte[] publicKey) {
        this.id = id;
        this.publicKey = publicKey;
    }

    /**
     * The keys that can be used, in their order. Others are passed over.
     *
     * @throws PrivateMailException KEYS when there is none, or when these are not whole configurations
     */
    static List<SealKey> read(byte[] configuration) {
        List<SealKey> keys = new ArrayList<>();
        ByteBuffer in = ByteBuffer.wrap(configuration);
        while (in.remaining() > 0) {
            int size = number(in);
            require(size <= in.remaining() && configuration.length <= LONGEST);
            ByteBuffer one = in.slice();
            one.limit(size);
            in.position(in.position() + size);
            SealKey key = readOne(one);
            if (key != null) {
                keys.add(key);
            }
        }
        require(!keys.isEmpty());
        return keys;
    }

    /** Returns null for a key of another kind, whose length nobody here knows. */
    private static SealKey readOne(ByteBuffer in) {
        require(in.remaining() >= 3);
        byte id = in.get();
        if (number(in) != Hpke.KEM) {
            return null;
        }
        byte[] publicKey = new byte[JavaCrypto.POINT];
        require(in.remaining() >= publicKey.length);
        in.get(publicKey);
        int size = number(in);
        require(size == in.remaining() && size > 0 && size % ALGORITHMS == 0);
        boolean usable = false;
        while (in.remaining() > 0) {
            int derivation = number(in);
            usable |= number(in) == CHACHA20_POLY1305 & derivation == Hpke.KDF;
        }
        return usable ? new SealKey(id, publicKey) : null;
    }

    private static int number(ByteBuffer in) {
        require(in.remaining() >= 2);
        return in.getShort() & 0xFFFF;
    }

    private static void require(boolean sound) {
        if (!sound) {
            throw new PrivateMailException(Status.KEYS);
        }
    }

    /** id, algorithms: the first seven bytes of a message. */
    byte[] header() {
        return JavaCrypto.join(new byte[] {id}, Hpke.pair(Hpke.KEM), Hpke.pair(Hpke.KDF),
                Hpke.pair(CHACHA20_POLY1305));
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof SealKey && ((SealKey) other).id == id
                && Arrays.equals(((SealKey) other).publicKey, publicKey);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(publicKey);
    }
}
