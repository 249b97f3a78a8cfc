/* SPDX-License-Identifier: Apache-2.0
 * The published examples, byte for byte: RFC 9180 A.1.1 and A.2.1, RFC 9458 appendix A, RFC 7748, RFC 5869. */
#include "transport_support.h"

#include "transport/capsule.h"

void setUp(void)
{
}

void tearDown(void)
{
}

/* ---- RFC 9180 ---- */

struct hpke_vector {
    unsigned aead;
    const char *ephemeral, *enc, *secret_key, *public_key, *key, *nonce, *exporter, *ciphertext;
    const char *exports[3]; /* of the contexts "", 00 and "TestContext" */
};

static const struct hpke_vector vectors[] = {
    {
        .aead = PML_AEAD_AES_128_GCM,
        .ephemeral = "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        .enc = "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        .secret_key = "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
        .public_key = "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        .key = "4531685d41d65f03dc48f6b8302c05b0",
        .nonce = "56d890e5accaaf011cff4b7d",
        .exporter = "45ff1c2e220db587171952c0592d5f5ebe103f1561a2614e38f2ffd47e99e3f8",
        .ciphertext = "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
        .exports =
            {
                "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee",
                "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5",
                "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931",
            },
    },
    {
        .aead = PML_AEAD_CHACHA20_POLY1305,
        .ephemeral = "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
        .enc = "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a",
        .secret_key = "8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb",
        .public_key = "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a",
        .key = "ad2744de8e17f4ebba575b3f5f5a8fa1f69c2a07f6e7500bc60ca6e3e3ec1c91",
        .nonce = "5c4d98150661b848853b547f",
        .exporter = "a3b010d4994890e2c6968a36f64470d3c824c8f5029942feb11e7a74b2921922",
        .ciphertext = "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
        .exports =
            {
                "4bbd6243b8bb54cec311fac9df81841b6fd61f56538a775e7c80a9f40160606e",
                "8c1df14732580e5501b00f82b10a1647b40713191b7c1240ac80e2b68808ba69",
                "5acb09211139c43b3090489a9da433e8a30ee7188ba8b0a9a1ccf0c229283e53",
            },
    },
};

static const char hpke_info[] = "Ode on a Grecian Urn", hpke_text[] = "Beauty is truth, truth beauty";

static void check_context(const struct hpke_vector *vector, const pml_hpke *hpke)
{
    static const pml_piece contexts[3] = {{"", 0}, {"", 1}, {"TestContext", 11}};
    ASSERT_HEX(vector->key, hpke->key);
    ASSERT_HEX(vector->nonce, hpke->nonce);
    ASSERT_HEX(vector->exporter, hpke->exporter);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t out[32];
        TEST_ASSERT_EQUAL(0, pml_hpke_export(hpke, pml_crypto_bearssl(), contexts[i], out, sizeof out));
        ASSERT_HEX(vector->exports[i], out);
    }
}

static void check_vector(const struct hpke_vector *vector)
{
    const pml_crypto *crypto = pml_crypto_bearssl();
    const pml_aead *aead = pml_aead_find(crypto, vector->aead);
    TEST_ASSERT_NOT_NULL(aead);
    const pml_piece info = {hpke_info, sizeof hpke_info - 1};
    uint8_t ephemeral[32], enc[32], public_key[32], data[sizeof hpke_text - 1 + 16];
    const size_t size = sizeof hpke_text - 1;
    pml_hpke hpke;

    unhex(vector->ephemeral, ephemeral);
    unhex(vector->public_key, public_key);
    TEST_ASSERT_EQUAL(0, pml_hpke_send(&hpke, crypto, aead, public_key, info, ephemeral, enc));
    ASSERT_HEX(vector->enc, enc);
    check_context(vector, &hpke);
    memcpy(data, hpke_text, size);
    TEST_ASSERT_EQUAL(0, aead->seal(hpke.key, hpke.nonce, (const uint8_t *)"Count-0", 7, data, size, data + size));
    ASSERT_HEX(vector->ciphertext, data);

    pml_private_key key = {0};
    unhex(vector->secret_key, key.secret);
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(crypto, &key));
    ASSERT_HEX(vector->public_key, key.public_key);
    TEST_ASSERT_EQUAL(0, pml_hpke_receive(&hpke, crypto, aead, &key, info, enc));
    check_context(vector, &hpke);
    TEST_ASSERT_EQUAL(0, aead->open(hpke.key, hpke.nonce, (const uint8_t *)"Count-0", 7, data, size, data + size));
    TEST_ASSERT_EQUAL_MEMORY(hpke_text, data, size);
}

static void test_hpke(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        check_vector(&vectors[i]);
}

/* ---- RFC 9458, appendix A ---- */

static const char configuration_hex[] =
    "002d01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003";
