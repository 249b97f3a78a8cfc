// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.util.List;

/** What {@link Client#answer} kept of an answer. */
public final class Ranking {
    private final List<Match> matches;
    private final long carried;
    private final long gallery;
    private final double share;
    private final long bytes;

    Ranking(List<Match> matches, long carried, long gallery, double share, long bytes) {
        this.matches = matches;
        this.carried = carried;
        this.gallery = gallery;
        this.share = share;
        this.bytes = bytes;
    }

    /** Best first; unmodifiable. Private: nothing that leaves the device may depend on it. */
    @NonNull
    public List<Match> matches() {
        return matches;
    }

    /** Candidates in the answer. */
    public long carried() {
        return carried;
    }

    /** Items that the server says it has; unsigned. */
    public long gallery() {
        return gallery;
    }

    /** carried / gallery: the f of {@link PrivateMail#curve}. */
    public double share() {
        return share;
    }

    /** Length of the answer. */
    public long bytes() {
        return bytes;
    }
}
