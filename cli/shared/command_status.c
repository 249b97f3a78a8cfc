/* SPDX-License-Identifier: Apache-2.0
 * Translates a pml_status for a person: the exit code, and what to do next. */
#include "command.h"

#include <privatemail.h>

static const struct {
    pml_status status;
    exit_code code;
    const char *remedy;
} remedies[] = {
    {PML_ERROR_ARGUMENT, EXIT_USAGE, "Compare the options with --help."},
    {PML_ERROR_EPSILON, EXIT_PRIVACY, "The noise for it is too large: choose a larger --epsilon."},
    {PML_ERROR_DELTA, EXIT_USAGE, "Leave --delta out for response; give 1e-15 to below 1 for gaussian."},
    {PML_ERROR_MECHANISM, EXIT_PRIVACY, "Choose the other --mechanism, or a build that has this one."},
    {PML_ERROR_DIMENSION, EXIT_INPUT, "Use features of the model that the pack was built with."},
    {PML_ERROR_FEATURES, EXIT_INPUT, "Choose another row, or compute the features again."},
    {PML_ERROR_LABEL, EXIT_INPUT, "Use a class of the pack."},
    {PML_ERROR_PACK, EXIT_INPUT, "Fetch the pack again, or build it again with privatemail pack."},
    {PML_ERROR_PACK_VERSION, EXIT_INPUT, "Check that it is a pack (.pmpk), or build it again with privatemail pack."},
    {PML_ERROR_PACK_SIZE, EXIT_INPUT, "Fetch the pack again, or build it again with privatemail pack."},
    {PML_ERROR_PACK_HASH, EXIT_INPUT, "Fetch the pack again, or build it again with privatemail pack."},
    {PML_ERROR_PACK_ID, EXIT_INPUT, "Use the pack it was made with."},
    {PML_ERROR_PACK_MODEL, EXIT_INPUT, "Use the pack of your model."},
    {PML_ERROR_CROWD, EXIT_PRIVACY, "Compare it with what privatemail crowd plans."},
    {PML_ERROR_KEYS, EXIT_INPUT, "Fetch the key configuration again, by the way that the pack came."},
    {PML_ERROR_SEALED, EXIT_INPUT, "Send the same message again in a later epoch."},
    {PML_ERROR_MODALITY, EXIT_INPUT, "Choose a --modality that privatemail inspect shows."},
    {PML_ERROR_FRONT, EXIT_INPUT, "Make it again with privatemail train."},
    {PML_ERROR_SECTION, EXIT_PRIVACY,
     "Choose the other --mechanism, or build the pack for this one (privatemail inspect tells what it serves)."},
    {PML_ERROR_SENSITIVITY, EXIT_PRIVACY, "Use --mechanism response, or build the pack with --alpha 0 or other codes."},
    {PML_ERROR_ENTROPY, EXIT_FAULT,
     "The system's random generator does not work, so no release was made: check the system."},
    {PML_ERROR_BUDGET, EXIT_BUDGET, "Use the right file and --owner; never put back an old copy."},
    {PML_ERROR_SPENT, EXIT_BUDGET,
     "Send a release that was already made, or start a new budget if you accept its cost."},
    {PML_ERROR_RELEASE, EXIT_INPUT, "Check that it is a release (.cbor), whole, and of this pack."},
    {PML_ERROR_ANSWER, EXIT_INPUT,
     "Check that it is an answer, whole, and to a message of a crowd, or fetch it again."},
};

exit_code command_status(const struct command *command, const char *subject, int status)
{
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        if (remedies[i].status == status)
            return command_fail(command, remedies[i].code, "%s: %s. %s", subject, pml_status_text(status),
                                remedies[i].remedy);
    }
    return command_fail(command, EXIT_FAULT, "%s: %s. Please report this.", subject, pml_status_text(status));
}
