// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.util.Objects;

/**
 * Gives the app its pack: from a folder of the device, or from the server's {@code /v1/pack/ID} when the folder lacks
 * it. Which pack that is, is never the server's choice (see {@link Pin}). Whatever comes is checked against the pinned
 * id and the model's name before it is stored or used.
 */
public final class PackSource {
    /**
     * Tells which pack is to be used now: the same for <em>every</em> user of the app. A constant, which changes when
     * the app is updated, or a value of a configuration that everybody gets alike; never what a search server or an
     * account says: a pack made for one user marks that user.
     */
    public interface Pin {
        /**
         * Returns the 16 bytes of {@link Pack#id()}; {@link Pack#idOf} makes them of text. Asked at the beginning of
         * every search, and again when the server does not serve a pack, so it should have the id at hand.
         */
        @NonNull
        byte[] id() throws IOException;
    }

    private static final String TYPE = "application/octet-stream";
    private static final long LONGEST = 1L << 30;

    private final URL server;
    private final File folder;
    private final String model;
    private final Pin pin;

    /**
     * Neither reads the folder nor uses the network.
     *
     * @param server the server's address without {@code /v1}, such as {@code https://search.example}
     * @param folder keeps the packs, and must exist. It is a cache: its files may be deleted at any time, also those of
     *     packs in use. They must not be written to
     * @param model the name of the model that makes the app's features, as in {@code privatemail pack --model}, or null
     *     to accept any pack
     */
    public PackSource(@NonNull URL server, @NonNull File folder, @Nullable String model, @NonNull Pin pin) {
        this.server = server;
        this.folder = Objects.requireNonNull(folder, "folder");
        this.model = model;
        this.pin = Objects.requireNonNull(pin, "pin");
        address("");
    }

    /** Whether the folder has a file of the pinned pack, so that it need not be fetched. */
    public boolean isStored() throws IOException {
        return fileOf(pinned()).exists();
    }

    /**
     * Stores a pack that comes with the app, such as an asset.
     *
     * @param stream read to its end, not closed
     * @throws PrivateMailException as {@link Pack#open}; then nothing is stored
     */
    public void add(@NonNull InputStream stream) throws IOException {
        store(stream, null);
    }

    /**
     * Opens the pinned pack. Fetches it when the folder lacks it or has it damaged.
     *
     * @throws ServerException the server does not have it (404), or fails at every attempt
     * @throws PrivateMailException what came is not the pinned pack, or not of the app's model
     */
    @NonNull
    public Pack open() throws IOException {
        return open(pinned());
    }

    /** For ids that were pinned once, in hexadecimal digits. */
    Pack open(String id) throws IOException {
        File file = fileOf(id);
        if (file.exists()) {
            try {
                return map(file, id);
            } catch (PrivateMailException unusable) {
                if (unusable.status() == Status.PACK_MODEL) {
                    throw unusable; // the right file: another copy would be of the same model
                }
            }
        }
        return Exchange.get(address("/v1/pack/" + id), TYPE, stream -> store(stream, id));
    }

    /** The pinned id in hexadecimal digits. */
    String pinned() throws IOException {
        byte[] id = pin.id();
        Pack.requireId(id);
        return Hexadecimal.encode(id);
    }

    URL address(String path) {
        return Exchange.address(server, path);
    }

    private File fileOf(String id) {
        return new File(folder, id + ".pmpk");
    }

    /** A file gets its name when it is complete and checked: files with such names are mapped, and never written to. */
    private Pack store(InputStream stream, String id) throws IOException {
        File incomplete = File.createTempFile("incomplete", null, folder);
        try {
            copy(stream, incomplete);
            Pack pack = map(incomplete, id);
            File file = fileOf(Hexadecimal.encode(pack.id()));
            if (!incomplete.renameTo(file)) {
                throw new IOException("cannot store the pack as " + file);
            }
            return pack;
        } finally {
            incomplete.delete();
        }
    }

    private static void copy(InputStream in, File file) throws IOException {
        byte[] piece = new byte[1 << 16];
        long size = 0;
        try (FileOutputStream out = new FileOutputStream(file)) {
            for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
                size += count;
                if (size > LONGEST) {
                    throw new PrivateMailException(Status.PACK_SIZE, "longer than " + LONGEST + " bytes", null);
                }
                out.write(piece, 0, count);
            }
            out.getFD().sync();
        }
    }

    private Pack map(File file, String id) throws IOException {
        ByteBuffer bytes;
        try (RandomAccessFile open = new RandomAccessFile(file, "r")) {
            bytes = open.getChannel().map(MapMode.READ_ONLY, 0, open.length());
        }
        return Pack.open(bytes, id == null ? null : Pack.idOf(id), model);
    }
}
