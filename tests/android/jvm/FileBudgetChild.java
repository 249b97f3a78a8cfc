// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.File;
import java.io.IOException;

/** A process that spends from a file, to be killed, to be doubled, or to be refused. */
final class FileBudgetChild {
    static final double PRICE = 1.0 / 1024;

    private FileBudgetChild() {}

    public static void main(String[] arguments) {
        File file = new File(arguments[1]);
        try (Client client = new Client(Golden.pack(Golden.CLASS), Options.response(PRICE))) {
            if (arguments[0].equals("endless")) {
                endless(client, Golden.budget(new FileBudgetStore(file)));
            } else if (arguments[0].equals("some")) {
                some(client, file, Integer.parseInt(arguments[2]));
            } else {
                refused(client, Golden.budget(new FileBudgetStore(file)));
            }
        }
    }

    private static void endless(Client client, Budget budget) {
        while (true) {
            client.arm(budget);
            System.out.println(budget.remaining().epsilonSpent() + ";"); // a line without its end was not said
            client.wipe();
        }
    }

    /** Whenever another process was faster, the budget is opened anew. */
    private static void some(Client client, File file, int count) {
        Budget budget = null;
        for (int armed = 0; armed < count; ) {
            try {
                if (budget == null) {
                    budget = Golden.budget(new FileBudgetStore(file));
                }
                client.arm(budget);
                client.wipe();
                armed++;
            } catch (PrivateMailException refusal) {
                Check.equal(Status.PERSIST, refusal.status());
                Check.that(refusal.getCause() instanceof IOException, "" + refusal.getCause());
                budget = null;
            }
        }
    }

    private static void refused(Client client, Budget budget) {
        Throwable cause = Check.refuses(Status.PERSIST, () -> client.arm(budget)).getCause();
        Check.that(cause instanceof IOException, "" + cause);
        Check.equal(0.0, budget.remaining().epsilonSpent());
    }
}