static const char request_hex[] = "00034745540568747470730b6578616d706c652e636f6d012f";
static const char sealed_request_hex[] =
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c"
    "695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525";
static const char sealed_response_hex[] = "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd";

static void test_oblivious_http(void)
{
    const pml_crypto *crypto = pml_crypto_bearssl();
    uint8_t bytes[128], sealed[128], ephemeral[32], nonce[16];
    pml_private_key private_key = {.id = 1};
    pml_seal_key key;
    pml_opener opener;
    pml_opened opened;
    pml_piece plaintext;

    /* The client of the example prefers AES. */
    TEST_ASSERT_EQUAL(PML_OK, pml_keys_choose(crypto, bytes, unhex(configuration_hex, bytes), &key));
    TEST_ASSERT_EQUAL(1, key.id);
    TEST_ASSERT_EQUAL(PML_AEAD_CHACHA20_POLY1305, key.aead);
    key.aead = PML_AEAD_AES_128_GCM;
    unhex("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a", private_key.secret);
    TEST_ASSERT_EQUAL(PML_OK, pml_key_complete(crypto, &private_key));
    TEST_ASSERT_EQUAL_MEMORY(key.public_key, private_key.public_key, PML_KEY_SIZE);

    unhex("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73", ephemeral);
    struct script script = {ephemeral, sizeof ephemeral};
    const size_t size = unhex(request_hex, bytes);
    TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_request_seal(crypto, &key, bytes, size, scripted, &script, sealed,
                                                     PML_OHTTP_REQUEST_SIZE(size), &opener));
    ASSERT_HEX(sealed_request_hex, sealed);
    TEST_ASSERT_EQUAL(0, script.left);
    ASSERT_HEX("62d87a6ba569ee81014c2641f52bea36", opener.secret);

    TEST_ASSERT_EQUAL(PML_OK,
                      pml_ohttp_request_open(crypto, &private_key, sealed, PML_OHTTP_REQUEST_SIZE(size), &opened));
    TEST_ASSERT_EQUAL(size, opened.plaintext.size);
    ASSERT_HEX(request_hex, opened.plaintext.bytes);
    TEST_ASSERT_EQUAL(404, opened.status);
    TEST_ASSERT_EQUAL_MEMORY(&opener, &opened.opener, sizeof opener);

    unhex("c789e7151fcba46158ca84b04464910d", nonce);
    script = (struct script){nonce, sizeof nonce};
    unhex("0140c8", bytes);
    TEST_ASSERT_EQUAL(35, pml_ohttp_response_size(crypto, &opener, 3));
    TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_response_seal(crypto, &opened.opener, bytes, 3, scripted, &script, sealed, 35));
    ASSERT_HEX(sealed_response_hex, sealed);
    TEST_ASSERT_EQUAL(0, script.left);
    TEST_ASSERT_EQUAL(PML_OK, pml_ohttp_response_open(crypto, &opener, sealed, 35, &plaintext));
    TEST_ASSERT_EQUAL(3, plaintext.size);
    ASSERT_HEX("0140c8", plaintext.bytes);
}

/* ---- primitives ---- */

static void test_x25519(void)
{
    /* RFC 7748, section 5.2 */
    uint8_t scalar[32], point[32], out[32];
    const pml_crypto *crypto = pml_crypto_bearssl();
    unhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4", scalar);
    unhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c", point);
    TEST_ASSERT_EQUAL(0, crypto->x25519(out, scalar, point));
    ASSERT_HEX("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552", out);
}

static void test_hkdf(void)
{
    /* RFC 5869, test case 2: several blocks, and inputs that are longer than one. In two pieces here. */
    uint8_t ikm[80], salt[80], info[80], prk[32], out[82];
    for (unsigned i = 0; i < 80; i++) {
        ikm[i] = (uint8_t)i;
        salt[i] = (uint8_t)(0x60 + i);
        info[i] = (uint8_t)(0xb0 + i);
    }
    const pml_piece ikms[] = {{ikm, 3}, {ikm + 3, 77}}, infos[] = {{info, 79}, {info + 79, 1}};
    const pml_crypto *crypto = pml_crypto_bearssl();
    TEST_ASSERT_EQUAL(0, crypto->hkdf_extract(prk, salt, sizeof salt, ikms, 2));
    ASSERT_HEX("06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244", prk);
    TEST_ASSERT_EQUAL(0, crypto->hkdf_expand(out, sizeof out, prk, infos, 2));
    ASSERT_HEX("b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09da3275"
               "600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87",
               out);
    TEST_ASSERT_NOT_EQUAL(0, crypto->hkdf_expand(out, 255 * 32 + 1, prk, infos, 2));
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_hpke);
    RUN_TEST(test_oblivious_http);
    RUN_TEST(test_x25519);
    RUN_TEST(test_hkdf);
    return UNITY_END();
}
