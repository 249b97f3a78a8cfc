/* SPDX-License-Identifier: Apache-2.0
 * Reads fronts, and public rows of other modalities. */
#include "front_options.h"

#include "common/files.h"

#include <stdint.h>
#include <stdlib.h>

void front_options_fill(struct front_arguments *arguments, struct option_spec specs[FRONT_OPTIONS])
{
    specs[0] = (struct option_spec){"front", OPTION_LIST, &arguments->fronts, false, false};
    specs[1] = (struct option_spec){"modality", OPTION_TEXT, &arguments->modality, false, false};
    specs[2] = (struct option_spec){"with", OPTION_LIST, &arguments->with, false, false};
}

/* A text that cannot be used is an error of the options, a file that cannot is one of the input. */
static exit_code fail(const struct command *command, const char *option, pml_outcome outcome,
                      const struct pml_message *message)
{
    if (outcome == PML_NO_MEMORY)
        return command_no_memory(command);
    return command_fail(command, outcome == PML_REFUSED ? EXIT_USAGE : EXIT_INPUT, "--%s: %s", option, message->text);
}

static exit_code read_with(const struct command *command, const char *text, struct front_inputs *inputs)
{
    struct pml_message message = {""};
    const char *path;
    size_t modality;
    pml_outcome outcome = pml_fronts_split(&inputs->fronts, text, &modality, &path, &message);
    if (outcome != PML_DONE)
        return fail(command, "with", outcome, &message);
    if (modality == inputs->modality || inputs->with[modality].rows > 0)
        return command_fail(command, EXIT_USAGE,
                            "--with: there are rows of the modality %s already. Put all of them into one file.",
                            inputs->fronts.list[modality].name);
    outcome = pml_features_read(path, &inputs->with[modality], &message);
    return outcome == PML_DONE ? EXIT_OK : command_input(command, outcome, &message);
}

exit_code front_inputs_find(const struct command *command, const struct front_inputs *inputs, const char *option,
                            const char *name, size_t otherwise, size_t *modality)
{
    struct pml_message message = {""};
    const pml_outcome outcome = pml_fronts_find(&inputs->fronts, name, modality, &message);
    if (!name)
        *modality = otherwise;
    return outcome == PML_DONE ? EXIT_OK : fail(command, option, outcome, &message);
}

exit_code front_inputs_read(const struct command *command, const struct front_arguments *arguments,
                            struct front_inputs *inputs)
{
    struct pml_message message = {""};
    for (size_t i = 0; i < arguments->fronts.count; i++) {
        const pml_outcome outcome = pml_fronts_add(&inputs->fronts, arguments->fronts.values[i], &message);
        if (outcome != PML_DONE)
            return fail(command, "front", outcome, &message);
    }
    exit_code code = front_inputs_find(command, inputs, "modality", arguments->modality, 0, &inputs->modality);
    for (size_t i = 0; i < arguments->with.count && code == EXIT_OK; i++)
        code = read_with(command, arguments->with.values[i], inputs);
    return code;
}

void front_inputs_free(struct front_inputs *inputs)
{
    for (size_t i = 0; i < PML_MODALITIES_MAX; i++)
        pml_features_free(&inputs->with[i]);
    pml_fronts_free(&inputs->fronts);
}

size_t front_inputs_rows(const struct front_inputs *inputs)
{
    size_t rows = 0;
    for (size_t i = 0; i < PML_MODALITIES_MAX; i++)
        rows += inputs->with[i].rows;
    return rows;
}

exit_code head_input_read(const struct command *command, const char *path, struct head_input *head)
{
    struct pml_message message = {""};
    size_t size = 0;
    *head = (struct head_input){0};
    if (!path)
        return EXIT_OK;
    const pml_outcome outcome = pml_file_read(path, SIZE_MAX / 2, &head->file, &size, &message);
    if (outcome != PML_DONE)
        return command_input(command, outcome, &message);
    if (pml_front_open(&head->front, head->file, size) == PML_OK && head->front.labels)
        return EXIT_OK;
    if (head->front.kind != 0)
        pml_say(&message, "%s is a front, which tells no labels. Give it with --front.", path);
    else
        pml_fronts_refuse(path, head->file, size, "head", "privatemail train --head", &message);
    head_input_free(head);
    return command_fail(command, EXIT_INPUT, "--head: %s", message.text);
}

exit_code head_input_agree(const struct command *command, const char *path, const struct head_input *head,
                           const struct front_inputs *inputs, size_t columns)
{
    const size_t features = pml_fronts_of(&inputs->fronts, 0, columns).outputs;
    if (!path || head->front.inputs == features)
        return EXIT_OK;
    return command_fail(command, EXIT_INPUT,
                        "--head: %s takes %lu features, but the pack has %zu. Make it again, with --front when the "
                        "pack has a front.",
                        path, (unsigned long)head->front.inputs, features);
}

void head_input_free(struct head_input *head)
{
    free(head->file);
    *head = (struct head_input){0};
}
