// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;
import java.util.List;

/**
 * Which key of the gateway messages are sealed for (SPEC 10.7). Keys that the app brought are used as they are. Without
 * them those of the relay are pinned with the pack when they first come, and the relay never changes them again: it
 * could put a key of its own in front. In both cases a relay whose keys lack the pinned one is refused: nobody could
 * open the messages, or somebody else could.
 */
final class KeyPin {
    private final byte[] brought; // or null
    private final MessageFolder folder;

    KeyPin(byte[] brought, MessageFolder folder) {
        this.brought = brought;
        this.folder = folder;
    }

    /**
     * The key to use now.
     *
     * @param offered what the relay gives out
     * @throws PrivateMailException KEYS as said, and when {@code offered} is no key configuration
     */
    SealKey choose(String pack, byte[] offered) throws IOException {
        List<SealKey> keys = SealKey.read(offered);
        byte[] pinned = brought != null ? brought : folder.readNote(noteOf(pack), SealKey.LONGEST);
        SealKey key = pinned == null ? keys.get(0) : SealKey.read(pinned).get(0);
        if (!keys.contains(key)) {
            throw new PrivateMailException(Status.KEYS, "the relay gives out keys without the pinned one", null);
        }
        if (pinned == null) {
            folder.writeNote(noteOf(pack), offered);
        }
        return key;
    }

    private static String noteOf(String pack) {
        return pack + ".keys";
    }
}
