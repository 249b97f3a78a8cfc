// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.widget;

import android.content.Context;
import android.view.View;

public class ListView extends View {
    public ListView(Context context) {
        super(context);
    }

    public void addHeaderView(View view) {
        throw new UnsupportedOperationException();
    }

    public void setAdapter(ListAdapter adapter) {
        throw new UnsupportedOperationException();
    }
}
