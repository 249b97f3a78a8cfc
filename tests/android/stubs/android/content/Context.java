// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.content;

import android.content.res.AssetManager;
import java.io.File;

public abstract class Context {
    public File getFilesDir() {
        throw new UnsupportedOperationException();
    }

    public File getNoBackupFilesDir() {
        throw new UnsupportedOperationException();
    }

    public AssetManager getAssets() {
        throw new UnsupportedOperationException();
    }
}
