/* SPDX-License-Identifier: Apache-2.0
 *
 * PrivateMail's sealed messages (docs/SPEC.md, section 10): Oblivious HTTP (RFC 9458) with HPKE (RFC 9180).
 *
 * A relay carries a message without reading it, and the gateway reads it without knowing whose it is. The phone seals a
 * release for the gateway's public key, and opens the answer that only it can open:
 *
 *     phone     pml_keys_choose ─► pml_message_seal ─► (relay) ─► pml_open_begin ─► pml_open_feed … ─► pml_open_end
 *     gateway   pml_message_open ─► (service) ─► pml_answer_seal
 *
 * Both sides stand in this one header because they are one protocol over one table of primitives, pml_crypto. A phone
 * links none of the gateway's functions unless it calls them.
 *
 * Memory: no function allocates. Every buffer is the caller's, of any alignment; structures are fixed in size.
 * Errors: every function returns PML_OK (0) or a negative pml_status, unless its type says otherwise. On error the
 * buffer or structure that it fills is zeroed.
 * Time: no branch and no address depends on a key or on what is sealed, provided that the primitives keep to that.
 * Threads: a pml_open belongs to one thread at a time. Everything else is without state.
 */
#ifndef PRIVATEMAIL_TRANSPORT_H
#define PRIVATEMAIL_TRANSPORT_H

#include "privatemail.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- primitives ------------------------------------------------------------------------------------------------- */

#define PML_AEAD_AES_128_GCM 0x0001u
#define PML_AEAD_CHACHA20_POLY1305 0x0003u
#define PML_KEY_SIZE 32u /* of X25519, private and public */
#define PML_AEAD_KEY_MAX 32u
#define PML_AEAD_NONCE_SIZE 12u
#define PML_AEAD_TAG_SIZE 16u

typedef struct pml_piece {
    const void *bytes; /* may be NULL when size is 0 */
    size_t size;
} pml_piece;

/* Authenticated encryption in place. `open` must compare the tag in constant time; when it fails, what it leaves in
 * `data` is wiped by whoever called it. */
typedef struct pml_aead {
    uint16_t id;      /* PML_AEAD_… */
    uint8_t key_size; /* 16 or 32 */
    int (*seal)(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                size_t size, uint8_t tag[16]);
    int (*open)(const uint8_t *key, const uint8_t nonce[12], const uint8_t *aad, size_t aad_size, uint8_t *data,
                size_t size, const uint8_t tag[16]);
} pml_aead;

/* The primitives, so that an embedder can bring its own. Each returns 0, or anything else on failure. They keep nothing
 * between calls, take the same time whatever the secrets are, and wipe what they leave in memory. */
typedef struct pml_crypto {
    /* RFC 7748: clamps the scalar and ignores the point's top bit. Must fail when the result is all zeros. */
    int (*x25519)(uint8_t out[32], const uint8_t scalar[32], const uint8_t point[32]);
    /* The same with the base point: the public key of a private one. */
    int (*x25519_base)(uint8_t out[32], const uint8_t scalar[32]);
    /* HKDF-SHA256 (RFC 5869). The pieces are one input, one after the other. An empty salt is 32 zeros there. */
    int (*hkdf_extract)(uint8_t out[32], const uint8_t *salt, size_t salt_size, const pml_piece *ikm, size_t pieces);
    int (*hkdf_expand)(uint8_t *out, size_t size, const uint8_t prk[32], const pml_piece *info, size_t pieces);
    /* The first `aeads` of them, the preferred one first. An epoch's messages need ChaCha20-Poly1305. */
    pml_aead aead[2];
    size_t aeads;
} pml_crypto;

/* By BearSSL, its constant-time implementations: ChaCha20-Poly1305. (transport/bearssl, library
 * privatemail_transport_bearssl) */
