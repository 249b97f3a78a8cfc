// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.app;

import android.content.Context;
import android.os.Bundle;
import android.view.View;

public class Activity extends Context {
    protected void onCreate(Bundle savedInstanceState) {
        throw new UnsupportedOperationException();
    }

    protected void onDestroy() {
        throw new UnsupportedOperationException();
    }

    public void setContentView(View view) {
        throw new UnsupportedOperationException();
    }

    public final void runOnUiThread(Runnable action) {
        throw new UnsupportedOperationException();
    }
}
