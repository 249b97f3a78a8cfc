// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * The one door to libprivatemail. The only class that the library looks up while it loads, so that the initialisation
 * of classes cannot deadlock; and the only one whose names must survive shrinking.
 *
 * <p>Int results are the C library's statuses unless said otherwise. A {@code Client} or {@code Pack} is passed along
 * for one purpose: what a native frame refers to stays reachable until the call is over, and with it all memory it
 * owns.
 */
final class Native {
    static {
        System.loadLibrary("privatemail");
    }

    private Native() {}

    /** Called by the library, in {@link #arm} and {@link #disarm} only. */
    @SuppressWarnings("unused")
    private static void persist(Budget budget, byte[] bytes) throws Exception {
        budget.persist(bytes);
    }

    static native String version();

    static native String statusText(int status);

    static native double curve(double epsilon, double share);

    static native double curveEpsilon(double share, double probability);

    /** Overwrites the first bytes of a direct buffer with zeros, such that no optimiser leaves it out. */
    static native void wipe(Buffer buffer, int bytes);

    /** Bytes that a view of a pack needs. */
    static native int packSize();

    static native int packOpen(ByteBuffer view, ByteBuffer bytes, int size, byte[] pinnedId);

    /** Id and counts of a pack that is open. */
    static native void packDescribe(ByteBuffer view, byte[] id, int[] numbers);

    /** The name of its model as UTF-8; empty when it names none. */
    static native byte[] packModel(ByteBuffer view);

    static native int rows(Pack pack, ByteBuffer view, ByteBuffer release, int size, FloatBuffer rows, int capacity);

    static native int budgetCreate(ByteBuffer budget, byte[] owner, double response, double gaussian, double delta);

    static native int budgetRestore(ByteBuffer budget, byte[] owner, byte[] bytes);

    static native int budgetRemaining(ByteBuffer budget, double[] numbers);

    /** Bytes that a client needs. */
    static native int clientSize(Pack pack, ByteBuffer view, int mechanism);

    static native int clientInit(Pack pack, ByteBuffer view, ByteBuffer memory, int size, int mechanism, double epsilon,
                                 double delta, int valueBytes, boolean substitute);

    static native int receipt(Client client, ByteBuffer memory, double[] numbers);

    /** Throws what the store threw. */
    static native int arm(Client client, ByteBuffer memory, Budget budget, ByteBuffer bytes);

    /** Throws what the store threw. */
    static native int disarm(Client client, ByteBuffer memory, Budget budget, ByteBuffer bytes);

    static native int release(Client client, ByteBuffer memory, FloatBuffer features, int first, int count, int label,
                              ByteBuffer out, int capacity);

    static native void clientWipe(Client client, ByteBuffer memory);

    /** Bytes that {@code capacity} matches need. */
    static native int matchesSize(int capacity);

    static native int answerBegin(Client client, ByteBuffer memory, FloatBuffer features, int first, int count,
                                  int label, int scope, ByteBuffer matches, int capacity);

    static native int answerFeed(Client client, ByteBuffer memory, byte[] bytes, int first, int count);

    /** {@code summary}: found, carried, gallery, bytes. */
    static native int answerFinish(Client client, ByteBuffer memory, long[] summary, double[] share);

    /** Of a finished answer; {@code match}: item, label, slot, score, payload's offset and size. */
    static native void answerMatch(ByteBuffer matches, int index, long[] match);

    /** The number of bytes read into {@code out}, or a negative errno. */
    static native int fileLoad(byte[] folder, byte[] name, byte[] out);

    /** Puts {@code next} in the place of {@code before} (null: no file). 0, or an errno; ESTALE when it is not. */
    static native int fileReplace(byte[] folder, byte[] name, byte[] before, byte[] next);

    /** Whether an errno says that there is no such file. */
    static native boolean fileIsMissing(int error);

    /** What an errno means for the file of a budget, in English. */
    static native String errorText(int error);
}
