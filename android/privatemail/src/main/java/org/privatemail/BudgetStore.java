// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.IOException;

/**
 * Where a {@link Budget} is kept: {@link FileBudgetStore}, {@link PreferencesBudgetStore}, or your own.
 *
 * <p>Promises of an implementation:
 *
 * <ul>
 *   <li>{@code load} answers what the last successful {@code save} stored.
 *   <li>{@code save} returns only when the bytes are durable; when it fails it throws, and at best has changed nothing.
 *       A crash at any moment leaves either the old bytes or the new ones.
 *   <li>It is out of reach of backups: a copy put back spends again what was spent since.
 *   <li>Neither method calls the library: every such call from inside a store is answered with {@link Status#STATE}.
 *       Nor does it wait for another thread that does; that would wait for ever.
 * </ul>
 *
 * Both methods are called while the budget's lock and the store's own monitor are held, so calls never overlap.
 * Do not hold the store's monitor when you call the library.
 */
public interface BudgetStore {
    /** The stored bytes, or null when nothing was ever stored. Damaged bytes are handed out as they are. */
    @Nullable
    byte[] load() throws IOException;

    /** Stores the bytes of a budget. The array is the callee's. */
    void save(@NonNull byte[] bytes) throws IOException;
}
