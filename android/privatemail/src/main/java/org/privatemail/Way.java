// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;

/** How the messages of a {@link Search} are made and sent: each by itself, or in a crowd. */
interface Way {
    /** A query, the name under which its message is kept, and what is wanted of the answer. */
    final class Sought {
        final String photo;
        final Query query;
        final Client.Scope scope;
        final int limit;

        Sought(String photo, Query query, Client.Scope scope, int limit) {
            this.photo = photo;
            this.query = query;
            this.scope = scope;
            this.limit = limit;
        }

        /** Ranks an answer. A server that sends none is at fault, and may fare better when it is asked again. */
        Ranking rank(Client client, InputStream answer) throws IOException {
            try {
                return client.answer(answer, query, scope, limit);
            } catch (PrivateMailException unsound) {
                Status status = unsound.status();
                if (status == Status.ANSWER || status == Status.PACK_ID || status == Status.SEALED) {
                    throw new ServerException(HttpURLConnection.HTTP_OK, "the server sent no sound answer", 0);
                }
                throw unsound;
            }
        }
    }

    /** What is paid for when a photo has no message yet; null: a release. */
    CrowdBundle.Kind kind();

    /** Throws what would keep a message from being sent, before anything is paid. */
    void ready(Client client) throws IOException;

    /** Makes the message of a photo, which is stored before it is sent. The client is armed. */
    byte[] make(Client client, Sought sought);

    /** Sends what {@link #make} returned, now or long ago. A {@link ServerException} of 409: the pack is gone. */
    Ranking send(Client client, Sought sought, byte[] message) throws IOException;

    /** Forgets what it knows of messages that were sent. */
    void close();
}
