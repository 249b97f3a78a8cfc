// SPDX-License-Identifier: Apache-2.0
package org.privatemail;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.spec.AlgorithmParameterSpec;
import java.util.Arrays;
import java.util.Random;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;

/** Seals: the vectors of RFC 9180 and RFC 9458, key configurations, messages of an epoch, answers that lie. */
final class SealTest {
    private static final byte[] PACK = Hex.bytes("000102030405060708090a0b0c0d0e0f");
    private static final long EPOCH = 0x665f1a2bL;
    private static final byte[] RELEASE = new byte[46];
    private static final byte[] EPHEMERAL =
            Hex.bytes("f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600");
    private static final byte[] OTHER =
            Hex.bytes("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73");

    /** The cipher of RFC 9458's example, which messages of an epoch never use. */
    private static final JavaCrypto.Aead AES_128_GCM = new JavaCrypto.Aead(1, 16, "AES/GCM/NoPadding", "AES") {
        @Override
        AlgorithmParameterSpec parameters(byte[] nonce) {
            return new GCMParameterSpec(128, nonce);
        }
    };

    private static final Random RANDOM = new Random(16);

    private SealTest() {}

    static void run() {
        Check.test("seal: RFC 9180 A.2.1", SealTest::hpke);
        Check.test("seal: RFC 9458 Appendix A", SealTest::oblivious);
        Check.test("seal: points of small order", SealTest::smallOrder);
        Check.test("seal: key configurations", SealTest::keys);
        Check.test("seal: key configurations that are none", SealTest::badKeys);
        for (Sealer sealer : SEALERS) {
            String name = "seal: " + sealer.getClass().getSimpleName() + ": ";
            Check.test(name + "golden messages and answers", () -> golden(sealer));
            Check.test(name + "a message of an epoch", () -> message(sealer));
            Check.test(name + "answers of all lengths", () -> answers(sealer));
            Check.test(name + "answers cut, joined, and of another length", () -> cutAnswers(sealer));
            Check.test(name + "every flipped bit of an answer", () -> flippedBits(sealer));
            Check.test(name + "answers whose plaintext lies", () -> lyingAnswers(sealer));
        }
    }

    private static final Sealer[] SEALERS = {new JavaSealer(), new NativeSealer()};

    // ---- the RFCs ----

    private static void hpke() throws GeneralSecurityException {
        byte[] receiver = Hex.bytes("4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a");
        byte[] plain = Hpke.ascii("Beauty is truth, truth beauty");
        Hpke context = new Hpke(JavaCrypto.Aead.CHACHA20_POLY1305, receiver, Hpke.ascii("Ode on a Grecian Urn"),
                EPHEMERAL);
        equal("1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a", context.encapsulated());
        equal("ad2744de8e17f4ebba575b3f5f5a8fa1f69c2a07f6e7500bc60ca6e3e3ec1c91", context.key);
        equal("5c4d98150661b848853b547f", context.nonce);
        equal("1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
                context.seal(0, Hpke.ascii("Count-0"), plain));
        equal("6b53c051e4199c518de79594e1c4ab18b96f081549d45ce015be002090bb119e85285337cc95ba5f59992dc98c",
                context.seal(1, Hpke.ascii("Count-1"), plain));
        equal("71146bd6795ccc9c49ce25dda112a48f202ad220559502cef1f34271e0cb4b02b4f10ecac6f48c32f878fae86b",
                context.seal(2, Hpke.ascii("Count-2"), plain));
        equal("4bbd6243b8bb54cec311fac9df81841b6fd61f56538a775e7c80a9f40160606e", context.export(new byte[0], 32));
        equal("8c1df14732580e5501b00f82b10a1647b40713191b7c1240ac80e2b68808ba69", context.export(new byte[1], 32));
        equal("5acb09211139c43b3090489a9da433e8a30ee7188ba8b0a9a1ccf0c229283e53",
                context.export(Hpke.ascii("TestContext"), 32));
        context.wipe();
        equal("00".repeat(32), context.key);
    }

