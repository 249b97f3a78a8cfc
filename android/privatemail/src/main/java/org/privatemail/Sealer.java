// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.InputStream;
import java.util.Arrays;

/**
 * Seals messages of an epoch and opens their answers (SPEC 10.3, 10.4). There are two, which make the same bytes:
 * {@link JavaSealer} by javax.crypto, where that has X25519, and {@link NativeSealer} by the C library elsewhere, such
 * as on Android before 13.
 */
interface Sealer {
    /** Bytes of a sealed message beyond those of its release, which has fewer than 64. */
    int OVERHEAD = 104;
    /** Bytes of plaintext in all chunks of an answer but the last, which may have fewer. */
    int CHUNK = 4096;
    /** Bytes of a response nonce, and of the secret that an answer is opened with. */
    int SECRET = 32;

    /** A sealed message. */
    final class Sealed {
        final byte[] message;
        /** What its answer is opened with. Secret: wipe it. */
        final Opener opener;

        Sealed(byte[] message, Opener opener) {
            this.message = message;
            this.opener = opener;
        }
    }

    /** What opens the answer to one message. */
    final class Opener {
        final byte[] secret;
        final byte[] encapsulated;

        Opener(byte[] secret, byte[] encapsulated) {
            this.secret = secret;
            this.encapsulated = encapsulated;
        }

        void wipe() {
            Arrays.fill(secret, (byte) 0);
        }
    }

    /** The one for this machine. */
    static Sealer ofThisMachine() {
        return JavaSealer.works() ? new JavaSealer() : new NativeSealer();
    }

    /**
     * @param pack the 16 bytes of its id
     * @param release what {@link CrowdBundle.Message#bytes} returned
     * @param ephemeral 32 random bytes that are used for nothing else; the caller wipes them
     * @throws PrivateMailException KEYS when nothing can be sealed for this key: it is a point of small order
     */
    Sealed seal(SealKey key, long epoch, byte[] pack, byte[] release, byte[] ephemeral);

    /**
     * @param answer read as the result is read, not closed
     * @param size bytes of the answer
     * @throws PrivateMailException SEALED when no answer has this length
     */
    OpenedAnswer open(Opener opener, InputStream answer, long size);
}
