# The one list of the core's sources. CMakeLists.txt includes it and scripts/size.sh reads it: keep it plain,
# one file per line, comments on their own line, no variables.

set(PML_CORE_SOURCES
    # foundation
    status.c
    wipe.c
    sha256.c
    chacha20.c
    random.c
    exact.c
    elementary.c
    kernels_portable.c
    # public data
    pack.c
    pack_check.c
    # stages
    quantise.c
    slots.c
    prototypes.c
    sketch.c
    # messages
    release.c
    answer.c
    answer_rank.c
    # conductors
    budget.c
    privacy.c
    query.c
    pipeline.c
    client.c
    ranking.c
)

# Only when the Gaussian mechanism is built.
set(PML_CORE_GAUSSIAN_SOURCES
    # stages
    neighbours.c
    weights.c
    label_row.c
    certificate.c
    update.c
    # mechanism
    normal.c
    calibrate.c
    gaussian.c
    # conductor
    pipeline_gaussian.c
)

# Only when the response mechanism is built.
set(PML_CORE_RESPONSE_SOURCES
    # mechanism
    response.c
    # conductor
    pipeline_response.c
)
