// SPDX-License-Identifier: Apache-2.0
package org.privatemail.example;

import android.app.Activity;
import android.os.Bundle;
import android.widget.ArrayAdapter;
import android.widget.ListView;
import android.widget.TextView;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.privatemail.Budget;
import org.privatemail.FileBudgetStore;
import org.privatemail.Match;
import org.privatemail.Options;
import org.privatemail.Pack;
import org.privatemail.PackSource;
import org.privatemail.PaysAgainException;
import org.privatemail.PrivateMailException;
import org.privatemail.Ranking;
import org.privatemail.Search;

/** Searches for one made-up photo when it is opened, and shows what was found. */
public final class SearchActivity extends Activity {
    private static final String SERVER = "https://search.example";
    private static final String PACK = "collection.pmpk"; // in src/main/assets; made by the command `privatemail pack`
    private static final String PACK_ID = "00000000000000000000000000000000"; // which that command printed
    private static final String MODEL = "example"; // which it was given as --model
    private static final String PHOTO = "example";
    private static final double EPSILON = 4.0;
    private static final double EPSILON_EVER = 20.0;
    /** Of the account; here there is one. */
    private static final byte[] OWNER = "example account ".getBytes(StandardCharsets.US_ASCII);

    /** All of the library and of the network: one thread, and not the main one. */
    private final ExecutorService worker = Executors.newSingleThreadExecutor();
    private Search search;
    private TextView status;
    private ArrayAdapter<String> lines;

    @Override
    protected void onCreate(Bundle savedInstanceState) {
        super.onCreate(savedInstanceState);
        status = new TextView(this);
        status.setText("Searching");
        lines = new ArrayAdapter<>(this, android.R.layout.simple_list_item_1);
        ListView list = new ListView(this);
        list.addHeaderView(status);
        list.setAdapter(lines);
        setContentView(list);
        worker.execute(this::run);
    }

    @Override
    protected void onDestroy() {
        worker.execute(() -> {
            if (search != null) {
                search.close();
            }
        });
        worker.shutdown();
        super.onDestroy();
    }

    private void run() {
        try {
            PackSource packs = new PackSource(new URL(SERVER), folder("packs"), MODEL, () -> Pack.idOf(PACK_ID));
            if (!packs.isStored()) {
                try (InputStream asset = getAssets().open(PACK)) {
                    packs.add(asset);
                }
            }
            FileBudgetStore store = new FileBudgetStore(new File(getNoBackupFilesDir(), "budget"));
            Budget budget = Budget.open(store, OWNER, Budget.Caps.of(EPSILON_EVER, 0.0, 0.0));
            search = new Search(packs, Options.response(EPSILON), budget, folder("messages"));
            if (!search.isPaid(PHOTO)) {
                search.prepare();
            }
            float[] features = features(packs.open().features());
            try {
                show(search.search(PHOTO, features, 0));
            } finally {
                Arrays.fill(features, 0);
            }
        } catch (PaysAgainException asks) {
            // A real app asks the person, and then searches with payAgain.
            tell("The collection changed. To search again costs ε = " + asks.receipt().epsilon() + " again.");
        } catch (IOException | PrivateMailException failure) {
            tell(failure.getMessage());
        }
    }

    private void tell(String text) {
        runOnUiThread(() -> status.setText(text));
    }

    private File folder(String name) throws IOException {
        File folder = new File(getFilesDir(), name);
        if (!folder.isDirectory() && !folder.mkdir()) {
            throw new IOException("cannot make " + folder);
        }
        return folder;
    }

    private void show(Ranking ranking) {
        List<String> found = new ArrayList<>();
        for (Match match : ranking.matches()) {
            found.add(String.format(Locale.ROOT, "%d  %.3f  %s", match.item(), match.score(),
                    new String(match.payload(), StandardCharsets.UTF_8)));
        }
        runOnUiThread(() -> {
            status.setText(found.size() + " found");
            lines.addAll(found);
        });
    }

    /** A real app takes them from its model. */
    private static float[] features(int count) {
        float[] features = new float[count];
        for (int i = 0; i < count; i++) {
            features[i] = i % 7 - 2.5f;
        }
        return features;
    }
}
