// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/** MessageFolder: what it says is on the disk has its name there too. */
final class MessageFolderTest {
    private static final String PACK = "00112233445566778899aabbccddeeff";

    private MessageFolderTest() {}

    static void run() {
        Check.test("messages: a message's name is on the disk when it is finished", MessageFolderTest::message);
        Check.test("messages: so is a note's, and what replaces it", MessageFolderTest::note);
        Check.test("messages: a folder that cannot be flushed", MessageFolderTest::failing);
        Check.test("messages: a folder that is gone", MessageFolderTest::gone);
    }

    private static File newFolder() throws IOException {
        Path under = Paths.get(System.getProperty("privatemail.folder"));
        return Files.createTempDirectory(under, "messages \u00e9").toFile();
    }

    private static void message() throws IOException {
        File at = newFolder();
        MessageFolder folder = new MessageFolder(at);
        File begun = folder.begin();
        ScriptedFolder.watch("70686f746f-" + PACK + ".cbor"); // "photo"
        folder.finish(begun, new byte[7], "photo", PACK);
        Check.equal(7L, ScriptedFolder.flushed());
        Check.equal(1, at.list().length);
    }

    private static void note() throws IOException {
        File at = newFolder();
        MessageFolder folder = new MessageFolder(at);
        ScriptedFolder.watch(PACK + ".epoch");
        folder.writeNote(PACK + ".epoch", new byte[3]);
        Check.equal(3L, ScriptedFolder.flushed());
        folder.writeNote(PACK + ".epoch", new byte[5]);
        Check.equal(5L, ScriptedFolder.flushed());
        Check.equal(new byte[5], folder.readNote(PACK + ".epoch", 5));
        Check.equal(1, at.list().length);
    }

    private static void failing() throws IOException {
        File at = newFolder();
        MessageFolder folder = new MessageFolder(at);
        ScriptedFolder.fail();
        try {
            IOException failure = Check.throwing(IOException.class, () -> folder.writeNote("note", new byte[3]));
            Check.equal("cannot flush the folder " + at + " (errno 5)", failure.getMessage());
        } finally {
            ScriptedFolder.watch("");
        }
        folder.writeNote("note", new byte[4]);
        Check.equal(new byte[4], folder.readNote("note", 4));
    }

    private static void gone() throws IOException {
        File nowhere = new File(newFolder(), "nowhere");
        Check.throwing(IOException.class, () -> new MessageFolder(nowhere).writeNote("note", new byte[3]));
    }
}
