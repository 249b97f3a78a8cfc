/* SPDX-License-Identifier: Apache-2.0
 * The public sizes are those of the macros, for all packs. What prove_layout.c proves of the layouts stands first, as
 * contracts of functions that are not looked into here. */
#include "../../core/pipeline_crowd.h"
#include "../../core/query.h"

#define FRONT_MEMORY(pack) ((pack)->modalities > 0 ? PML_FRONT_MEMORY((pack)->inputs, (pack)->features) : 0)

/*@ requires \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures \result == PML_ROUND8(pack->features) + FRONT_MEMORY(pack); */
size_t pml_query_memory(const pml_pack *pack);

/*@ requires \valid_read(pack) && client == \null && at <= 0x1000;
    terminates \true;
    assigns \nothing;
    ensures \result == PML_RESPONSE_MEMORY(pack->features, pack->slots) - PML_CLIENT_FIXED -
      PML_ROUND8(pack->features) + at;
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_response(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires \valid_read(pack) && client == \null && at <= 0x1000;
    requires pack->slots <= PML_SLOTS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result == PML_GAUSSIAN_MEMORY(pack->features, pack->slots, pack->neighbours, pack->dimensions) -
      PML_CLIENT_FIXED - PML_ROUND8(pack->features) + at;
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_gaussian(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires client == \null && at <= 0x1000;
    terminates \true;
    assigns \nothing;
    ensures \result == PML_CROWD_FIXED + at;
    ensures at <= \result <= 0x2000000000; */
size_t pml_lay_out_crowd(const pml_pack *pack, pml_client *client, size_t at);

/*@ requires \valid_read(pack) && client == \null;
    requires pack->slots <= PML_SLOTS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX;
    terminates \true;
    assigns \nothing;
    ensures \result - PML_ROUND8(sizeof(pml_client)) + PML_CLIENT_FIXED == FRONT_MEMORY(pack) +
      (mechanism == PML_GAUSSIAN
         ? PML_GAUSSIAN_MEMORY(pack->features, pack->slots, pack->neighbours, pack->dimensions)
         : mechanism == PML_CROWD ? PML_CROWD_MEMORY(pack->features)
                                  : PML_RESPONSE_MEMORY(pack->features, pack->slots));
    ensures PML_ROUND8(sizeof(pml_client)) <= \result <= 0x10000000000; */
size_t pml_pipeline_lay_out(pml_mechanism mechanism, const pml_pack *pack, pml_client *client);

/*@ requires pack == \null || \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures pack != \null && pack->bytes != \null && pack->labels > 0 ==>
      \result == PML_GUESS_MEMORY(pack->features) + FRONT_MEMORY(pack);
    ensures pack == \null || pack->bytes == \null || pack->labels == 0 ==> \result == 0; */
size_t pml_guess_size(const pml_pack *pack);

/*@ terminates \true;
    assigns \nothing;
    ensures 1 <= features <= PML_FRONT_INPUTS_MAX ==> \result == PML_LOOKS_MEMORY(features);
    ensures features == 0 || features > PML_FRONT_INPUTS_MAX ==> \result == 0; */
size_t pml_looks_size(size_t features);

/*@ terminates \true;
    assigns \nothing;
    ensures \result <==> mechanism == PML_RESPONSE || mechanism == PML_GAUSSIAN || mechanism == PML_CROWD; */
static bool is_built(pml_mechanism mechanism);

/*@ logic integer asked(pml_config *config) = config->mechanism == 0 ? PML_RESPONSE : config->mechanism;
    logic integer mechanism_for(pml_config *config) =
      asked(config) == PML_CROWD || (config->crowd != \null && asked(config) != PML_RESPONSE) ? 0xFFFFFFFF
      : config->crowd != \null ? PML_CROWD : asked(config); */

/*@ requires \valid_read(config);
    terminates \true;
    assigns \nothing;
    ensures \result == mechanism_for(config); */
static pml_mechanism mechanism_of(const pml_config *config);

/*@ requires \valid_read(pack);
    terminates \true;
    assigns \nothing;
    ensures \result <==>
      pack->section[mechanism == PML_GAUSSIAN ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES] != \null; */
static bool pack_serves(const pml_pack *pack, pml_mechanism mechanism);

/*@ requires pack == \null || \valid_read(pack);
    requires config == \null || \valid_read(config);
    requires pack != \null ==> pack->slots <= PML_SLOTS_MAX && pack->dimensions <= PML_DIMENSIONS_MAX;
    terminates \true;
    assigns \nothing;
    ensures pack != \null && config != \null && \result != 0 ==> \result == FRONT_MEMORY(pack) +
      (config->crowd != \null ? PML_CROWD_MEMORY(pack->features)
       : config->mechanism == PML_GAUSSIAN
         ? PML_GAUSSIAN_MEMORY(pack->features, pack->slots, pack->neighbours, pack->dimensions)
         : PML_RESPONSE_MEMORY(pack->features, pack->slots));
    ensures refused: \result == 0 <==> pack == \null || config == \null || pack->bytes == \null ||
      !(PML_RESPONSE <= mechanism_for(config) <= PML_CROWD) ||
      pack->section[mechanism_for(config) == PML_GAUSSIAN ? PML_SECTION_ANCHORS : PML_SECTION_PROTOTYPES] == \null; */
size_t pml_client_size(const pml_pack *pack, const pml_config *config);

#include "../../core/client.c"
#include "../../core/pipeline.c"

#include "../../core/guess.c"
#include "../../core/looks.c"
