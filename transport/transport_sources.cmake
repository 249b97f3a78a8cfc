# The one list of the transport's sources, with what it needs of BearSSL's. CMake includes it and scripts/size.sh,
# scripts/build-wasm.sh and others read it: keep it plain, one file per line, comments on their own line, no variables.

# What a client calls.
set(PML_TRANSPORT_CLIENT_SOURCES
    hpke.c
    capsule.c
    keys.c
    binary_http.c
    message_seal.c
    answer_open.c
)

# What a gateway calls, and what single requests need.
set(PML_TRANSPORT_GATEWAY_SOURCES
    message_open.c
    answer_seal.c
    ohttp_response.c
)

# The table of primitives by BearSSL.
set(PML_TRANSPORT_BEARSSL_SOURCES
    bearssl/crypto_bearssl.c
)

# Of BearSSL's own sources, where its library is not there for the target.
set(PML_BEARSSL_SOURCES
    src/codec/ccopy.c
    src/codec/dec32be.c
    src/codec/enc32be.c
    src/ec/ec_c25519_m15.c
    src/ec/ec_c25519_m31.c
    src/hash/sha2small.c
    src/mac/hmac.c
    src/symcipher/chacha20_ct.c
    src/symcipher/poly1305_ctmul.c
    src/symcipher/poly1305_ctmul32.c
)

# The same for AES-128-GCM, which only the tests use.
set(PML_BEARSSL_AES_SOURCES
    src/aead/gcm.c
    src/codec/dec32le.c
    src/codec/enc32le.c
    src/hash/ghash_ctmul32.c
    src/symcipher/aes_ct.c
    src/symcipher/aes_ct_ctr.c
    src/symcipher/aes_ct_enc.c
)