    private static void oblivious() throws GeneralSecurityException {
        byte[] secret = Hex.bytes("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a");
        byte[] receiver = JavaCrypto.publicKey(secret);
        byte[] configuration = Hex.bytes("002d01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e798155"
                + "00080001000100010003");
        Check.equal(new SealKey((byte) 1, receiver), SealKey.read(configuration).get(0));
        byte[] header = Hex.bytes("01002000010001");
        byte[] ephemeral = Hex.bytes("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73");
        Hpke context = new Hpke(AES_128_GCM, receiver, JavaCrypto.join(Hpke.ascii("message/bhttp request\0"), header),
                ephemeral);
        byte[] request = Hex.bytes("00034745540568747470730b6578616d706c652e636f6d012f");
        equal("010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c5"
                + "94d2a10c695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525",
                JavaCrypto.join(header, context.encapsulated(), context.seal(0, new byte[0], request)));
        byte[] nonce = Hex.bytes("c789e7151fcba46158ca84b04464910d");
        byte[] pseudorandom = JavaCrypto.extract(JavaCrypto.join(context.encapsulated(), nonce),
                context.export(Hpke.ascii("message/bhttp response"), 16));
        byte[] sealed = AES_128_GCM.run(Cipher.ENCRYPT_MODE,
                JavaCrypto.expand(pseudorandom, 16, Hpke.ascii("key")),
                JavaCrypto.expand(pseudorandom, 12, Hpke.ascii("nonce")), new byte[0], Hex.bytes("0140c8"), 0, 3);
        equal("86f9013e404feea014e7be4a441f234f857fbd", sealed);
    }

    /** The points of order 1, 2, 4 and 8, and their other encodings. */
    private static void smallOrder() {
        String[] points = {"00".repeat(32), "01" + "00".repeat(31),
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157", "ec" + "ff".repeat(30) + "7f",
            "ed" + "ff".repeat(30) + "7f", "ee" + "ff".repeat(30) + "7f"};
        for (String point : points) {
            Check.throwing(InvalidKeyException.class, () -> JavaCrypto.x25519(EPHEMERAL, Hex.bytes(point)));
            for (Sealer sealer : SEALERS) {
                Check.refuses(Status.KEYS, () -> sealer.seal(new SealKey((byte) 1, Hex.bytes(point)), EPOCH, PACK,
                        RELEASE, EPHEMERAL));
            }
        }
    }

    // ---- key configurations ----

    private static byte[] configuration(int id, int kem, int keySize, int... algorithms) {
        byte[] out = new byte[2 + 1 + 2 + keySize + 2 + 2 * algorithms.length];
        System.arraycopy(Hpke.pair(out.length - 2), 0, out, 0, 2);
        out[2] = (byte) id;
        System.arraycopy(Hpke.pair(kem), 0, out, 3, 2);
        Arrays.fill(out, 5, 5 + keySize, (byte) id);
        System.arraycopy(Hpke.pair(2 * algorithms.length), 0, out, 5 + keySize, 2);
        for (int i = 0; i < algorithms.length; i++) {
            System.arraycopy(Hpke.pair(algorithms[i]), 0, out, 7 + keySize + 2 * i, 2);
        }
        return out;
    }

    private static final byte[] USUAL = configuration(7, 0x20, 32, 1, 3, 1, 1);

    private static void keys() {
        Check.equal(1, SealKey.read(USUAL).size());
        Check.equal((byte) 7, SealKey.read(USUAL).get(0).id);
        byte[] others = JavaCrypto.join(configuration(1, 0x10, 65, 1, 3), configuration(2, 0x20, 32, 1, 1),
                configuration(3, 0x20, 32, 2, 3), configuration(255, 0x20, 32, 1, 1, 1, 3), USUAL);
        Check.equal(2, SealKey.read(others).size());
        Check.equal((byte) 255, SealKey.read(others).get(0).id);
        Check.that(!SealKey.read(others).get(0).equals(SealKey.read(others).get(1)), "two keys are one");
        equal("07002000010003", SealKey.read(USUAL).get(0).header());
    }

    private static void badKeys() {
        byte[][] bad = {configuration(1, 0x20, 31, 1, 3), configuration(1, 0x20, 32), configuration(1, 0x20, 32, 1),
            configuration(1, 0x20, 32, 1, 1), new byte[2], new byte[SealKey.LONGEST + 1],
            JavaCrypto.join(USUAL, new byte[1]), JavaCrypto.join(USUAL, new byte[3])};
        for (byte[] one : bad) {
            Check.refuses(Status.KEYS, () -> SealKey.read(one));
        }
        for (int size = 0; size < USUAL.length; size++) {
            byte[] part = Arrays.copyOf(USUAL, size);
            Check.refuses(Status.KEYS, () -> SealKey.read(part));
        }
        for (int i = 0; i < 100_000; i++) { // nothing but a refusal, whatever the bytes are
            byte[] changed = JavaCrypto.join(USUAL, USUAL);
            for (int j = RANDOM.nextInt(4); j >= 0; j--) {
                changed[RANDOM.nextInt(changed.length)] = (byte) RANDOM.nextInt();
            }
            try {
                SealKey.read(changed);
            } catch (PrivateMailException refusal) {
                Check.equal(Status.KEYS, refusal.status());
            }
        }
    }

    // ---- messages ----

    private static SealGateway gateway() throws GeneralSecurityException {
        return new SealGateway(9, Hex.bytes("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb"));
    }

