// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

/** Bytes as text of lower-case hexadecimal digits, as ids are written in addresses and files. */
final class Hexadecimal {
    private static final String DIGITS = "0123456789abcdef";

    private Hexadecimal() {}

    static String encode(byte[] bytes) {
        StringBuilder text = new StringBuilder(2 * bytes.length);
        for (byte one : bytes) {
            text.append(DIGITS.charAt(one >> 4 & 15)).append(DIGITS.charAt(one & 15));
        }
        return text.toString();
    }

    /** Returns null when the text is anything else. */
    static byte[] decode(String text) {
        if (text.length() % 2 != 0) {
            return null;
        }
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            int high = DIGITS.indexOf(text.charAt(2 * i));
            int low = DIGITS.indexOf(text.charAt(2 * i + 1));
            if (high < 0 || low < 0) {
                return null;
            }
            bytes[i] = (byte) (high << 4 | low);
        }
        return bytes;
    }
}
