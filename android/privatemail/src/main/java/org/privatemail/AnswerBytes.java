// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The bytes of an answer while it streams in. All of them are kept until the end, since only then it is known whose
 * payload is wanted; how much is kept depends on the answer alone, never on the query.
 */
final class AnswerBytes {
    private static final int CHUNK = 1 << 16;

    private final List<byte[]> chunks = new ArrayList<>();
    private final int limit;
    private int size;

    AnswerBytes(int limit) {
        this.limit = limit;
    }

    /**
     * Reads some more bytes and returns how many; they are the last ones in {@link #last}. Returns a negative number at
     * the end.
     *
     * @throws IOException what the stream threw; also when it says that it read more than it was asked for
     */
    int read(InputStream stream) throws IOException {
        if (size == limit) {
            if (stream.read() >= 0) {
                throw new PrivateMailException(Status.ANSWER, "longer than the limit of " + limit + " bytes", null);
            }
            return -1;
        }
        if (size == chunks.size() * (long) CHUNK) {
            chunks.add(new byte[Math.min(CHUNK, limit - size)]);
        }
        byte[] chunk = last();
        int room = chunk.length - size % CHUNK;
        int count = stream.read(chunk, size % CHUNK, room);
        if (count > room) {
            throw new IOException("the stream says that it read " + count + " bytes where " + room + " were asked for");
        }
        size += Math.max(count, 0);
        return count;
    }

    /** The chunk that the last read filled. */
    byte[] last() {
        return chunks.get(chunks.size() - 1);
    }

    /** Where in {@link #last} the last {@code count} bytes begin. */
    int first(int count) {
        return (size - 1) % CHUNK + 1 - count;
    }

    byte[] copy(long offset, int count) {
        byte[] out = new byte[count];
        int done = 0;
        while (done < count) {
            int at = (int) (offset + done);
            byte[] chunk = chunks.get(at / CHUNK);
            int part = Math.min(count - done, CHUNK - at % CHUNK);
            System.arraycopy(chunk, at % CHUNK, out, done, part);
            done += part;
        }
        return out;
    }
}
