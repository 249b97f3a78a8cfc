// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.IOException;

/**
 * The epoch has not ended within the time that the {@link Relay} allows to wait: too few people ask at present. The
 * drawn cell of the photo is kept, so searching again later waits on, or sends it again without paying the floor.
 */
public final class CrowdNotFilledException extends IOException {
    private static final long serialVersionUID = 1;

    CrowdNotFilledException() {
        super("the crowd is not filled: search again later");
    }
}
