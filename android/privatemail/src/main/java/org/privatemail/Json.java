// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Single members of the small flat objects that a relay sends. Not a parser: who reads a member checks its range. */
final class Json {
    private Json() {}

    /** A number below 10^15 that is not negative; -1 when there is none. */
    static double number(String object, String member) {
        String found = find(object, member, "([0-9]{1,15}(?:\\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?)\\s*[,}]");
        return found == null ? -1 : Double.parseDouble(found);
    }

    /** The text of a member; empty when there is none. */
    static String text(String object, String member) {
        String found = find(object, member, "\"([0-9A-Za-z_]*)\"");
        return found == null ? "" : found;
    }

    private static String find(String object, String member, String value) {
        Matcher matcher = Pattern.compile("\"" + member + "\"\\s*:\\s*" + value).matcher(object);
        return matcher.find() ? matcher.group(1) : null;
    }
}
