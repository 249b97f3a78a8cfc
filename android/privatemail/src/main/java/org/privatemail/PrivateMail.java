// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;

/**
 * Search a remote collection without revealing what you look for.
 *
 * <pre>{@code
 * Pack pack = Pack.open(mappedFile, pinnedId);                     // public; device and server hold the same one
 * Budget budget = Budget.open(new FileBudgetStore(new File(context.getNoBackupFilesDir(), "budget")),
 *                             owner, Budget.Caps.of(20.0, 0.0, 0.0));
 * try (Client client = new Client(pack, Options.response(4.0))) {
 *     client.arm(budget);                                          // pays, draws the randomness: early, when idle
 *     Release release = client.release(features, label);           // the private part
 *     send(release.bytes());                                       // when the network fails: the same bytes again
 *     Ranking ranking = client.answer(stream, features, label, Client.Scope.OWN_SLOT, 8);
 * }
 * }</pre>
 *
 * Rules that privacy rests on:
 *
 * <ul>
 *   <li><b>One arm, one release.</b> {@code arm} pays; the first release uses it up. Nothing here copies an armed
 *       client but a fork of the process: do not fork while one is armed.
 *   <li><b>Resend bytes.</b> When the network fails, send the same bytes again: that is free. Never make a second
 *       release because the first was lost, and never choose among several.
 *   <li><b>Keep the bytes.</b> Store the release of a photo and reuse it: n releases about one photo cost n times ε.
 *   <li><b>Nothing afterwards.</b> What the app fetches, logs or shows to others after {@code answer} must not depend
 *       on what was found: the payload carries what is shown.
 *   <li><b>ε and δ are yours.</b> They come from the app, never from the pack.
 * </ul>
 *
 * Conventions: {@code @Nullable} and {@code @NonNull} say of every argument and result whether it may be null; a null
 * that may not be leads to a {@link NullPointerException}. Buffers that cannot be used (not direct, wrong byte order)
 * and numbers that no call takes are {@link IllegalArgumentException}; a closed client is
 * {@link IllegalStateException}; a network or a server that fails is an {@link java.io.IOException}; everything else
 * that goes wrong is a {@link PrivateMailException} with a {@link Status}. All classes may be used by any thread.
 */
public final class PrivateMail {
    private PrivateMail() {}

    /** The version of the native library, such as {@code "0.9.0"}. */
    @NonNull
    public static String version() {
        return Native.version();
    }

    /**
     * The best chance that any ε-private method has to bring the right cell when the answer carries the share
     * {@code share} of the gallery. NaN for arguments out of range (ε 0 to 64, share 0 to 1).
     */
    public static double curve(double epsilon, double share) {
        return Native.curve(epsilon, share);
    }

    /**
     * The ε that reaches the chance {@code probability} at {@code share}, rounded up. NaN unless both are strictly
     * between 0 and 1 and {@code probability} is not below {@code share}.
     */
    public static double curveEpsilon(double share, double probability) {
        return Native.curveEpsilon(share, probability);
    }
}
