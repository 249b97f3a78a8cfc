// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import android.content.SharedPreferences;
import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.IOException;
import java.util.Objects;

/**
 * A budget in Android's preferences, as hexadecimal text, committed before {@link #save} returns.
 *
 * <p>Keep the preferences out of backups: name their file in {@code android:fullBackupContent} and
 * {@code android:dataExtractionRules} as excluded, or a restored copy is spent twice. One process only; {@link
 * FileBudgetStore} keeps several apart, and needs no such rules in {@code getNoBackupFilesDir()}.
 */
public final class PreferencesBudgetStore implements BudgetStore {
    private final SharedPreferences preferences;
    private final String key;
    private String seen;

    /** {@code key} names the entry within the preferences. */
    public PreferencesBudgetStore(@NonNull SharedPreferences preferences, @NonNull String key) {
        this.preferences = Objects.requireNonNull(preferences, "preferences");
        this.key = Objects.requireNonNull(key, "key");
    }

    /** Text that is no hexadecimal is damage, not absence: it is returned as no bytes at all, which are no budget. */
    @Override
    @Nullable
    public synchronized byte[] load() throws IOException {
        seen = text();
        byte[] bytes = seen == null ? null : Hexadecimal.decode(seen);
        return seen != null && bytes == null ? new byte[0] : bytes;
    }

    /**
     * Replaces what {@link #load} or {@code save} last saw.
     *
     * @throws IOException also when the preference no longer holds that; then nothing is changed
     */
    @Override
    public synchronized void save(@NonNull byte[] bytes) throws IOException {
        synchronized (preferences) {
            if (!Objects.equals(seen, text())) {
                throw new IOException("the preference " + key + " has changed since it was read");
            }
            String changed = Hexadecimal.encode(bytes);
            if (!preferences.edit().putString(key, changed).commit()) {
                throw new IOException("the preference " + key + " could not be committed");
            }
            seen = changed;
        }
    }

    private String text() throws IOException {
        try {
            return preferences.getString(key, null);
        } catch (ClassCastException other) {
            throw new IOException("the preference " + key + " is no text", other);
        }
    }
}
