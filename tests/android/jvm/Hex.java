// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

/** Bytes and numbers as tests/golden/vectors.txt writes them. */
final class Hex {
    private Hex() {}

    static byte[] bytes(String text) {
        byte[] out = new byte[text.length() / 2];
        for (int i = 0; i < out.length; i++) {
            out[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return out;
    }

    static float[] floats(String text) {
        float[] out = new float[text.length() / 8];
        for (int i = 0; i < out.length; i++) {
            out[i] = Float.intBitsToFloat(Integer.parseUnsignedInt(text.substring(8 * i, 8 * i + 8), 16));
        }
        return out;
    }

    static String of(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
