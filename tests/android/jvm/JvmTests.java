// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;

/** Runs the groups of tests that are named on the command line. */
final class JvmTests {
    private JvmTests() {}

    public static void main(String[] groups) throws Exception {
        for (String group : groups) {
            switch (group) {
                case "calls":
                    GoldenTest.run();
                    RefusalTest.run();
                    StoreTest.run();
                    AnswerTest.run();
                    CloseTest.run();
                    ArmingTest.run();
                    CrowdTest.run();
                    ModalityTest.run();
                    HeadTest.run();
                    SketchTest.run();
                    SealTest.run();
                    Check.test("every status that a call can have was seen", RefusalTest::everyStatusWasSeen);
                    break;
                case "threads":
                    ThreadTest.run();
                    break;
                case "files":
                    BudgetFileTest.run();
                    MessageFolderTest.run();
                    break;
                case "relay":
                    ExchangeTest.run();
                    RelayTest.run();
                    break;
                case "memory":
                    FlatMemoryTest.run();
                    break;
                case "shipped":
                    Check.test("the library as it is shipped, with the system's entropy", JvmTests::shipped);
                    break;
                default:
                    throw new IllegalArgumentException(group);
            }
        }
        System.exit(Check.summary());
    }

    /** Two releases of one query, at an ε that makes equal bytes a matter of 2^-60. */
    private static void shipped() throws Exception {
        Check.throwing(UnsatisfiedLinkError.class, ScriptedEntropy::count);
        Pack pack = Golden.pack(Golden.RESPONSE_ONLY);
        float[] features = Golden.features(pack);
        Budget budget = Golden.budget();
        try (Client client = new Client(pack, Options.response(0.001).substitute(true))) {
            StringBuilder first = new StringBuilder();
            StringBuilder second = new StringBuilder();
            for (int i = 0; i < 100; i++) {
                client.arm(budget);
                (i % 2 == 0 ? first : second).append(Hex.of(client.release(features, 0).bytes()));
            }
            Check.that(!first.toString().equals(second.toString()), "the noise repeats");
        }
        Pack ranked = Golden.pack(Golden.CLASS);
        try (Client client = new Client(ranked, Options.gaussian(1.0, 1e-5))) {
            client.arm(budget);
            client.release(Golden.direct(Golden.features(ranked)), Golden.LABEL);
            Check.equal(8, client.answer(new ByteArrayInputStream(Golden.answerBytes()), Golden.features(ranked),
                    Golden.LABEL, Client.Scope.ALL_SLOTS, 8).matches().size());
        }
    }
}
