// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** A {@link Sealer} by the C library. */
final class NativeSealer implements Sealer {
    @Override
    public Sealed seal(SealKey key, long epoch, byte[] pack, byte[] release, byte[] ephemeral) {
        byte[] message = new byte[release.length + OVERHEAD + BinaryHttp.variable(release.length).length - 1];
        Opener opener = new Opener(new byte[SECRET], new byte[SECRET]);
        PrivateMailException.check(Native.messageSeal(key.id, key.publicKey, epoch, pack, release, ephemeral, message,
                opener.secret, opener.encapsulated));
        return new Sealed(message, opener);
    }

    @Override
    public OpenedAnswer open(Opener opener, InputStream answer, long size) {
        return new Pieces(opener, answer, size);
    }

    private static final class Pieces extends OpenedAnswer {
        private final ByteBuffer memory = ByteBuffer.allocateDirect(Native.openSize());
        private final InputStream in;
        private final byte[] piece = new byte[Native.OPEN_PIECE];
        private final byte[] content = new byte[2 * Native.OPEN_PIECE];
        private long left; // bytes of the answer to come
        private int first; // of the content that is not yet used
        private int last;
        private int status;
        private boolean ended;

        Pieces(Opener opener, InputStream in, long size) {
            this.in = in;
            left = size;
            PrivateMailException.check(Native.openBegin(memory, opener.secret, opener.encapsulated, size));
        }

        @Override
        int status() throws IOException {
            while (status == 0) {
                feed();
                status = Native.openStatus(memory);
            }
            return status;
        }

        @Override
        public int read(byte[] out, int start, int wanted) throws IOException {
            status();
            while (first == last && left > 0) {
                feed();
            }
            if (first == last && !ended) {
                ended = true;
                PrivateMailException.check(Native.openEnd(memory));
            }
            if (first == last) {
                return -1;
            }
            int part = Math.min(wanted, last - first);
            System.arraycopy(content, first, out, start, part);
            first += part;
            return part;
        }

        /** Called when all content is used. */
        private void feed() throws IOException {
            int count = in.read(piece, 0, (int) Math.min(piece.length, left));
            BinaryHttp.require(count >= 0);
            left -= count;
            int written = Native.openFeed(memory, piece, count, content);
            PrivateMailException.check(Math.min(written, 0));
            first = 0;
            last = written;
        }

        @Override
        public void close() {
            ended = true;
            Native.openEnd(memory);
            Native.wipe(memory, memory.capacity());
        }
    }
}
