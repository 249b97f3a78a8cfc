// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/**
 * A sort of query that a pack takes, such as pictures or words. Its <i>front</i> maps features of this sort to those
 * that the collection is made of: so words find pictures.
 */
public final class Modality {
    /** How a front maps features. */
    public enum Kind {
        /** Features are used as they are. */
        NONE,
        /** Sums of features with signs from a seed. */
        SIGNS,
        /** A matrix and an offset. */
        MATRIX,
        /** A sum of Gaussian kernels. */
        KERNELS;

        static Kind of(int code) {
            return values()[code - 1];
        }
    }

    private final String name;
    private final int features;
    private final Kind kind;
    private final boolean root;

    Modality(String name, int features, Kind kind, boolean root) {
        this.name = name;
        this.features = features;
        this.kind = kind;
        this.root = root;
    }

    /** As its maker named it, for {@link Query#modality}; empty for the one modality of a pack without fronts. */
    @NonNull
    public String name() {
        return name;
    }

    /** Length of a feature vector of this modality. */
    public int features() {
        return features;
    }

    @NonNull
    public Kind kind() {
        return kind;
    }

    /** Whether roots of the features are taken first, as for histograms. */
    public boolean root() {
        return root;
    }

    @Override
    @NonNull
    public String toString() {
        return (name.isEmpty() ? "" : name + ": ") + features + " features";
    }
}
