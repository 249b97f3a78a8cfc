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

    /** Called by the library, in {@link #settle} only. */
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

    /** Numbers of {@link #packModality}: features, kind, whether roots are taken. */
    static final int MODALITY_NUMBERS = 3;

    /** The name of a modality, in ASCII; null beyond the last. */
    static native String packModality(ByteBuffer view, int index, int[] numbers);

    /** Bytes of memory that {@link #guess} needs; 0 when the pack has no head. */
    static native int guessSize(Pack pack, ByteBuffer view);

    /** {@code guesses}: label and score of each, the likeliest first. */
    static native int guess(Pack pack, ByteBuffer view, FloatBuffer features, int first, int count, int modality,
                            ByteBuffer memory, int size, long[] guesses, int wanted);

    /** Bytes that looks need; 0 when they cannot have so many features. */
    static native int looksSize(int features);

    static native int looksBegin(ByteBuffer memory, int features);

    static native int looksAdd(Looks looks, ByteBuffer memory, FloatBuffer look, int count);

    static native int looksMean(Looks looks, ByteBuffer memory, FloatBuffer mean, int count);

    static native int rows(Pack pack, ByteBuffer view, ByteBuffer release, int size, FloatBuffer rows, int capacity);

    static native int budgetCreate(ByteBuffer budget, byte[] owner, double response, double gaussian, double delta,
                                   double floor, double crowd, double crowdDelta);

    static native int budgetRestore(ByteBuffer budget, byte[] owner, byte[] bytes);

    static native int budgetRemaining(ByteBuffer budget, double[] numbers);

    /** Bytes that a client needs; {@code policy}: of {@link #crowdFill}, or null without a crowd. */
    static native int clientSize(Pack pack, ByteBuffer view, int mechanism, ByteBuffer policy);

    /** The policy must stay reachable and unchanged as long as the client. */
    static native int clientInit(Pack pack, ByteBuffer view, ByteBuffer memory, int size, int mechanism, double epsilon,
                                 double delta, int valueBytes, boolean substitute, ByteBuffer policy);

    static native int receipt(Client client, ByteBuffer memory, double[] numbers);

    static final int DISARM = -1;
    static final int ARM = 0;

    /** Arms or disarms, or arms for a bundle of a kind. Throws what the store threw. */
    static native int settle(Client client, ByteBuffer memory, Budget budget, ByteBuffer bytes, int what);

    static native int release(Client client, ByteBuffer memory, FloatBuffer features, int first, int count, int label,
                              int modality, ByteBuffer out, int capacity);

    /** Bytes that a policy needs. */
    static native int crowdSize();

    static native void crowdFill(ByteBuffer policy, long clients, double clusters, int copies, int own,
                                 double relayClusters, boolean cover, double delta0, double mu);

    /** Bytes of scratch that the accounting of a policy needs. */
    static native int crowdScratch(ByteBuffer policy, int cells, int queries, double floor);

    /** Bytes of scratch that a plan needs. */
    static native int planScratch();

    /** What {@link #crowdAccount} computes: δ at ε, ε for δ, or μ for δ₀. */
    static final int DELTA_AT_EPSILON = 0;
    static final int EPSILON_FOR_DELTA = 1;
    static final int MU_FOR_DELTA0 = 2;

    static native int crowdAccount(int what, ByteBuffer policy, int cells, int queries, double floor, double at,
                                   ByteBuffer scratch, int size, double[] found);

    /** {@code plan}: clients, clusters, copies, own, clusters of the relay, fakes, delta, whether fakes are needed. */
    static native int crowdPlan(int cells, int queries, double floor, long clients, double honest, double epsilon,
                                double delta, int copiesMax, int own, boolean relay, ByteBuffer scratch, int size,
                                double[] plan);

    /** With features a query's bundle, with a kept message its bundle, with neither an idle one. */
    static native int bundleBegin(Client client, ByteBuffer memory, FloatBuffer features, int first, int count,
                                  int label, int modality, ByteBuffer kept, int keptSize);

    /** Messages that are still to be written. */
    static native int bundleLeft(Client client, ByteBuffer memory);

    /** 0 for a fake, the number of an own message, or a status below 0. */
    static native int bundleNext(Client client, ByteBuffer memory, ByteBuffer out, int capacity);

    static native void clientWipe(Client client, ByteBuffer memory);

    /** Bytes that {@code capacity} matches need. */
    static native int matchesSize(int capacity);

    static native int answerBegin(Client client, ByteBuffer memory, FloatBuffer features, int first, int count,
                                  int label, int modality, int scope, ByteBuffer matches, int capacity);

    static native int answerFeed(Client client, ByteBuffer memory, byte[] bytes, int first, int count);

    /** {@code summary}: found, carried, gallery, bytes. */
    static native int answerFinish(Client client, ByteBuffer memory, long[] summary, double[] share);

    /** Of a finished answer; {@code match}: item, label, slot, score, payload's offset and size. */
    static native void answerMatch(ByteBuffer matches, int index, long[] match);

    /** Fills the message, which has its exact length, and what opens its answer. */
    static native int messageSeal(byte id, byte[] publicKey, long epoch, byte[] pack, byte[] release, byte[] ephemeral,
                                  byte[] message, byte[] secret, byte[] encapsulated);

    /** Bytes that the opening of an answer needs. */
    static native int openSize();

    static native int openBegin(ByteBuffer memory, byte[] secret, byte[] encapsulated, long size);

    /** Most bytes that {@link #openFeed} takes at once; twice as many may come out. */
    static final int OPEN_PIECE = 4096;

    /** The number of bytes of content written to {@code out}, or a status below 0. */
    static native int openFeed(ByteBuffer memory, byte[] bytes, int count, byte[] out);

    /** The status of HTTP inside; 0 while it is not known. */
    static native int openStatus(ByteBuffer memory);

    /** Ends it and wipes it, whenever it is called. */
    static native int openEnd(ByteBuffer memory);

    /** The number of bytes read into {@code out}, or a negative errno. */
    static native int fileLoad(byte[] folder, byte[] name, byte[] out);

    /** Puts {@code next} in the place of {@code before} (null: no file). 0, or an errno; ESTALE when it is not. */
    static native int fileReplace(byte[] folder, byte[] name, byte[] before, byte[] next);

    /** Puts the names of a folder on the disk. 0, or an errno. */
    static native int folderFlush(byte[] folder);

    /** Whether an errno says that there is no such file. */
    static native boolean fileIsMissing(int error);

    /** What an errno means for the file of a budget, in English. */
    static native String errorText(int error);
}