PML_API const pml_crypto *pml_crypto_bearssl(void);

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* The gateway's key that a client seals for, out of a key configuration. Public. */
typedef struct pml_seal_key {
    uint8_t id;
    uint16_t aead; /* which to use for a single request; messages of an epoch use ChaCha20-Poly1305 */
    uint8_t public_key[PML_KEY_SIZE];
} pml_seal_key;

/* Reads application/ohttp-keys (SPEC 10.1) and takes the first key that can be used with these primitives. Returns
 * PML_ERROR_KEYS when there is none, or when the configuration is malformed anywhere. */
PML_API PML_CHECKED pml_status pml_keys_choose(const pml_crypto *crypto, const void *configuration, size_t size,
                                               pml_seal_key *key);

/* Returns PML_OK when the configuration still holds this key, and PML_ERROR_KEYS otherwise: a client that pinned a key
 * accepts only such a configuration in place of the old one (SPEC 10.7). */
PML_API PML_CHECKED pml_status pml_keys_hold(const void *configuration, size_t size, const pml_seal_key *key);

/* The gateway's own key. Secret: wipe it. */
typedef struct pml_private_key {
    uint8_t id;
    uint8_t secret[PML_KEY_SIZE]; /* 32 random bytes */
    uint8_t public_key[PML_KEY_SIZE];
} pml_private_key;

/* Fills public_key from secret. */
PML_API PML_CHECKED pml_status pml_key_complete(const pml_crypto *crypto, pml_private_key *key);

/* Writes the configuration of one key, with both AEADs. Those of several keys follow each other, the newest first. */
#define PML_KEY_CONFIGURATION_SIZE 47u
PML_API PML_CHECKED pml_status pml_keys_write(uint8_t id, const uint8_t public_key[PML_KEY_SIZE], uint8_t *out,
                                              size_t capacity);

/* ---- client: a message of an epoch ------------------------------------------------------------------------------ */

/* What opens the answer to one message or request. Secret: wipe it with pml_opener_wipe. It may be stored, as the bytes
 * of its three fields, by a client that waits for an epoch to end. */
typedef struct pml_opener {
    uint16_t aead;
    uint8_t secret[PML_AEAD_KEY_MAX]; /* the response secret; the first key_size bytes when the AEAD's key is shorter */
    uint8_t enc[PML_KEY_SIZE];        /* of the message: public */
} pml_opener;

PML_API void pml_opener_wipe(pml_opener *opener);

#define PML_SEAL_HEAD_SIZE 39u      /* header and enc, in front of the ciphertext */
#define PML_SEAL_RELEASE_MAX 16383u /* bytes of a release */

/* Bytes of the message that holds a release of this size (SPEC 10.3): 104 more than the release, or 105 when it has 64
 * or more. 0 when the size is 0 or above PML_SEAL_RELEASE_MAX. */
PML_API size_t pml_message_size(size_t release_size);

/* Seals a release for this epoch and pack, and writes exactly pml_message_size bytes. Asks `entropy` once, for 32 bytes.
 * `opener` opens the answer; NULL when nobody will, as for a fake. Release and `out` must not overlap. Returns
 * PML_ERROR_BUFFER, PML_ERROR_ENTROPY, or PML_ERROR_KEYS when the key is not one that can be used. */
PML_API PML_CHECKED pml_status pml_message_seal(const pml_crypto *crypto, const pml_seal_key *key, uint64_t epoch,
                                                const uint8_t pack_id[PML_ID_SIZE], const void *release,
                                                size_t release_size, pml_entropy_fn entropy, void *entropy_context,
                                                uint8_t *out, size_t capacity, pml_opener *opener);

/* ---- client: its answer, as a stream ---------------------------------------------------------------------------- */

#define PML_CHUNK_SIZE 4096u                                 /* plaintext of every chunk but the last */
#define PML_OPEN_BUFFER (PML_CHUNK_SIZE + PML_AEAD_TAG_SIZE) /* bytes of memory that opening needs */

/* Takes some of the answer's content, in order; at least one byte per call. Anything but PML_OK ends the opening, and
 * pml_open_feed returns it. pml_ranking_feed is such a function in all but its arguments. */
