/* SPDX-License-Identifier: Apache-2.0
 * Reads what a pack is built from. */
#include "pack_inputs.h"
#include "cli/shared/output.h"

#include <string.h>

exit_code pack_inputs_read(const struct pack_paths *paths, struct pack_inputs *inputs)
{
    struct pml_message message = {""};
    exit_code code = front_inputs_read(&command_pack, &paths->fronts, &inputs->fronts);
    if (code == EXIT_OK)
        code = head_input_read(&command_pack, paths->head, &inputs->head);
    if (code != EXIT_OK)
        return code;
    pml_outcome outcome = pml_features_read(paths->features, &inputs->features, &message);
    if (outcome == PML_DONE && paths->labels)
        outcome = pml_labels_read(paths->labels, &inputs->labels, &message);
    if (outcome == PML_DONE && paths->gallery)
        outcome = pml_features_read(paths->gallery, &inputs->gallery, &message);
    if (outcome != PML_DONE)
        return command_input(&command_pack, outcome, &message);
    if (paths->labels && inputs->labels.rows != inputs->features.rows)
        return command_fail(&command_pack, EXIT_INPUT,
                            "%s has %zu labels, but %s has %zu rows. Give one label per row.", paths->labels,
                            inputs->labels.rows, paths->features, inputs->features.rows);
    return head_input_agree(&command_pack, paths->head, &inputs->head, &inputs->fronts, inputs->features.columns);
}

void pack_inputs_free(struct pack_inputs *inputs)
{
    pml_features_free(&inputs->features);
    pml_features_free(&inputs->gallery);
    pml_labels_free(&inputs->labels);
    front_inputs_free(&inputs->fronts);
    head_input_free(&inputs->head);
}

exit_code pack_inputs_apart(const struct pack_paths *paths, const char *out)
{
    const struct option_list *const lists[] = {&paths->fronts.fronts, &paths->fronts.with};
    exit_code code = output_apart(&command_pack, out, paths->features, "the features");
    if (code == EXIT_OK)
        code = output_apart(&command_pack, out, paths->labels, "the labels");
    if (code == EXIT_OK)
        code = output_apart(&command_pack, out, paths->gallery, "the gallery");
    if (code == EXIT_OK)
        code = output_apart(&command_pack, out, paths->head, "the head");
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < lists[i]->count && code == EXIT_OK; j++) {
            const char *file = strchr(lists[i]->values[j], '=');
            code = output_apart(&command_pack, out, file ? file + 1 : NULL, i == 0 ? "a front" : "rows");
        }
    }
    return code;
}

size_t pack_inputs_rows(const struct pack_inputs *inputs)
{
    return inputs->features.rows + front_inputs_rows(&inputs->fronts) + inputs->gallery.rows;
}
