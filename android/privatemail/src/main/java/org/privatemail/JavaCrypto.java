// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/** The primitives of a seal as javax.crypto has them: X25519, HKDF-SHA256, and a cipher with associated data. */
final class JavaCrypto {
    static final int HASH = 32;
    static final int POINT = 32;
    static final int NONCE = 12;
    static final int TAG = 16;

    /** Keys of X25519 go in as DER (RFC 8410), which old and new systems read alike: these, then the 32 bytes. */
    private static final byte[] PUBLIC_DER = Hexadecimal.decode("302a300506032b656e032100");
    private static final byte[] PRIVATE_DER = Hexadecimal.decode("302e020100300506032b656e04220420");

    private JavaCrypto() {}

    /** A cipher with associated data: its number in RFC 9180, and the length of its key. */
    static class Aead {
        static final Aead CHACHA20_POLY1305 = new Aead(3, 32, "ChaCha20-Poly1305", "ChaCha20");

        final int number;
        final int keySize;
        private final String transformation;
        private final String algorithm;

        Aead(int number, int keySize, String transformation, String algorithm) {
            this.number = number;
            this.keySize = keySize;
            this.transformation = transformation;
            this.algorithm = algorithm;
        }

        AlgorithmParameterSpec parameters(byte[] nonce) {
            return new IvParameterSpec(nonce);
        }

        /** {@code mode}: of {@link Cipher}. The tag follows what is sealed. */
        final byte[] run(int mode, byte[] key, byte[] nonce, byte[] data, byte[] in, int first, int count)
                throws GeneralSecurityException {
            Cipher cipher = Cipher.getInstance(transformation);
            cipher.init(mode, new SecretKeySpec(key, algorithm), parameters(nonce));
            cipher.updateAAD(data);
            return cipher.doFinal(in, first, count);
        }
    }

    /** Throws {@link InvalidKeyException} when the result is zero: the point has a small order. */
    static byte[] x25519(byte[] scalar, byte[] point) throws GeneralSecurityException {
        KeyFactory keys = KeyFactory.getInstance("XDH");
        byte[] encoded = join(PRIVATE_DER, scalar);
        try {
            KeyAgreement agreement = KeyAgreement.getInstance("XDH");
            agreement.init(keys.generatePrivate(new PKCS8EncodedKeySpec(encoded)));
            agreement.doPhase(keys.generatePublic(new X509EncodedKeySpec(join(PUBLIC_DER, point))), true);
            byte[] shared = agreement.generateSecret();
            if (Arrays.equals(shared, new byte[POINT])) {
                throw new InvalidKeyException("a point of small order");
            }
            return shared;
        } finally {
            Arrays.fill(encoded, (byte) 0);
        }
    }

    static byte[] publicKey(byte[] scalar) throws GeneralSecurityException {
        byte[] base = new byte[POINT];
        base[0] = 9;
        return x25519(scalar, base);
    }

    static byte[] extract(byte[] salt, byte[]... material) throws GeneralSecurityException {
        // An empty key is not taken; zeros are the same to HMAC.
        return hmac(salt.length == 0 ? new byte[HASH] : salt, material);
    }

    /** {@code size}: at most 255 times that of the hash. */
    static byte[] expand(byte[] key, int size, byte[]... information) throws GeneralSecurityException {
        byte[] all = join(information);
        byte[] out = new byte[size];
        byte[] block = new byte[0];
        for (int done = 0; done < size; done += HASH) {
            block = hmac(key, block, all, new byte[] {(byte) (done / HASH + 1)});
            System.arraycopy(block, 0, out, done, Math.min(HASH, size - done));
        }
        Arrays.fill(block, (byte) 0);
        return out;
    }

    private static byte[] hmac(byte[] key, byte[]... pieces) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        for (byte[] piece : pieces) {
            mac.update(piece);
        }
        return mac.doFinal();
    }

    static byte[] join(byte[]... pieces) {
        int size = 0;
        for (byte[] piece : pieces) {
            size += piece.length;
        }
        byte[] all = new byte[size];
        int at = 0;
        for (byte[] piece : pieces) {
            System.arraycopy(piece, 0, all, at, piece.length);
            at += piece.length;
        }
        return all;
    }

    /** A nonce with a number in its last eight bytes: message or chunk {@code number} of a key. */
    static byte[] nonce(byte[] base, long number) {
        byte[] nonce = base.clone();
        for (int i = 0; i < 8; i++) {
            nonce[NONCE - 1 - i] ^= (byte) (number >>> 8 * i);
        }
        return nonce;
    }
}