typedef pml_status (*pml_sink_fn)(void *context, const uint8_t *bytes, size_t size);

/* An answer that is being opened. Its fields are private, and secret: pml_open_end wipes them. */
typedef struct pml_open {
    const pml_crypto *crypto;
    uint8_t *buffer;
    pml_opener opener;
    uint8_t key[PML_AEAD_KEY_MAX];
    uint8_t nonce[PML_AEAD_NONCE_SIZE];
    uint64_t left;    /* bytes of the answer that are still to come */
    uint64_t content; /* bytes of the content that are still to come */
    uint32_t chunk;   /* the next one's number */
    uint32_t chunks;  /* of the whole answer */
    uint32_t last;    /* bytes of plaintext in the last chunk */
    uint32_t filled;  /* of the buffer */
    uint16_t status;  /* inside; 0 while it is not known */
    uint8_t step;     /* what the next byte belongs to */
} pml_open;

/* Begins to open an answer of `answer_size` bytes, the constant that the gateway publishes. `buffer` has at least
 * PML_OPEN_BUFFER bytes, and must live until the end. The opener is copied. Returns PML_ERROR_MEMORY for a smaller
 * buffer, and PML_ERROR_SEALED when no answer has that size. */
PML_API PML_CHECKED pml_status pml_open_begin(pml_open *open, const pml_crypto *crypto, const pml_opener *opener,
                                              void *buffer, size_t capacity, uint64_t answer_size);

/* Takes the next bytes of the answer, any number. Hands content to `sink` chunk by chunk, each after its tag was
 * checked. Do not act on what the sink got before pml_open_end returned PML_OK: an attacker may have cut the answer
 * short. Returns PML_ERROR_SEALED when something is wrong; then and when the sink fails, everything is wiped and each
 * later call returns PML_ERROR_STATE. */
PML_API PML_CHECKED pml_status pml_open_feed(pml_open *open, const void *bytes, size_t size, pml_sink_fn sink,
                                             void *context);

/* The HTTP status inside, 0 while it is not known. It is known before the sink is called for the first time: content
 * that does not come with 200 is no answer of section 3. */
PML_API unsigned pml_open_status(const pml_open *open);

/* Ends the opening and wipes it. Returns PML_OK and the HTTP status inside only when the whole answer has arrived, its
 * last chunk included; PML_ERROR_SEALED when it was cut short. May be called at any time, to give up. */
PML_API PML_CHECKED pml_status pml_open_end(pml_open *open, unsigned *status);

/* ---- gateway ---------------------------------------------------------------------------------------------------- */

/* What was inside a message or request. The pieces lie within it. The opener is secret: pml_opener_wipe. */
typedef struct pml_opened {
    unsigned status;     /* 200; else the refusal to put inside the answer: 400 no Binary HTTP, 404 not POST /v1/query,
                        409 the epoch inside is another */
    pml_piece content;   /* the release; empty when status is not 200 */
    pml_piece plaintext; /* all of the Binary HTTP */
    pml_opener opener;   /* seals the answer, whatever the status */
} pml_opened;

/* Opens a message of an epoch in place, for the epoch and pack that it came under. Returns PML_ERROR_SEALED when it
 * cannot be opened. The pack's id inside the release is compared by whoever reads the release. */
PML_API PML_CHECKED pml_status pml_message_open(const pml_crypto *crypto, const pml_private_key *key, uint64_t epoch,
                                                const uint8_t pack_id[PML_ID_SIZE], uint8_t *message, size_t size,
                                                pml_opened *opened);

/* Bytes of a sealed answer with `size` bytes of plaintext (A of SPEC 10.5); 0 when size is 0 or above 2^31. */
PML_API uint64_t pml_answer_size(size_t size);

/* Bytes of plaintext that a response with so much content has without padding. */
PML_API size_t pml_binary_response_size(size_t content_size);

