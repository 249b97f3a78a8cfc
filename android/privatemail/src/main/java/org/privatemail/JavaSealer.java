// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;

/** A {@link Sealer} by javax.crypto. */
final class JavaSealer implements Sealer {
    private static final JavaCrypto.Aead AEAD = JavaCrypto.Aead.CHACHA20_POLY1305;
    private static final byte[] REQUEST = Hpke.ascii("message/bhttp epoch request\0");
    private static final byte[] RESPONSE = Hpke.ascii("message/bhttp epoch response");

    /** Whether this system can do it all; tried, not asked, since some have a part of it. */
    static boolean works() {
        try {
            byte[] scalar = new byte[JavaCrypto.POINT];
            scalar[0] = 1;
            Hpke sender = new Hpke(AEAD, JavaCrypto.publicKey(scalar), REQUEST, scalar);
            byte[] sealed = sender.seal(0, RESPONSE, scalar);
            return sealed.length == scalar.length + JavaCrypto.TAG;
        } catch (GeneralSecurityException | RuntimeException missing) {
            return false;
        }
    }

    @Override
    public Sealed seal(SealKey key, long epoch, byte[] pack, byte[] release, byte[] ephemeral) {
        byte[] header = key.header();
        byte[] data = JavaCrypto.join(ByteBuffer.allocate(8).putLong(epoch).array(), pack);
        byte[] request = BinaryHttp.request(epoch, release);
        try {
            Hpke sender = new Hpke(AEAD, key.publicKey, JavaCrypto.join(REQUEST, header), ephemeral);
            byte[] message = JavaCrypto.join(header, sender.encapsulated(), sender.seal(0, data, request));
            Opener opener = new Opener(sender.export(RESPONSE, SECRET), sender.encapsulated());
            sender.wipe();
            return new Sealed(message, opener);
        } catch (GeneralSecurityException refused) {
            throw new PrivateMailException(Status.KEYS, null, refused);
        } finally {
            Arrays.fill(request, (byte) 0);
        }
    }

    @Override
    public OpenedAnswer open(Opener opener, InputStream answer, long size) {
        return new Chunks(opener, answer, size);
    }

    /** An answer, one chunk in memory at a time. */
    private static final class Chunks extends OpenedAnswer {
        private static final int SEALED_CHUNK = CHUNK + JavaCrypto.TAG;
        private static final byte[] FULL = BinaryHttp.variable(SEALED_CHUNK);

        private final Opener opener;
        private final InputStream in;
        private final long count; // of chunks
        private final int lastSize; // bytes of plaintext in the last one
        private long next; // chunk to read
        private boolean sound = true;
        private byte[] key = {};
        private byte[] nonce = {};
        private BinaryHttp head;
        private ByteBuffer plain = ByteBuffer.allocate(0); // what is opened and not yet used
        private long left; // bytes of content to come

        Chunks(Opener opener, InputStream in, long size) {
            this.opener = opener;
            this.in = in;
            // 1 for the mark of the last chunk, 1 for the least that it holds
            long rest = size - SECRET - 1 - JavaCrypto.TAG - 1;
            long whole = FULL.length + SEALED_CHUNK;
            BinaryHttp.require(rest >= 0 && rest % whole < CHUNK);
            count = rest / whole + 1;
            lastSize = (int) (rest % whole) + 1;
        }

        @Override
        int status() throws IOException {
            if (head == null) {
                byte[] response = take(SECRET);
                try {
                    byte[] pseudorandom = JavaCrypto.extract(JavaCrypto.join(opener.encapsulated, response),
                            opener.secret);
                    key = JavaCrypto.expand(pseudorandom, AEAD.keySize, Hpke.ascii("key"));
                    nonce = JavaCrypto.expand(pseudorandom, JavaCrypto.NONCE, Hpke.ascii("nonce"));
                    Arrays.fill(pseudorandom, (byte) 0);
                } catch (GeneralSecurityException impossible) {
                    throw new PrivateMailException(Status.SEALED, null, impossible);
                }
                openNext();
                BinaryHttp found = BinaryHttp.response(plain);
                long room = (count - 1) * CHUNK + lastSize - plain.position();
                BinaryHttp.require(found.size < room); // a byte for the trailer
                left = found.size;
                head = found;
            }
            return head.status;
        }

        @Override
        public int read(byte[] out, int first, int wanted) throws IOException {
            status();
            if (left == 0) {
                finish();
                return -1;
            }
            if (!plain.hasRemaining()) {
                openNext();
            }
            int part = (int) Math.min(Math.min(wanted, plain.remaining()), left);
            plain.get(out, first, part);
            left -= part;
            return part;
        }

        @Override
        public void close() {
            sound = false;
            for (byte[] one : new byte[][] {key, nonce}) {
                Arrays.fill(one, (byte) 0);
            }
        }

        /** No trailer, then zeros to the end of the last chunk, and nothing behind it. */
        private void finish() throws IOException {
            while (plain.hasRemaining() || next < count) {
                if (!plain.hasRemaining()) {
                    openNext();
                }
                BinaryHttp.require(plain.get() == 0);
            }
        }

        private void openNext() throws IOException {
            BinaryHttp.require(sound);
            sound = false; // until this chunk is opened: nothing follows one that is not
            boolean last = next == count - 1;
            byte[] mark = take(last ? 1 : FULL.length);
            BinaryHttp.require(Arrays.equals(mark, last ? new byte[1] : FULL));
            byte[] sealed = take((last ? lastSize : CHUNK) + JavaCrypto.TAG);
            try {
                plain = ByteBuffer.wrap(AEAD.run(Cipher.DECRYPT_MODE, key, JavaCrypto.nonce(nonce, next),
                        Hpke.ascii(last ? "final" : ""), sealed, 0, sealed.length));
            } catch (GeneralSecurityException damaged) {
                throw new PrivateMailException(Status.SEALED);
            }
            next++;
            sound = true;
        }

        private byte[] take(int size) throws IOException {
            byte[] bytes = new byte[size];
            for (int done = 0; done < size; ) {
                int part = in.read(bytes, done, size - done);
                BinaryHttp.require(part >= 0);
                done += part;
            }
            return bytes;
        }
    }
}
