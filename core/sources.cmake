# The one list of the core's sources. CMakeLists.txt includes it and scripts/size.sh reads it: keep it plain,
# one file per line, comments on their own line, no variables.

set(PML_CORE_SOURCES
    base/status.c
    base/wipe.c
    base/sha256.c
    base/chacha20.c
    base/random.c
    base/exact.c
    base/elementary.c
    base/kernels_portable.c
    pack/pack.c
    pack/pack_check.c
    pack/pack_sketch.c
    stages/quantise.c
    stages/slots.c
    stages/prototypes.c
    stages/sketch.c
    stages/coordinates.c
    stages/release.c
    stages/answer.c
    stages/answer_rank.c
    privacy/budget.c
    privacy/ceiling.c
    # conductors
    query.c
    pipeline.c
    client.c
    ranking.c
)

# When the Gaussian mechanism or fronts are built.
set(PML_CORE_EXPONENTIAL_SOURCES
    base/exponential.c
)

# Only when fronts are built.
set(PML_CORE_FRONT_SOURCES
    pack/pack_front.c
    stages/front.c
    # conductor
    query_front.c
)

# The same, but not on bare metal: fronts without a pack. No device needs them.
set(PML_CORE_FRONT_PUBLIC_SOURCES
    front_public.c
)

# Not on bare metal: sketches of items. No device needs them.
set(PML_CORE_SKETCH_PUBLIC_SOURCES
    sketch_public.c
)

# Only when heads and looks are built, which need fronts.
set(PML_CORE_HEAD_SOURCES
    pack/pack_head.c
    stages/head.c
    stages/look.c
    # conductors
    guess.c
    looks.c
)

# Only when the Gaussian mechanism is built.
set(PML_CORE_GAUSSIAN_SOURCES
    stages/neighbours.c
    stages/weights.c
    stages/label_row.c
    stages/certificate.c
    stages/update.c
    stages/calibrate.c
    stages/gaussian.c
    # conductor
    pipeline_gaussian.c
)

# When the Gaussian mechanism or the crowd is built.
set(PML_CORE_NORMAL_SOURCES
    privacy/normal.c
)

# Only when the response mechanism is built.
set(PML_CORE_RESPONSE_SOURCES
    stages/response.c
    # conductor
    pipeline_response.c
)

# Only when the crowd is built, which needs response: the client.
set(PML_CORE_CROWD_SOURCES
    stages/public_list.c
    stages/bundle.c
    # conductors
    pipeline_crowd.c
    crowd.c
)

# The same: the account of a policy and the planner.
set(PML_CORE_CROWD_ACCOUNTING_SOURCES
    privacy/crowd_law.c
    privacy/crowd_losses.c
    privacy/crowd_account.c
    privacy/crowd_plan.c
)

# The same, but not on bare metal: what mixing gives without clusters. No device needs it.
set(PML_CORE_CROWD_SHUFFLE_SOURCES
    privacy/crowd_shuffle.c
)
