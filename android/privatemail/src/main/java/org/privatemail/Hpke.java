// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.Cipher;

/**
 * A context of HPKE in base mode (RFC 9180) with X25519 and HKDF-SHA256. Holds secrets: {@link #wipe} it.
 */
final class Hpke {
    static final int KEM = 0x0020;
    static final int KDF = 0x0001;

    private static final byte[] NONE = {};
    private static final byte[] VERSION = ascii("HPKE-v1");

    private final JavaCrypto.Aead aead;
    private final byte[] suite;
    private final byte[] encapsulated;
    final byte[] key;
    final byte[] nonce;
    private final byte[] exporter;

    /**
     * The sender's.
     *
     * @param receiver the public key that it is sealed for
     * @param ephemeral 32 random bytes that are used for nothing else; they remain the caller's, who wipes them
     */
    Hpke(JavaCrypto.Aead aead, byte[] receiver, byte[] information, byte[] ephemeral) throws GeneralSecurityException {
        this(aead, receiver, information, JavaCrypto.publicKey(ephemeral), JavaCrypto.x25519(ephemeral, receiver));
    }

    /** Of either side: {@code point} is what the two keys agree on, and is wiped. */
    Hpke(JavaCrypto.Aead aead, byte[] receiver, byte[] information, byte[] encapsulated, byte[] point)
            throws GeneralSecurityException {
        this.aead = aead;
        this.encapsulated = encapsulated;
        suite = JavaCrypto.join(ascii("HPKE"), pair(KEM), pair(KDF), pair(aead.number));
        byte[] kem = JavaCrypto.join(ascii("KEM"), pair(KEM));
        byte[] pseudorandom = extract(kem, NONE, "eae_prk", point);
        byte[] shared = expand(kem, pseudorandom, "shared_secret", JavaCrypto.join(encapsulated, receiver),
                JavaCrypto.HASH);
        byte[] context = JavaCrypto.join(new byte[1], extract(suite, NONE, "psk_id_hash", NONE),
                extract(suite, NONE, "info_hash", information));
        byte[] secret = extract(suite, shared, "secret", NONE);
        key = expand(suite, secret, "key", context, aead.keySize);
        nonce = expand(suite, secret, "base_nonce", context, JavaCrypto.NONCE);
        exporter = expand(suite, secret, "exp", context, JavaCrypto.HASH);
        for (byte[] one : new byte[][] {point, pseudorandom, shared, secret}) {
            Arrays.fill(one, (byte) 0);
        }
    }

    /** What the receiver needs besides the sealed bytes: the ephemeral public key. */
    byte[] encapsulated() {
        return encapsulated;
    }

    /** {@code number}: of the message in this context, from 0 on; none may come twice. */
    byte[] seal(long number, byte[] data, byte[] message) throws GeneralSecurityException {
        return aead.run(Cipher.ENCRYPT_MODE, key, JavaCrypto.nonce(nonce, number), data, message, 0, message.length);
    }

    byte[] export(byte[] label, int size) throws GeneralSecurityException {
        return expand(suite, exporter, "sec", label, size);
    }

    void wipe() {
        for (byte[] one : new byte[][] {key, nonce, exporter}) {
            Arrays.fill(one, (byte) 0);
        }
    }

    private static byte[] extract(byte[] suite, byte[] salt, String label, byte[] material)
            throws GeneralSecurityException {
        return JavaCrypto.extract(salt, VERSION, suite, ascii(label), material);
    }

    private static byte[] expand(byte[] suite, byte[] key, String label, byte[] information, int size)
            throws GeneralSecurityException {
        return JavaCrypto.expand(key, size, pair(size), VERSION, suite, ascii(label), information);
    }

    static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    static byte[] pair(int number) {
        return new byte[] {(byte) (number >> 8), (byte) number};
    }
}
