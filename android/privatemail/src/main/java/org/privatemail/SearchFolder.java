// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.DataInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a {@link Search} keeps: packs as ID.pmpk and messages as PHOTO-ID.cbor, both in hexadecimal digits, because names
 * of photos have any characters. A file gets its name when it is complete; it is never written to afterwards, since
 * packs are mapped.
 */
final class SearchFolder {
    private static final int LONGEST_PHOTO = 100; // bytes: with two digits each they still are a file's name
    private static final int LONGEST_MESSAGE = 1 << 16;
    private static final long LONGEST_PACK = 1L << 30;
    private static final String PACK = ".pmpk";
    private static final String MESSAGE = ".cbor";

    private final File folder;
    private final String model;

    /** {@code model} is demanded of every pack; null to accept any. */
    SearchFolder(File folder, String model) {
        this.folder = folder;
        this.model = model;
    }

    // ---- packs ----

    boolean hasPack(String id) {
        return new File(folder, id + PACK).exists();
    }

    /** Returns null when the folder does not have the pack, or has it damaged. */
    Pack openPack(String id) throws IOException {
        if (!hasPack(id)) {
            return null;
        }
        try {
            return map(new File(folder, id + PACK), id);
        } catch (PrivateMailException unusable) {
            if (unusable.status() == Status.PACK_MODEL) {
                throw unusable; // the right file: another copy would be of the same model
            }
            return null;
        }
    }

    /** {@code id} is null when any pack will do. Packs that no message was made with are removed. */
    Pack storePack(InputStream in, String id) throws IOException {
        File incomplete = File.createTempFile("incomplete", null, folder);
        try {
            copy(in, incomplete);
            Pack pack = map(incomplete, id);
            String name = Hexadecimal.encode(pack.id()) + PACK;
            rename(incomplete, name);
            removeUnused(name);
            return pack;
        } finally {
            incomplete.delete();
        }
    }

    private Pack map(File file, String id) throws IOException {
        ByteBuffer bytes;
        try (RandomAccessFile open = new RandomAccessFile(file, "r")) {
            bytes = open.getChannel().map(MapMode.READ_ONLY, 0, open.length());
        }
        return Pack.open(bytes, id == null ? null : Pack.idOf(id), model);
    }

    private static void copy(InputStream in, File file) throws IOException {
        byte[] piece = new byte[1 << 16];
        long size = 0;
        try (FileOutputStream out = new FileOutputStream(file)) {
            for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
                size += count;
                if (size > LONGEST_PACK) {
                    throw new PrivateMailException(Status.PACK_SIZE, "longer than " + LONGEST_PACK + " bytes", null);
                }
                out.write(piece, 0, count);
            }
            out.getFD().sync();
        }
    }

    private void removeUnused(String kept) throws IOException {
        List<String> names = names();
        for (String name : names) {
            if (name.endsWith(PACK) && !name.equals(kept)) {
                String end = "-" + name.substring(0, name.length() - PACK.length()) + MESSAGE;
                boolean used = false;
                for (String other : names) {
                    used |= other.endsWith(end);
                }
                if (!used) {
                    new File(folder, name).delete();
                }
            }
        }
    }

    // ---- messages ----

    /** The ids of the packs that a message of this photo was made with. */
    List<String> packsOf(String photo) throws IOException {
        String start = digits(photo) + "-";
        List<String> packs = new ArrayList<>();
        for (String name : names()) {
            if (name.startsWith(start) && name.endsWith(MESSAGE)) {
                packs.add(name.substring(start.length(), name.length() - MESSAGE.length()));
            }
        }
        return packs;
    }

    byte[] message(String photo, String pack) throws IOException {
        File file = new File(folder, nameOf(photo, pack));
        if (file.length() > LONGEST_MESSAGE) {
            throw new IOException(file + " is not a message");
        }
        byte[] message = new byte[(int) file.length()];
        try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
            in.readFully(message);
        }
        return message;
    }

    /** Makes a file for a message that is to be made: when this fails, nothing is lost yet. */
    File beginMessage() throws IOException {
        return File.createTempFile("incomplete", null, folder);
    }

    /** Returns when the message is on the disk. */
    void storeMessage(File begun, byte[] message, String photo, String pack) throws IOException {
        try (FileOutputStream out = new FileOutputStream(begun)) {
            out.write(message);
            out.getFD().sync();
        }
        rename(begun, nameOf(photo, pack));
    }

    void removeMessages(String photo) throws IOException {
        for (String pack : packsOf(photo)) {
            new File(folder, nameOf(photo, pack)).delete();
        }
    }

    private static String nameOf(String photo, String pack) {
        return digits(photo) + "-" + pack + MESSAGE;
    }

    static String digits(String photo) {
        byte[] bytes = photo.getBytes(StandardCharsets.UTF_8);
        if (bytes.length < 1 || bytes.length > LONGEST_PHOTO) {
            throw new IllegalArgumentException("a photo's name has 1 to " + LONGEST_PHOTO + " bytes");
        }
        return Hexadecimal.encode(bytes);
    }

    // ---- both ----

    private List<String> names() throws IOException {
        String[] names = folder.list();
        if (names == null) {
            throw new IOException("cannot read the folder " + folder);
        }
        Arrays.sort(names);
        return Arrays.asList(names);
    }

    private void rename(File file, String name) throws IOException {
        if (!file.renameTo(new File(folder, name))) {
            throw new IOException("cannot store " + new File(folder, name));
        }
    }
}
