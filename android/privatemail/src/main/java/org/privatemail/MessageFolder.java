// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The messages that a {@link Search} made, as PHOTO-PACK.cbor, both in hexadecimal digits, because names of photos have
 * any characters. A file gets its name when it is complete, and is never changed afterwards. Beside them lie notes,
 * such as PACK.keys, which are replaced as a whole.
 */
final class MessageFolder {
    private static final int LONGEST_PHOTO = 100; // bytes: twice as many digits still are a file's name
    private static final int LONGEST_MESSAGE = 1 << 16;
    private static final String SUFFIX = ".cbor";

    private final File folder;

    MessageFolder(File folder) {
        this.folder = folder;
    }

    /** The ids of the packs that a message of this photo was made with. */
    List<String> packsOf(String photo) throws IOException {
        String[] names = folder.list();
        if (names == null) {
            throw new IOException("cannot read the folder " + folder);
        }
        Arrays.sort(names);
        String start = digits(photo) + "-";
        List<String> packs = new ArrayList<>();
        for (String name : names) {
            if (name.startsWith(start) && name.substring(start.length()).matches("[0-9a-f]{32}\\.cbor")) {
                packs.add(name.substring(start.length(), name.length() - SUFFIX.length()));
            }
        }
        return packs;
    }

    byte[] read(String photo, String pack) throws IOException {
        return read(fileOf(photo, pack), LONGEST_MESSAGE);
    }

    private static byte[] read(File file, int longest) throws IOException {
        if (file.length() > longest) {
            throw new IOException(file + " is too long");
        }
        byte[] bytes = new byte[(int) file.length()];
        try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
            in.readFully(bytes);
        }
        return bytes;
    }

    /** Makes the file of a message that is yet to be made: when this fails, nothing is lost. */
    File begin() throws IOException {
        return File.createTempFile("incomplete", null, folder);
    }

    /** Returns when the message is on the disk, and its name too. */
    void finish(File begun, byte[] message, String photo, String pack) throws IOException {
        finish(begun, message, fileOf(photo, pack));
    }

    private static void finish(File begun, byte[] bytes, File file) throws IOException {
        try (FileOutputStream out = new FileOutputStream(begun)) {
            out.write(bytes);
            out.getFD().sync();
        }
        if (!begun.renameTo(file)) {
            throw new IOException("cannot store " + file);
        }
        flush(file.getAbsoluteFile().getParentFile());
    }

    /** Without this a power failure brings old names back: the message would be gone, the note the one before. */
    private static void flush(File folder) throws IOException {
        int error = Native.folderFlush(folder.getPath().getBytes(StandardCharsets.UTF_8));
        if (error != 0) {
            throw new IOException("cannot flush the folder " + folder + " (errno " + error + ")");
        }
    }

    /** What {@link #writeNote} wrote last; null when there is none. A note is about a pack, not about a photo. */
    byte[] readNote(String name, int longest) throws IOException {
        File file = new File(folder, name);
        return file.exists() ? read(file, longest) : null;
    }

    /** Returns when the note is on the disk, and its name too. */
    void writeNote(String name, byte[] bytes) throws IOException {
        File begun = begin();
        try {
            finish(begun, bytes, new File(folder, name));
        } finally {
            begun.delete();
        }
    }

    void remove(String photo) throws IOException {
        for (String pack : packsOf(photo)) {
            File file = fileOf(photo, pack);
            if (!file.delete()) {
                throw new IOException("cannot delete " + file);
            }
        }
    }

    private File fileOf(String photo, String pack) {
        return new File(folder, digits(photo) + "-" + pack + SUFFIX);
    }

    private static String digits(String photo) {
        byte[] bytes = photo.getBytes(StandardCharsets.UTF_8);
        if (bytes.length < 1 || bytes.length > LONGEST_PHOTO) {
            throw new IllegalArgumentException("a photo's name has 1 to " + LONGEST_PHOTO + " bytes");
        }
        return Hexadecimal.encode(bytes);
    }
}