    private static void message(Sealer sealer) throws GeneralSecurityException {
        SealGateway gateway = gateway();
        for (int size : new int[] {1, 46, 63, 64, 300}) {
            byte[] release = new byte[size];
            RANDOM.nextBytes(release);
            byte[] message = sealer.seal(gateway.key, EPOCH, PACK, release, EPHEMERAL).message;
            Check.equal(size + Sealer.OVERHEAD + (size < 64 ? 0 : 1), message.length);
            equal("09002000010003", Arrays.copyOf(message, 7));
            byte[] request = gateway.open(message, EPOCH, PACK).request;
            String wanted = "00" + "04504f5354" + "056874747073" + "00" + "092f76312f7175657279" + "17" + "0565706f6368"
                    + "10" + Hex.of(Hpke.ascii("00000000665f1a2b")) + (size < 64 ? String.format("%02x", size)
                    : String.format("%04x", size | 0x4000)) + Hex.of(release) + "00";
            equal(wanted, request);
            Check.throwing(AEADBadTagException.class, () -> gateway.open(message, EPOCH + 1, PACK));
            Check.throwing(AEADBadTagException.class, () -> gateway.open(message, EPOCH, new byte[16]));
            for (int i = 0; i < 8 * message.length; i++) {
                byte[] changed = message.clone();
                changed[i / 8] ^= (byte) (1 << i % 8);
                Check.throwing(AEADBadTagException.class, () -> gateway.open(changed, EPOCH, PACK));
            }
            Check.that(!Arrays.equals(message, sealer.seal(gateway.key, EPOCH, PACK, release, OTHER).message),
                    "two ephemeral keys make one message");
        }
    }

    /** tests/golden/sealed.txt, whose head explains the fields. */
    private static void golden(Sealer sealer) throws Exception {
        Path vectors = Paths.get(System.getProperty("privatemail.vectors")).resolveSibling("sealed.txt");
        int count = 0;
        for (String line : Files.readAllLines(vectors)) {
            if (line.startsWith("#")) {
                continue;
            }
            String[] fields = line.split("\t", -1);
            SealGateway gateway = new SealGateway(Integer.parseInt(fields[0]), Hex.bytes(fields[1]));
            Sealer.Sealed sealed = sealer.seal(gateway.key, Long.parseUnsignedLong(fields[2]), Hex.bytes(fields[3]),
                    Hex.bytes(fields[4]), Hex.bytes(fields[5]));
            equal(fields[6], sealed.message);
            byte[] answer = Hex.bytes(fields[10]);
            try (OpenedAnswer opened = sealer.open(sealed.opener, new ByteArrayInputStream(answer), answer.length)) {
                Check.equal(Integer.parseInt(fields[8]), opened.status());
                equal(fields[9], opened.readAllBytes());
            }
            count++;
        }
        Check.that(count >= 5, "golden lines: " + count);
    }

    // ---- answers ----

    private static final class Asked {
        final Sealer sealer;
        final Sealer.Opener opener;
        final SealGateway.Inside inside;

        Asked(Sealer sealer) throws GeneralSecurityException {
            this.sealer = sealer;
            Sealer.Sealed sealed = sealer.seal(gateway().key, EPOCH, PACK, RELEASE, EPHEMERAL);
            opener = sealed.opener;
            inside = gateway().open(sealed.message, EPOCH, PACK);
        }

        byte[] open(byte[] answer, int piece) throws Exception {
            return open(answer, answer.length, piece);
        }

        /** The content of an answer whose status is 200. */
        byte[] open(byte[] answer, long size, int piece) throws Exception {
            OpenedAnswer opened = sealer.open(opener, new ByteArrayInputStream(answer), size);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            byte[] bytes = new byte[piece];
            for (int count = opened.read(bytes, 0, piece); count >= 0; count = opened.read(bytes, 0, piece)) {
                Check.that(count > 0, "a read of nothing");
                out.write(bytes, 0, count);
            }
            Check.equal(-1, opened.read());
            Check.equal(200, opened.status());
            return out.toByteArray();
        }

        void refuses(byte[] answer) {
            Check.refuses(Status.SEALED, () -> open(answer, 4096));
        }

        void refusesPlain(byte[] plain) throws GeneralSecurityException {
            refuses(SealGateway.seal(inside, plain));
        }
    }

