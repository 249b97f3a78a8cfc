// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Each message by itself, to the server. */
final class DirectWay implements Way {
    private final PackSource packs;
    private final int limit;

    DirectWay(PackSource packs, int limit) {
        this.packs = packs;
        this.limit = limit;
    }

    @Override
    public CrowdBundle.Kind kind() {
        return null;
    }

    @Override
    public void ready(Client client) {}

    @Override
    public byte[] make(Client client, Sought sought) {
        return client.release(sought.query).bytes();
    }

    @Override
    public Ranking send(Client client, Sought sought, byte[] message) throws IOException {
        Exchange.Request request = new Exchange.Request(packs.address("/v1/query"), "application/cbor-seq")
                .posting(message, "application/cbor");
        return Exchange.run(request, this::readAll,
                answer -> sought.rank(client, new ByteArrayInputStream(answer)));
    }

    private byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] piece = new byte[1 << 16];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            if (count > limit - bytes.size()) {
                throw new PrivateMailException(Status.ANSWER, "longer than the limit of " + limit + " bytes", null);
            }
            bytes.write(piece, 0, count);
        }
        return bytes.toByteArray();
    }

    @Override
    public void close() {}
}
