// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.util.Collections;
import java.util.List;

/**
 * What a client of a crowd hands to the relay in one epoch: own messages and fakes, in random order, all of one length.
 * Immutable. Hand it over as a whole; what may be resent are the same bytes, in the same epoch. Which messages are the
 * app's own stays on the device.
 */
public final class CrowdBundle {
    /** What a bundle is about, and what it costs. */
    public enum Kind {
        /** A photo's cell is drawn and sent: costs the floor ε₀ and the own messages of the crowd. */
        QUERY(1),
        /** A photo's kept cell is sent again: costs the own messages of the crowd. */
        KEPT(2),
        /** No query in this epoch: fakes, and cover when the policy says so. Costs nothing. */
        IDLE(3);

        final int code;

        Kind(int code) {
            this.code = code;
        }
    }

    /** One message of a bundle. */
    public static final class Message {
        private final byte[] bytes;
        private final int own;

        Message(byte[] bytes, int own) {
            this.bytes = bytes;
            this.own = own;
        }

        /** What the server sees; a copy. */
        @NonNull
        public byte[] bytes() {
            return bytes.clone();
        }

        /** Private: 0 for a fake, else 1 to {@link Crowd#own}; the answer to it is worth {@link Client#answer}. */
        public int own() {
            return own;
        }
    }

    private final Kind kind;
    private final Receipt receipt;
    private final List<Message> messages;

    CrowdBundle(Kind kind, Receipt receipt, List<Message> messages) {
        this.kind = kind;
        this.receipt = receipt;
        this.messages = Collections.unmodifiableList(messages);
    }

    /** In the order in which they are sent. May be empty; then nothing is sent. */
    @NonNull
    public List<Message> messages() {
        return messages;
    }

    /** What to hand to the relay: all messages, one after the other. */
    @NonNull
    public byte[] bytes() {
        int size = receipt.bytes();
        byte[] all = new byte[messages.size() * size];
        for (int i = 0; i < messages.size(); i++) {
            System.arraycopy(messages.get(i).bytes, 0, all, i * size, size);
        }
        return all;
    }

    /** The message to keep for the photo, for {@link Client#keptBundle}; null for an idle one. Private. */
    @Nullable
    public byte[] kept() {
        byte[] kept = null;
        for (Message message : messages) {
            kept = message.own == 1 && kind != Kind.IDLE ? message.bytes() : kept;
        }
        return kept;
    }

    /** What it cost, at most: a kept bundle does not pay the floor, an idle one pays nothing. */
    @NonNull
    public Receipt receipt() {
        return receipt;
    }
}
