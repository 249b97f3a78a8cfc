// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.util.function.Supplier;

/** What a {@link Search} paid for and has not yet used. Its monitor guards it, and all that makes a message. */
final class Arming {
    private final Budget budget;
    private Client armed;
    private CrowdBundle.Kind kind;

    Arming(Budget budget) {
        this.budget = budget;
    }

    /** Pays, unless that was done; takes back what was paid for another client or kind. Null: for a release. */
    synchronized void arm(Client client, CrowdBundle.Kind wanted) {
        if (armed == client && kind == wanted) {
            return;
        }
        disarm();
        if (wanted == null) {
            client.arm(budget);
        } else {
            client.armBundle(budget, wanted);
        }
        armed = client;
        kind = wanted;
    }

    /**
     * Arms, and makes of it what was paid for. Stays armed when that is refused. After an error, such as a lack of
     * memory, nobody knows whether the client still is armed. The client does: it pays back only when nothing was made.
     */
    synchronized <T> T use(Client client, CrowdBundle.Kind wanted, Supplier<T> maker) {
        arm(client, wanted);
        try {
            T made = maker.get();
            armed = null;
            return made;
        } catch (Error failure) {
            disarm();
            throw failure;
        }
    }

    synchronized void disarm() {
        if (armed != null) {
            Client client = armed;
            armed = null;
            try {
                client.disarm(budget);
            } catch (PrivateMailException lost) {
                // Something was made, or the refund could not be stored: this person has one message less. The opposite
                // would be a leak.
            }
        }
    }
}
