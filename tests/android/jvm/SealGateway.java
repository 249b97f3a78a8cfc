// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;

/** The other side of a seal: opens messages of an epoch and seals whatever plaintext a test wants as their answer. */
final class SealGateway {
    private static final JavaCrypto.Aead AEAD = JavaCrypto.Aead.CHACHA20_POLY1305;
    private static final int CHUNK = Sealer.CHUNK;

    final SealKey key;
    private final byte[] secret;

    /** What was inside a message, and what its answer is sealed with. */
    static final class Inside {
        final byte[] request;
        final byte[] exported;
        final byte[] encapsulated;

        Inside(byte[] request, byte[] exported, byte[] encapsulated) {
            this.request = request;
            this.exported = exported;
            this.encapsulated = encapsulated;
        }
    }

    SealGateway(int id, byte[] secret) throws GeneralSecurityException {
        this.secret = secret;
        key = new SealKey((byte) id, JavaCrypto.publicKey(secret));
    }

    Inside open(byte[] message, long epoch, byte[] pack) throws GeneralSecurityException {
        byte[] header = Arrays.copyOf(message, 7);
        byte[] encapsulated = Arrays.copyOfRange(message, 7, 39);
        byte[] information = JavaCrypto.join(Hpke.ascii("message/bhttp epoch request\0"), header);
        Hpke context = new Hpke(AEAD, key.publicKey, information, encapsulated,
                JavaCrypto.x25519(secret, encapsulated));
        byte[] data = JavaCrypto.join(ByteBuffer.allocate(8).putLong(epoch).array(), pack);
        byte[] request = AEAD.run(Cipher.DECRYPT_MODE, context.key, context.nonce, data, message, 39,
                message.length - 39);
        return new Inside(request, context.export(Hpke.ascii("message/bhttp epoch response"), 32), encapsulated);
    }

    static byte[] seal(Inside inside, byte[] plain) throws GeneralSecurityException {
        byte[] response = new byte[32];
        Arrays.fill(response, (byte) 0x5A);
        byte[] salt = JavaCrypto.join(inside.encapsulated, response);
        byte[] pseudorandom = JavaCrypto.extract(salt, inside.exported);
        byte[] key = JavaCrypto.expand(pseudorandom, 32, Hpke.ascii("key"));
        byte[] nonce = JavaCrypto.expand(pseudorandom, 12, Hpke.ascii("nonce"));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.write(response, 0, response.length);
        int chunk = 0;
        for (int at = 0; at < plain.length; at += CHUNK, chunk++) {
            boolean last = plain.length - at <= CHUNK;
            int size = last ? plain.length - at : CHUNK;
            out.write(last ? 0 : 0x50);
            if (!last) {
                out.write(0x10);
            }
            byte[] sealed = AEAD.run(Cipher.ENCRYPT_MODE, key, JavaCrypto.nonce(nonce, chunk),
                    Hpke.ascii(last ? "final" : ""), plain, at, size);
            out.write(sealed, 0, sealed.length);
        }
        return out.toByteArray();
    }

    /** A Binary HTTP response, padded to {@code size} bytes. */
    static byte[] response(int status, byte[] content, int size) {
        byte[] head = JavaCrypto.join(new byte[] {1}, BinaryHttp.variable(status), new byte[1],
                BinaryHttp.variable(content.length));
        byte[] plain = new byte[Math.max(size, head.length + content.length + 1)];
        System.arraycopy(head, 0, plain, 0, head.length);
        System.arraycopy(content, 0, plain, head.length, content.length);
        return plain;
    }
}
