// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.content;

public interface SharedPreferences {
    String getString(String key, String defaultValue);

    Editor edit();

    interface Editor {
        Editor putString(String key, String value);

        boolean commit();
    }
}
