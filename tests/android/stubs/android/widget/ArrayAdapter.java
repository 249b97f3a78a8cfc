// SPDX-License-Identifier: Apache-2.0
// Compile-only: the names and types of Android's class that are used here, nothing that runs.
package android.widget;

import android.content.Context;
import java.util.Collection;

public class ArrayAdapter<T> implements ListAdapter {
    public ArrayAdapter(Context context, int resource) {
        throw new UnsupportedOperationException();
    }

    public void addAll(Collection<? extends T> items) {
        throw new UnsupportedOperationException();
    }
}
