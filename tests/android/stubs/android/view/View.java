// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.view;

import android.content.Context;

public class View {
    public View(Context context) {
        throw new UnsupportedOperationException();
    }
}
