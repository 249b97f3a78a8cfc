// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

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

    /**
     * Of the answers to several messages of one query. An item that came twice is kept once.
     *
     * @param all at least one
     */
    static Ranking merge(List<Ranking> all, int limit) {
        List<Match> matches = new ArrayList<>();
        Set<Long> items = new HashSet<>();
        long carried = 0;
        long bytes = 0;
        for (Ranking one : all) {
            carried += one.carried;
            bytes += one.bytes;
            for (Match match : one.matches) {
                if (items.add(match.item())) {
                    matches.add(match);
                }
            }
        }
        Collections.sort(matches, (first, second) -> Double.compare(second.score(), first.score()));
        long gallery = all.get(0).gallery;
        List<Match> best = matches.subList(0, Math.min(limit, matches.size()));
        return new Ranking(Collections.unmodifiableList(best), carried, gallery, (double) carried / gallery, bytes);
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
