// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import androidx.annotation.NonNull;
import androidx.annotation.Nullable;
import java.net.InetAddress;
import java.net.URL;
import java.net.UnknownHostException;

/**
 * A relay that mixes the messages of a crowd: where it is, which keys messages are sealed for, and how long to wait. An
 * immutable value: {@link #at}, then what differs from the defaults.
 *
 * <pre>{@code Relay.at(new URL("https://relay.example")).keys(configuration).longest(600)}</pre>
 */
public final class Relay {
    private final URL address;
    private final byte[] keys;
    private final long longest;

    private Relay(URL address, byte[] keys, long longest) {
        this.address = address;
        this.keys = keys;
        this.longest = longest;
    }

    /**
     * A relay whose keys are those that it gives out itself when they are first asked for.
     *
     * @param address the relay's address without {@code /v1}: https, or http on this very machine
     */
    @NonNull
    public static Relay at(@NonNull URL address) {
        Exchange.address(address, "");
        if (!address.getProtocol().equals("https") && !isThisMachine(address.getHost())) {
            throw new IllegalArgumentException("the address of a relay begins with https://");
        }
        return new Relay(address, null, 0);
    }

    /**
     * The gateway's key configuration ({@code application/ohttp-keys}), brought by the way that the pack's id came:
     * the same for <em>every</em> user of the app. Without it a relay that lies at the very first time could read the
     * messages.
     *
     * @throws PrivateMailException KEYS when it has no key that can be used
     */
    @NonNull
    public Relay keys(@NonNull byte[] configuration) {
        SealKey.read(configuration);
        return new Relay(address, configuration.clone(), longest);
    }

    /** How many seconds a search waits for its epoch, at least 1. Ten epochs unless said otherwise. */
    @NonNull
    public Relay longest(long seconds) {
        if (seconds < 1) {
            throw new IllegalArgumentException("a search waits for at least 1 second, not " + seconds);
        }
        return new Relay(address, keys, seconds);
    }

    @NonNull
    public URL address() {
        return address;
    }

    /** The configuration that the app brought, or null. */
    @Nullable
    byte[] keys() {
        return keys;
    }

    /** Seconds; 0 when nothing was said. */
    long longest() {
        return longest;
    }

    /** Looks at the name alone when it is one: nobody is asked about it. */
    private static boolean isThisMachine(String host) {
        if (host.equals("localhost")) {
            return true;
        }
        try {
            boolean number = host.matches("[0-9.]+|\\[[0-9a-fA-F:]+\\]");
            return number && InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException impossible) {
            return false;
        }
    }
}
