// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.InputStream;
import java.net.HttpURLConnection;
import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;

/** Seals bundles for an epoch (SPEC 11.2): epoch, ticket, then every message sealed by an ephemeral key of its own. */
final class BundleSealer {
    private static final int TICKET = 16;

    private final Sealer sealer;
    private final SecureRandom random = new SecureRandom();

    BundleSealer(Sealer sealer) {
        this.sealer = sealer;
    }

    static final class Sealed {
        final long epoch;
        /** In hexadecimal digits. */
        final String ticket;
        final byte[] bytes;
        /** By message; null for those that are not the app's own. */
        final Sealer.Opener[] openers;
        final int answerSize;

        Sealed(RelayClient.Epoch epoch, byte[] ticket, byte[] bytes, Sealer.Opener[] openers) {
            this.epoch = epoch.number;
            this.ticket = Hexadecimal.encode(ticket);
            this.bytes = bytes;
            this.openers = openers;
            answerSize = (int) epoch.answerSize;
        }

        boolean[] own() {
            boolean[] own = new boolean[openers.length];
            for (int i = 0; i < own.length; i++) {
                own[i] = openers[i] != null;
            }
            return own;
        }

        void wipe() {
            for (Sealer.Opener opener : openers) {
                if (opener != null) {
                    opener.wipe();
                }
            }
        }
    }

    /**
     * @throws ServerException when the epoch is for messages of another length
     * @throws PrivateMailException KEYS as {@link Sealer#seal}
     */
    Sealed seal(CrowdBundle bundle, SealKey key, RelayClient.Epoch epoch, byte[] pack) throws ServerException {
        List<CrowdBundle.Message> messages = bundle.messages();
        int size = bundle.receipt().bytes() + Sealer.OVERHEAD;
        if (epoch.messageSize != size) {
            throw new ServerException(HttpURLConnection.HTTP_OK, "the relay takes messages of another length", 0);
        }
        byte[] ticket = new byte[TICKET];
        random.nextBytes(ticket);
        ByteBuffer out = ByteBuffer.allocate(8 + TICKET + messages.size() * size);
        out.putLong(epoch.number).put(ticket);
        Sealer.Opener[] openers = new Sealer.Opener[messages.size()];
        byte[] ephemeral = new byte[JavaCrypto.POINT];
        try {
            for (int i = 0; i < openers.length; i++) {
                random.nextBytes(ephemeral);
                CrowdBundle.Message message = messages.get(i);
                Sealer.Sealed sealed = sealer.seal(key, epoch.number, pack, message.bytes(), ephemeral);
                out.put(sealed.message);
                if (message.own() > 0) {
                    openers[i] = sealed.opener;
                } else {
                    sealed.opener.wipe();
                }
            }
        } finally {
            Arrays.fill(ephemeral, (byte) 0);
        }
        return new Sealed(epoch, ticket, out.array(), openers);
    }

    OpenedAnswer open(Sealer.Opener opener, InputStream answer, long size) {
        return sealer.open(opener, answer, size);
    }
}