    private static void answers(Sealer sealer) throws Exception {
        Asked asked = new Asked(sealer);
        for (int size : new int[] {5, 512, 4095, 4096, 4097, 8192, 8193, 12_290, 40_961}) {
            for (int content : new int[] {0, 1, 100, 4000, 4088, 4089, 4096, 8190, 12_000, 40_000}) {
                byte[] bytes = new byte[content];
                RANDOM.nextBytes(bytes);
                byte[] answer = SealGateway.seal(asked.inside, SealGateway.response(200, bytes, size));
                Check.equal(bytes, asked.open(answer, 1 + RANDOM.nextInt(5000)));
            }
        }
        byte[] refusal = SealGateway.seal(asked.inside, SealGateway.response(409, new byte[50], 512));
        Check.equal(409, sealer.open(asked.opener, new ByteArrayInputStream(refusal), refusal.length).status());
        asked.opener.wipe();
        asked.refuses(SealGateway.seal(asked.inside, SealGateway.response(200, new byte[50], 512)));
    }

    private static void cutAnswers(Sealer sealer) throws Exception {
        Asked asked = new Asked(sealer);
        byte[] shorter = SealGateway.seal(asked.inside, SealGateway.response(200, new byte[4100], 4300));
        for (int size = 0; size < shorter.length; size++) {
            byte[] part = Arrays.copyOf(shorter, size);
            asked.refuses(part); // as long as it says
            if (size % 7 == 0) { // or not
                Check.refuses(Status.SEALED, () -> asked.open(part, shorter.length, 4096));
            }
        }
        byte[] plain = SealGateway.response(200, new byte[4200], 9000);
        byte[] answer = SealGateway.seal(asked.inside, plain);
        asked.refuses(Arrays.copyOf(answer, answer.length + 1));
        asked.refuses(JavaCrypto.join(answer, answer));
        for (long size : new long[] {-1, Long.MIN_VALUE, Long.MAX_VALUE, 0, 31, 49, 1L << 40}) {
            Check.refuses(Status.SEALED, () -> asked.open(answer, size, 4096));
        }
        int chunk = 4114;
        byte[] swapped = answer.clone();
        System.arraycopy(answer, 32, swapped, 32 + chunk, chunk);
        System.arraycopy(answer, 32 + chunk, swapped, 32, chunk);
        asked.refuses(swapped);
        // What ends with a whole chunk as if that were the last.
        byte[] early = Arrays.copyOf(answer, 32 + chunk + 1 + 4112);
        early[32 + chunk] = 0;
        System.arraycopy(answer, 32 + chunk + 2, early, 32 + chunk + 1, 4112);
        asked.refuses(early);
        byte[] other = SealGateway.seal(asked.inside, plain);
        other[0] ^= 1;
        asked.refuses(other);
    }

    private static void flippedBits(Sealer sealer) throws Exception {
        Asked asked = new Asked(sealer);
        byte[] answer = SealGateway.seal(asked.inside, SealGateway.response(200, new byte[300], 512));
        byte[] longer = SealGateway.seal(asked.inside, SealGateway.response(200, new byte[300], 4100));
        for (int i = 0; i < 8 * answer.length; i++) {
            byte[] changed = answer.clone();
            changed[i / 8] ^= (byte) (1 << i % 8);
            asked.refuses(changed);
        }
        for (int i = 0; i < longer.length; i++) {
            byte[] changed = longer.clone();
            changed[i] ^= (byte) (1 << RANDOM.nextInt(8));
            asked.refuses(changed);
        }
    }

    /** What only a gateway could send that has the key. */
    private static void lyingAnswers(Sealer sealer) throws Exception {
        Asked asked = new Asked(sealer);
        byte[] sound = SealGateway.response(200, new byte[10], 600);
        asked.open(SealGateway.seal(asked.inside, sound), 100);
        for (int i = 0; i < sound.length; i++) { // what must be as it is
            byte[] changed = sound.clone();
            changed[i] ^= 1;
            if (i == 0 || i == 3 || i >= 15) { // another status, or one byte more of zeros, is no lie
                asked.refusesPlain(changed);
            }
        }
        String[] heads = {"00", "01", "0140", "0140c8", "0140c800", "0140c80000", "0140c80040", "0140c8004001",
            "0140c8000500000000", "0140c800050000000000", "0240c8000000", "0140c800ffffffffffffffff00",
            "0140c800bfffffff00", "0140c801000000", "013f000000", "0142580000", "0140640000"};
        for (String head : heads) {
            asked.refusesPlain(Hex.bytes(head));
        }
        for (String head : new String[] {"01800000c8000000", "0140c80040010000", "0140c800800000010000",
            "0140c800c0000000000000010000"}) { // numbers in longer forms than need be
            asked.open(SealGateway.seal(asked.inside, Hex.bytes(head)), 100);
        }
        asked.refusesPlain(Arrays.copyOf(sound, 15)); // no room for the trailer
        asked.refusesPlain(JavaCrypto.join(SealGateway.response(200, new byte[9000], 0), new byte[] {1}));
    }

    private static void equal(String wanted, byte[] found) {
        Check.equal(wanted, Hex.of(found));
    }
}