/* Seals status and content, padded to `size` bytes of plaintext, and writes exactly pml_answer_size(size) bytes. Asks
 * `entropy` once, for 32 bytes. Content and `out` must not overlap. Returns PML_ERROR_BUFFER also when the content does
 * not fit into `size`. */
PML_API PML_CHECKED pml_status pml_answer_seal(const pml_crypto *crypto, const pml_opener *opener, unsigned status,
                                               const void *content, size_t content_size, size_t size,
                                               pml_entropy_fn entropy, void *entropy_context, uint8_t *out,
                                               size_t capacity);

/* ---- Oblivious HTTP: one request on its own (SPEC 10.2, RFC 9458) ------------------------------------------------ */

/* All four take whole buffers, with either AEAD. A plaintext may lie in `out` already, at the place that it gets: after
 * PML_SEAL_HEAD_SIZE bytes in a request, after the nonce (key_size bytes, 12 at least) in a response. */
#define PML_OHTTP_REQUEST_SIZE(size) ((size) + PML_SEAL_HEAD_SIZE + PML_AEAD_TAG_SIZE)
PML_API size_t pml_ohttp_response_size(const pml_crypto *crypto, const pml_opener *opener, size_t size);

PML_API PML_CHECKED pml_status pml_ohttp_request_seal(const pml_crypto *crypto, const pml_seal_key *key,
                                                      const void *plaintext, size_t size, pml_entropy_fn entropy,
                                                      void *entropy_context, uint8_t *out, size_t capacity,
                                                      pml_opener *opener);

/* In place. Returns PML_ERROR_KEYS when the request is for another key id, or for algorithms that are not here, and
 * PML_ERROR_SEALED when it cannot be opened. `opened->status` is 200, 400 or 404. */
PML_API PML_CHECKED pml_status pml_ohttp_request_open(const pml_crypto *crypto, const pml_private_key *key,
                                                      uint8_t *request, size_t size, pml_opened *opened);

/* Asks `entropy` once, for the response nonce. */
PML_API PML_CHECKED pml_status pml_ohttp_response_seal(const pml_crypto *crypto, const pml_opener *opener,
                                                       const void *plaintext, size_t size, pml_entropy_fn entropy,
                                                       void *entropy_context, uint8_t *out, size_t capacity);

/* In place; *plaintext points into the response. */
PML_API PML_CHECKED pml_status pml_ohttp_response_open(const pml_crypto *crypto, const pml_opener *opener,
                                                       uint8_t *response, size_t size, pml_piece *plaintext);

/* ---- Binary HTTP of known length (RFC 9292) ---------------------------------------------------------------------- */

/* Pieces point into what was read. `fields` is a field section without its length: pml_binary_field looks into it. */
typedef struct pml_binary_request {
    pml_piece method, scheme, authority, path;
    pml_piece fields, content;
} pml_binary_request;

typedef struct pml_binary_response {
    unsigned status; /* 200 … 599 */
    pml_piece fields, content;
} pml_binary_response;

/* Informational responses and trailers are skipped; what the RFC lets a sender leave out at the end may be missing;
 * zeros may follow. Returns PML_ERROR_SEALED for anything else, indeterminate length too. */
PML_API PML_CHECKED pml_status pml_binary_request_read(const void *bytes, size_t size, pml_binary_request *request);
PML_API PML_CHECKED pml_status pml_binary_response_read(const void *bytes, size_t size, pml_binary_response *response);

/* Writes the message in full, with empty trailers, and its length to *written. A response is padded with zeros to
 * `capacity`, and *written is the capacity then. */
PML_API PML_CHECKED pml_status pml_binary_request_write(const pml_binary_request *request, uint8_t *out,
                                                        size_t capacity, size_t *written);
PML_API PML_CHECKED pml_status pml_binary_response_write(const pml_binary_response *response, uint8_t *out,
                                                         size_t capacity);

/* The value of the first field of this name (lower case); NULL bytes when there is none. */
PML_API pml_piece pml_binary_field(pml_piece fields, const char *name);

#ifdef __cplusplus
}
#endif

#endif
