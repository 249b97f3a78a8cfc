// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A budget in a file that survives crashes: a charge is written to a new file beside it ({@code NAME.new}), flushed to
 * the disk, and renamed over the old one. A third file ({@code NAME.lock}, empty) keeps processes apart; when another
 * one spent meanwhile, {@link #save} refuses.
 *
 * <p>On Android put it into {@code Context.getNoBackupFilesDir()}: a budget that a backup puts back is spent twice. The
 * folder must exist. The file must be one of its own, no link and without a second name.
 */
public final class FileBudgetStore implements BudgetStore {
    private static final int LONGEST = 112;

    private final File file;
    private byte[] seen;

    public FileBudgetStore(@NonNull File file) {
        if (file.getPath().indexOf('\0') >= 0 || file.getName().isEmpty()) {
            throw new IllegalArgumentException("not the path of a file: " + file);
        }
        this.file = file.getAbsoluteFile();
    }

    @Override
    @Nullable
    public synchronized byte[] load() throws IOException {
        byte[] bytes = new byte[LONGEST + 1]; /* one more, so that a longer file does not pass for a budget */
        int count = Native.fileLoad(folder(), name(), bytes);
        if (count < 0 && !Native.fileIsMissing(-count)) {
            throw failure("read", -count);
        }
        seen = count < 0 ? null : Arrays.copyOf(bytes, count);
        return seen == null ? null : seen.clone();
    }

    /**
     * Replaces what {@link #load} or {@code save} last saw.
     *
     * @throws IOException also when the file no longer holds that; then nothing is changed
     */
    @Override
    public synchronized void save(@NonNull byte[] bytes) throws IOException {
        int error = Native.fileReplace(folder(), name(), seen, bytes);
        if (error != 0) {
            throw failure("replace", error);
        }
        seen = bytes.clone();
    }

    private byte[] folder() {
        return bytes(file.getParent());
    }

    private byte[] name() {
        return bytes(file.getName());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private IOException failure(String what, int error) {
        return new IOException("cannot " + what + " " + file + ": " + Native.errorText(error)
                + " (errno " + error + ")");
    }
}
