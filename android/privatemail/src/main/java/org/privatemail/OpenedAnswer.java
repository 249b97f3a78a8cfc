// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.io.InputStream;

/**
 * The content of an answer. Nothing of a chunk is handed out before its tag is checked, and the end is told only
 * when the last chunk was checked and everything was in its place; otherwise a read throws a
 * {@link PrivateMailException} with SEALED. Closing it wipes the keys.
 */
abstract class OpenedAnswer extends InputStream {
    /** The status of HTTP inside; reads the first chunk if need be. */
    abstract int status() throws IOException;

    @Override
    public final int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public abstract int read(byte[] out, int first, int count) throws IOException;

    @Override
    public abstract void close();
}
