// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import android.content.SharedPreferences;
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
    private static final String DIGITS = "0123456789abcdef";

    private final SharedPreferences preferences;
    private final String key;
    private String seen;

    /** {@code key} names the entry within the preferences. */
    public PreferencesBudgetStore(SharedPreferences preferences, String key) {
        this.preferences = Objects.requireNonNull(preferences, "preferences");
        this.key = Objects.requireNonNull(key, "key");
    }

    /** Text that is no hexadecimal is damage, not absence: it is answered as no bytes at all, which are no budget. */
    @Override
    public synchronized byte[] load() throws IOException {
        seen = text();
        return seen == null ? null : decode(seen);
    }

    /**
     * Replaces what {@link #load} or {@code save} last saw.
     *
     * @throws IOException also when the preference no longer holds that; then nothing is changed
     */
    @Override
    public synchronized void save(byte[] bytes) throws IOException {
        synchronized (preferences) {
            if (!Objects.equals(seen, text())) {
                throw new IOException("the preference " + key + " has changed since it was read");
            }
            String changed = encode(bytes);
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

    private static String encode(byte[] bytes) {
        StringBuilder text = new StringBuilder(2 * bytes.length);
        for (byte one : bytes) {
            text.append(DIGITS.charAt(one >> 4 & 15)).append(DIGITS.charAt(one & 15));
        }
        return text.toString();
    }

    private static byte[] decode(String text) {
        if (text.length() % 2 != 0) {
            return new byte[0];
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            int high = DIGITS.indexOf(text.charAt(2 * i));
            int low = DIGITS.indexOf(text.charAt(2 * i + 1));
            if (high < 0 || low < 0) {
                return new byte[0];
            }
            bytes[i] = (byte) (high << 4 | low);
        }
        return bytes;
    }
}
