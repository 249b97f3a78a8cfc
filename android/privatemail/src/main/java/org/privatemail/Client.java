// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Makes releases: {@link #arm}, {@link #release}, {@link #arm}, {@link #release}, … and ranks answers. In a crowd
 * ({@link Options#crowd}) it makes bundles: {@link #armBundle}, {@link #bundle}, … Calls of the other sort are refused
 * with {@link Status#CROWD}.
 *
 * <p><b>Threads.</b> Calls from several threads are served one after the other. {@link #answer} lets other calls
 * through while it waits for its stream. Calls from inside a {@link BudgetStore} are refused with {@link Status#STATE}.
 *
 * <p><b>Close it.</b> {@link #close} waits for the calls that are running, wipes all memory of the client, and later
 * calls throw {@link IllegalStateException}. A client that becomes garbage without it is freed by the virtual machine
 * unwiped: nothing of a query is in it, as every call wipes what it knew, but the noise of an armed client is, and its
 * price is lost.
 *
 * <p><b>Features</b> are finite numbers, not all zero, of any scale, as many as the query's {@link Modality} has: the
 * pack's first one, unless a {@link Query} names another. They come as a {@code float[]} or in a direct
 * {@link FloatBuffer} in native byte order, from its position to its limit (neither is moved):
 *
 * <pre>{@code ByteBuffer.allocateDirect(4 * n).order(ByteOrder.nativeOrder()).asFloatBuffer()}</pre>
 *
 * A buffer is read in place; an array is copied into memory of the client that is wiped before the call ends. What you
 * passed is yours, and yours to wipe. {@code label} is the class as the pack's maker numbered it; packs with one slot
 * ignore it.
 */
public final class Client implements AutoCloseable {
    /** Which candidates of an answer are ranked. */
    public enum Scope {
        /** Those of the query's own slot. */
        OWN_SLOT,
        /** Those of all slots. */
        ALL_SLOTS
    }

    /** Most matches that an answer can be asked for. */
    public static final int MATCHES_MAX = 256;

    private static final int MATCH_NUMBERS = 6;
    private static final double SCORE_UNIT = 1.0 / (1 << 30);

    /* Kept reachable, in shrunk apps by consumer-rules.pro: native memory points into them. */
    private final Pack pack;
    private final ByteBuffer policy; /* null without a crowd */

    private final Options options;
    private final Receipt receipt;
    private final ByteBuffer memory;
    private final ByteBuffer message;
    private FloatBuffer copied;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition answered = lock.newCondition();
    private boolean closed;
    private Thread answering;
    private ByteBuffer matches;

    /**
     * Lays out the client's memory and calibrates its noise.
     *
     * @throws PrivateMailException EPSILON, DELTA, ARGUMENT, MECHANISM or CROWD for the options; SECTION or SENSITIVITY
     *     when the pack does not serve them
     */
    public Client(@NonNull Pack pack, @NonNull Options options) {
        this.pack = pack;
        this.options = options;
        int code = options.mechanism().code;
        policy = options.crowd() == null ? null : options.crowd().policy();
        memory = ByteBuffer.allocateDirect(Native.clientSize(pack, pack.view(), code, policy));
        PrivateMailException.check(Native.clientInit(pack, pack.view(), memory, memory.capacity(), code,
                options.epsilon(), options.delta(), options.valueBytes(), options.substitute(), policy));
        double[] numbers = new double[Receipt.NUMBERS];
        PrivateMailException.check(Native.receipt(this, memory, numbers));
        receipt = new Receipt(numbers);
        message = ByteBuffer.allocateDirect(receipt.bytes());
    }

    @NonNull
    public Pack pack() {
        return pack;
    }

    @NonNull
    public Options options() {
        return options;
    }

    /** What every release of this client costs; known before anything is paid, and after close. */
    @NonNull
    public Receipt receipt() {
        return receipt;
    }

    /**
     * Pays for one release, durably, and draws its randomness. Do it early, when idle and before private data is in
     * memory: its duration depends on the noise.
     *
     * @throws PrivateMailException SPENT, BUDGET, ENTROPY, PERSIST: not armed, nothing charged; STATE when it is armed
     *     already
     */
    public void arm(@NonNull Budget budget) {
        settle(budget, Native.ARM);
    }

    /**
     * Pays for one bundle of a crowd, durably, and draws all that does not depend on the query. Do it early, as
     * {@link #arm}.
     *
     * @throws PrivateMailException as {@link #arm}; SPENT also when the policy makes no promise and the budget keeps
     *     one
     */
    public void armBundle(@NonNull Budget budget, @NonNull CrowdBundle.Kind kind) {
        settle(budget, kind.code);
    }

    /**
     * Takes an arm back: wipes the noise and refunds the price to the budget that paid it.
     *
     * @throws PrivateMailException STATE when it is not armed; BUDGET when another budget paid; PERSIST when the refund
     *     could not be stored: then the price is lost, and the client is not armed either
     */
    public void disarm(@NonNull Budget budget) {
        settle(budget, Native.DISARM);
    }

    /** Arms or disarms. The native calls throw nothing but what the store threw. */
    private void settle(Budget budget, int what) {
        Objects.requireNonNull(budget, "budget");
        int status;
        enter();
        try {
            budget.lock();
            try {
                status = Native.settle(this, memory, budget, budget.bytes(), what);
            } catch (Throwable failure) {
                throw new PrivateMailException(Status.PERSIST, failure.getMessage(), failure);
            } finally {
                budget.unlock();
            }
        } finally {
            lock.unlock();
        }
        PrivateMailException.check(status);
    }

    /**
     * Makes the one release that {@link #arm} paid for. When the query is refused, the client stays armed, and what
     * then is released is the app's decision: with {@link Options#substitute} it need not decide.
     *
     * @throws PrivateMailException STATE when it is not armed; MODALITY, DIMENSION, FEATURES, LABEL for the query
     */
    @NonNull
    public Release release(@NonNull Query query) {
        int modality = query.requireIn(pack);
        enter();
        try {
            byte[] bytes = new byte[receipt.bytes()]; /* before the release is spent: this may fail */
            PrivateMailException.check(lend(query, features -> Native.release(this, memory, features,
                    features.position(), features.remaining(), query.label(), modality, message, message.capacity())));
            message.clear();
            message.get(bytes);
            return new Release(pack, receipt, bytes);
        } finally {
            lock.unlock();
        }
    }

    /** The same, of the pack's first modality. */
    @NonNull
    public Release release(@NonNull FloatBuffer features, int label) {
        return release(Query.of(features, label));
    }

    /** The same, of an array. */
    @NonNull
    public Release release(@NonNull float[] features, int label) {
        return release(Query.of(features, label));
    }

    /**
     * The bundle that {@link #armBundle} paid for as {@link CrowdBundle.Kind#QUERY}. When the query is refused, the client
     * stays armed.
     *
     * @throws PrivateMailException STATE when it is not armed; ARGUMENT when it is armed for another kind; MODALITY,
     *     DIMENSION, FEATURES, LABEL for the query
     */
    @NonNull
    public CrowdBundle bundle(@NonNull Query query) {
        int modality = query.requireIn(pack);
        enter();
        try {
            PrivateMailException.check(lend(query, features -> Native.bundleBegin(this, memory, features,
                    features.position(), features.remaining(), query.label(), modality, null, 0)));
            return bundleLocked(CrowdBundle.Kind.QUERY);
        } finally {
            lock.unlock();
        }
    }

    /** The same, of the pack's first modality. */
    @NonNull
    public CrowdBundle bundle(@NonNull FloatBuffer features, int label) {
        return bundle(Query.of(features, label));
    }

    /** The same, of an array. */
    @NonNull
    public CrowdBundle bundle(@NonNull float[] features, int label) {
        return bundle(Query.of(features, label));
    }

    /**
     * The bundle that {@link #armBundle} paid for as {@link CrowdBundle.Kind#KEPT}.
     *
     * @param message {@link CrowdBundle#kept} of the photo's earlier bundle
     * @throws PrivateMailException STATE, ARGUMENT as in {@link #bundle}; RELEASE, PACK_ID for the message
     */
    @NonNull
    public CrowdBundle keptBundle(@NonNull byte[] message) {
        ByteBuffer kept = ByteBuffer.allocateDirect(message.length);
        kept.put(message);
        enter();
        try {
            PrivateMailException.check(Native.bundleBegin(this, memory, null, 0, 0, 0, 0, kept, kept.capacity()));
            return bundleLocked(CrowdBundle.Kind.KEPT);
        } finally {
            Native.wipe(kept, kept.capacity());
            lock.unlock();
        }
    }

    /**
     * The bundle of an epoch without a query, armed as {@link CrowdBundle.Kind#IDLE}; often empty.
     *
     * @throws PrivateMailException STATE, ARGUMENT as in {@link #bundle}
     */
    @NonNull
    public CrowdBundle idleBundle() {
        enter();
        try {
            PrivateMailException.check(Native.bundleBegin(this, memory, null, 0, 0, 0, 0, null, 0));
            return bundleLocked(CrowdBundle.Kind.IDLE);
        } finally {
            lock.unlock();
        }
    }

    /** A failure after the begin, such as of the virtual machine, ends the bundle: what has met a query is spent. */
    private CrowdBundle bundleLocked(CrowdBundle.Kind kind) {
        try {
            List<CrowdBundle.Message> messages = new ArrayList<>();
            while (Native.bundleLeft(this, memory) > 0) {
                byte[] bytes = new byte[receipt.bytes()];
                int own = Native.bundleNext(this, memory, message, message.capacity());
                PrivateMailException.check(Math.min(own, 0));
                message.clear();
                message.get(bytes);
                messages.add(new CrowdBundle.Message(bytes, own));
            }
            return new CrowdBundle(kind, receipt, messages);
        } catch (RuntimeException | Error failure) {
            Native.clientWipe(this, memory);
            throw failure;
        }
    }

    /**
     * Reads an answer to its end and keeps the candidates nearest to the true query. The whole answer is validated
     * before anything is handed out; neither what is read nor whether it fails depends on the query. After a failure
     * ask for the same bytes again, never for a new release.
     *
     * <p>The payloads come out of the answer itself, of which up to {@link Options#answerLimit} bytes are kept while it
     * streams in. Nothing is fetched afterwards, and nothing should be: it would tell what was found.
     *
     * <p>In a crowd it is the answer to one own message, which has one slot. Fetch the answers to all messages of the
     * bundle, and rank those of {@link CrowdBundle.Message#own} above 0.
     *
     * <p>One answer at a time; a second one waits for the first. {@link #close} and {@link #wipe} from another thread
     * do not wait for the stream: the answer fails when its read returns, the former with
     * {@link IllegalStateException}, the latter with {@link Status#STATE}.
     *
     * @param stream read to its end, not closed
     * @param limit most matches wanted, 1 to {@link #MATCHES_MAX}
     * @throws IOException what the stream threw
     * @throws PrivateMailException ANSWER, PACK_ID for the bytes; MODALITY, DIMENSION, FEATURES, LABEL for the query;
     *     SECTION when the pack has no sketches
     */
    @NonNull
    public Ranking answer(@NonNull InputStream stream, @NonNull Query query, @NonNull Scope scope, int limit)
            throws IOException {
        int modality = query.requireIn(pack);
        Objects.requireNonNull(stream, "stream");
        requireAnswer(scope, limit);
        enterAnswer();
        try {
            beginAnswer(query, modality, scope, limit);
        } finally {
            lock.unlock();
        }
        return readAnswer(stream);
    }

    /** The same, of the pack's first modality. */
    @NonNull
    public Ranking answer(@NonNull InputStream stream, @NonNull FloatBuffer features, int label,
                          @NonNull Scope scope, int limit) throws IOException {
        return answer(stream, Query.of(features, label), scope, limit);
    }

    /** The same, of an array. */
    @NonNull
    public Ranking answer(@NonNull InputStream stream, @NonNull float[] features, int label, @NonNull Scope scope,
                          int limit) throws IOException {
        return answer(stream, Query.of(features, label), scope, limit);
    }

    /** Forgets noise and an answer that is being read. Does not refund the price of an arm: see {@link #disarm}. */
    public void wipe() {
        enter();
        try {
            Native.clientWipe(this, memory);
        } finally {
            lock.unlock();
        }
    }

    /**
     * Waits for running calls, then wipes all memory of the client. An answer that waits for its stream is not waited
     * for: it fails when its read returns. Closing twice does nothing.
     */
    @Override
    public void close() {
        Budget.refuseInsideStore();
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                Native.clientWipe(this, memory);
                Native.wipe(memory, memory.capacity());
                Native.wipe(message, message.capacity());
                answered.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /* ---- locks ---- */

    private void enter() {
        Budget.refuseInsideStore();
        lock.lock();
        requireOpen();
    }

    /** Keeps the lock, or leaves it and throws. */
    private void requireOpen() {
        if (closed) {
            lock.unlock();
            throw new IllegalStateException("the client is closed");
        }
    }

    /** Enters when no other answer is being read. */
    private void enterAnswer() {
        enter();
        if (answering == Thread.currentThread()) {
            lock.unlock();
            throw new PrivateMailException(Status.STATE, "called from inside the stream of an answer", null);
        }
        while (answering != null && !closed) {
            answered.awaitUninterruptibly();
        }
        requireOpen();
    }

    private interface Borrower {
        int use(FloatBuffer features);
    }

    /** Under the lock. Features of an array are copied, and the copy is wiped. Returns the borrower's status. */
    private int lend(Query query, Borrower borrower) {
        if (query.buffer() != null) {
            return borrower.use(query.buffer());
        }
        float[] features = query.array();
        if (copied == null || copied.capacity() < features.length) {
            copied = Pack.newFloats(features.length);
        }
        try {
            copied.clear();
            copied.put(features);
            copied.flip();
            return borrower.use(copied);
        } finally {
            Native.wipe(copied, 4 * copied.capacity());
        }
    }

    /* ---- answer ---- */

    static void requireAnswer(Scope scope, int limit) {
        Objects.requireNonNull(scope, "scope");
        if (limit < 1 || limit > MATCHES_MAX) {
            throw new IllegalArgumentException("an answer gives 1 to " + MATCHES_MAX + " matches, not " + limit);
        }
    }

    private void beginAnswer(Query query, int modality, Scope scope, int limit) {
        int size = Native.matchesSize(limit);
        if (matches == null || matches.capacity() < size) {
            matches = ByteBuffer.allocateDirect(size);
        }
        PrivateMailException.check(lend(query, features -> Native.answerBegin(this, memory, features,
                features.position(), features.remaining(), query.label(), modality, scope.ordinal(), matches, limit)));
        answering = Thread.currentThread();
    }

    private Ranking readAnswer(InputStream stream) throws IOException {
        try {
            AnswerBytes bytes = new AnswerBytes(options.answerLimit());
            for (int count = bytes.read(stream); count >= 0; count = bytes.read(stream)) {
                feed(bytes, count);
            }
            return finishAnswer(bytes);
        } finally {
            endAnswer();
        }
    }

    private void feed(AnswerBytes bytes, int count) {
        enter();
        try {
            PrivateMailException.check(Native.answerFeed(this, memory, bytes.last(), bytes.first(count), count));
        } finally {
            lock.unlock();
        }
    }

    private Ranking finishAnswer(AnswerBytes bytes) {
        long[] summary = new long[4];
        double[] share = new double[1];
        enter();
        try {
            PrivateMailException.check(Native.answerFinish(this, memory, summary, share));
            List<Match> found = new ArrayList<>();
            long[] match = new long[MATCH_NUMBERS];
            for (int i = 0; i < summary[0]; i++) {
                Native.answerMatch(matches, i, match);
                found.add(new Match(match[0], (int) match[1], (int) match[2], match[3] * SCORE_UNIT,
                        bytes.copy(match[4], (int) match[5])));
            }
            return new Ranking(Collections.unmodifiableList(found), summary[1], summary[2], share[0], summary[3]);
        } finally {
            lock.unlock();
        }
    }

    /** Ends an answer however it went: finished already, in the middle, wiped or closed. */
    private void endAnswer() {
        lock.lock();
        try {
            if (!closed) {
                Native.answerFinish(this, memory, new long[4], new double[1]);
            }
            Native.wipe(matches, matches.capacity());
            answering = null;
            answered.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
