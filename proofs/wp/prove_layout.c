/* SPDX-License-Identifier: Apache-2.0
 * Sizes and macros agree for all packs: the macros of privatemail.h are the contracts, the core's own files the code. */
#include "../../core/pipeline_crowd.h"
#include "../../core/query.h"
#include "../../core/ranking.h"

#define FRONT_MEMORY(pack) ((pack)->modalities > 0 ? PML_FRONT_MEMORY((pack)->inputs, (pack)->features) : 0)

/*@ requires \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures \result == PML_ROUND8(pack->features) + FRONT_MEMORY(pack); */
size_t pml_query_memory(const pml_pack *pack);

/*@ requires \valid_read(pack) && client == \null && at <= 0x1000;
    terminates \true;
    assigns \nothing;
    ensures \result - at + PML_CLIENT_FIXED + PML_ROUND8(pack->features) ==
      PML_RESPONSE_MEMORY(pack->features, pack->slots);
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_response(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires \valid_read(pack) && client == \null && at <= 0x1000;
    requires pack->slots <= PML_SLOTS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result - at + PML_CLIENT_FIXED + PML_ROUND8(pack->features) ==
      PML_GAUSSIAN_MEMORY(pack->features, pack->slots, pack->neighbours, pack->dimensions);
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_gaussian(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires client == \null && at <= 0x1000;
    terminates \true;
    assigns \nothing;
    ensures \result - at + PML_CLIENT_FIXED + PML_ROUND8(pack->features) == PML_CROWD_MEMORY(pack->features);
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_crowd(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures \result == pack->slots * pack->dimensions;
    ensures pack->slots <= PML_SLOTS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX ==> \result <= 16384; */
static size_t coordinates(const pml_pack *pack);

/*@ requires \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures \result == PML_RANKING_MEMORY(0, pack->sketch, pack->directions) - PML_RANKING_FIXED; */
static size_t query_values(const pml_pack *pack);

/*@ requires pack == \null || \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures pack != \null && pack->bytes != \null && pack->sketch > 0 ==>
      \result == PML_RANKING_MEMORY(pack->features, pack->sketch, pack->directions) + FRONT_MEMORY(pack);
    ensures pack == \null || pack->bytes == \null || pack->sketch == 0 ==> \result == 0; */
size_t pml_ranking_size(const pml_pack *pack);

#include "../../core/query.c"
#include "../../core/ranking.c"

#include "../../core/pipeline_crowd.c"
#include "../../core/pipeline_gaussian.c"
#include "../../core/pipeline_response.c"
