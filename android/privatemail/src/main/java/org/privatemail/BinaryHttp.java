// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.ByteBuffer;
import java.util.Locale;

/** The two messages of Binary HTTP (RFC 9292) that travel inside a seal: SPEC 10.3 and 10.4. */
final class BinaryHttp {
    private static final byte[] REQUEST =
            Hpke.ascii("\0\4POST\5https\0\t/v1/query\27\5epoch\20");

    /** From the head of a response. */
    final int status;
    /** Bytes of content. */
    final long size;

    private BinaryHttp(int status, long size) {
        this.status = status;
        this.size = size;
    }

    /** The request of an epoch. */
    static byte[] request(long epoch, byte[] release) {
        return JavaCrypto.join(REQUEST, Hpke.ascii(String.format(Locale.ROOT, "%016x", epoch)),
                variable(release.length), release, new byte[1]);
    }

    /**
     * Reads the head of a response, and leaves the position at its content. Longer forms of a number are read too.
     *
     * @throws PrivateMailException SEALED when it is no such head
     */
    static BinaryHttp response(ByteBuffer in) {
        require(in.hasRemaining() && in.get() == 1);
        long status = variable(in);
        require(status >= 200 && status <= 599 && in.hasRemaining() && in.get() == 0);
        return new BinaryHttp((int) status, variable(in));
    }

    static byte[] variable(int number) {
        if (number < 1 << 6) {
            return new byte[] {(byte) number};
        }
        if (number < 1 << 14) {
            return Hpke.pair(number | 1 << 14);
        }
        return ByteBuffer.allocate(4).putInt(number | 1 << 31).array(); // numbers here are below 2^30
    }

    private static long variable(ByteBuffer in) {
        require(in.hasRemaining());
        int size = 1 << ((in.get(in.position()) & 0xFF) >> 6);
        require(in.remaining() >= size);
        long number = in.get() & 0x3F;
        for (int i = 1; i < size; i++) {
            number = number << 8 | in.get() & 0xFF;
        }
        return number;
    }

    static void require(boolean sound) {
        if (!sound) {
            throw new PrivateMailException(Status.SEALED);
        }
    }
}
