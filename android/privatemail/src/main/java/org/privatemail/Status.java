// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/** What went wrong: one constant for every status of the C library, in its order. */
public enum Status {
    /** Success; no exception carries it. */
    OK(0),
    /** An argument is out of range. */
    ARGUMENT(-1),
    /** The client's memory is too small; not reachable through this API, which asks for the right size. */
    MEMORY(-2),
    /** An output buffer is too small; not reachable through this API, which asks for the right size. */
    BUFFER(-3),
    /** The call does not fit the client's state, such as a release without arm, or was made from inside a store. */
    STATE(-4),
    /** ε is not a number, out of range, or so small that the noise does not fit. */
    EPSILON(-5),
    /** δ must be 0 for response and between 2^-50 and 1 for the Gaussian. */
    DELTA(-6),
    /** The mechanism was left out of this build. */
    MECHANISM(-7),
    /** The vector has not as many features as the pack, or the query's modality. */
    DIMENSION(-8),
    /** A feature is NaN or infinite, or all are zero. */
    FEATURES(-9),
    /** The pack knows no such class. */
    LABEL(-10),
    /** A field of the pack is out of its range or contradicts another. */
    PACK(-11),
    /** Not a pack, or a version that this library does not read. */
    PACK_VERSION(-12),
    /** The pack is truncated, or longer than it says. */
    PACK_SIZE(-13),
    /** The pack is damaged: its hash does not fit. */
    PACK_HASH(-14),
    /** A sound pack, release or answer, but of another pack than the one expected. */
    PACK_ID(-15),
    /** The pack lacks a section that this mechanism or call needs. */
    SECTION(-16),
    /** The pack's codes give a sensitivity that is zero or too large. */
    SENSITIVITY(-17),
    /** The system's entropy source failed. Nothing was charged. */
    ENTROPY(-18),
    /**
     * The store failed; the exception's cause is what it threw. Not armed, nothing charged in memory. If the store
     * wrote before it failed, the budget no longer fits its store: open it anew.
     */
    PERSIST(-19),
    /** The budget is damaged, foreign, or not a budget. */
    BUDGET(-20),
    /** The budget cannot pay for one more release. */
    SPENT(-21),
    /** The bytes are not a release of this pack. */
    RELEASE(-22),
    /** The bytes are not an answer: truncated, lying lengths, or beyond a limit. */
    ANSWER(-23),
    /** The pack names another model than the one demanded, or none; the exception's message has both names. */
    PACK_MODEL(-24),
    /**
     * The crowd's policy is out of range or too small for what is asked, no policy reaches the goal of a plan, or the
     * call is not for a client with a crowd, or not for one without.
     */
    CROWD(-25),
    /** The bytes are not a key configuration, or hold no key that can be used, or lack the key that is pinned. */
    KEYS(-26),
    /** The sealed bytes cannot be opened: damaged, cut short, or not for this key, epoch and pack. */
    SEALED(-27),
    /** The pack has no modality of this name; the exception's message has those that it has. */
    MODALITY(-28),
    /** The front is not sound; not reachable through this API, whose fronts are those of packs. */
    FRONT(-29);

    private static final Status[] BY_NUMBER = values();

    private final int code;

    Status(int code) {
        this.code = code;
    }

    /** The number of the C library's {@code pml_status}: 0 or negative. */
    public int code() {
        return code;
    }

    /** One English sentence, the C library's. */
    @NonNull
    public String text() {
        return Native.statusText(code);
    }

    static Status of(int code) {
        return BY_NUMBER[-code];
    }
}
