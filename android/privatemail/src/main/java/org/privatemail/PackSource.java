// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import java.io.IOException;

/**
 * Says which pack is to be used now. A pack made for one person marks that person, so all people who use the app must
 * get the same id: a constant of the app, which changes when the app is updated, or a value of a configuration that
 * everybody gets alike. Never take it from the search server, and never from an account.
 */
public interface PackSource {
    /**
     * Returns the 16 bytes of {@link Pack#id()}; {@link Pack#idOf} makes them of text. Asked at the beginning of every
     * search and when the server does not serve a pack, on the thread of that call; so it should have the id at hand.
     */
    @NonNull
    byte[] id() throws IOException;
}
