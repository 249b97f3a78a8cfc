/* SPDX-License-Identifier: Apache-2.0
 * The options of a query. */
#include "query_options.h"

#include <string.h>

/* ---- reading ---- */

static exit_code read_id(const struct command *command, struct query_arguments *arguments)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *text = arguments->pack_id;
    size_t length = 2 * sizeof arguments->id;
    if (!text)
        return EXIT_OK;
    if (strlen(text) != length || strspn(text, digits) != length)
        return command_fail(command, EXIT_USAGE,
                            "--pack-id must be %zu hexadecimal digits; privatemail inspect shows them.", length);
    for (size_t i = 0; i < length; i++) {
        uint8_t digit = (uint8_t)((strchr(digits, text[i]) - digits) & 15);
        arguments->id[i / 2] = (uint8_t)(arguments->id[i / 2] << 4 | digit);
    }
    return EXIT_OK;
}

exit_code query_options_label(const struct command *command, const struct query_arguments *arguments)
{
    if (arguments->has_label && arguments->labels)
        return command_fail(command, EXIT_USAGE, "--label and --labels say the same thing. Give one of them.");
    if (arguments->has_label && !(arguments->label >= INT32_MIN && arguments->label <= INT32_MAX &&
                                  (double)(int32_t)arguments->label == arguments->label))
        return command_fail(command, EXIT_USAGE, "--label must be a whole number of 32 bits.");
    return EXIT_OK;
}

exit_code query_options_parse(const struct command *command, int argc, char **argv, struct query_arguments *arguments,
                              struct option_spec *own, size_t count)
{
    enum { COMMON = 17 };
    struct option_spec specs[COMMON + QUERY_OWN_OPTIONS_MAX] = {
        {"label", OPTION_NUMBER, &arguments->label, false, false},
        {"epsilon", OPTION_NUMBER, &arguments->epsilon, false, false},
        {"delta", OPTION_NUMBER, &arguments->delta, false, false},
        {"value-bytes", OPTION_COUNT, &arguments->value_bytes, false, false},
        {"pack", OPTION_TEXT, &arguments->pack, true, false},
        {"pack-id", OPTION_TEXT, &arguments->pack_id, false, false},
        {"model", OPTION_TEXT, &arguments->model, false, false},
        {"features", OPTION_TEXT, &arguments->features, !arguments->may_lack_features, false},
        {"labels", OPTION_TEXT, &arguments->labels, false, false},
        {"row", OPTION_COUNT, &arguments->row, false, false},
        {"modality", OPTION_TEXT, &arguments->modality, false, false},
        {"mechanism", OPTION_TEXT, &arguments->mechanism, false, false},
        {"budget", OPTION_TEXT, &arguments->budget, false, false},
        {"budget-new", OPTION_TEXT, &arguments->budget_new, false, false},
        {"budget-crowd", OPTION_TEXT, &arguments->budget_crowd, false, false},
        {"owner", OPTION_TEXT, &arguments->owner, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    memcpy(specs + COMMON, own, count * sizeof *own);
    exit_code code = options_parse(command, argc, argv, specs, COMMON + count, NULL, 0, 0);
    memcpy(own, specs + COMMON, count * sizeof *own);
    arguments->has_label = specs[0].given;
    arguments->has_epsilon = specs[1].given;
    arguments->has_delta = specs[2].given;
    arguments->has_value_bytes = specs[3].given;
    if (code == EXIT_OK)
        code = read_id(command, arguments);
    return code == EXIT_OK ? query_options_label(command, arguments) : code;
}

/* ---- checking ---- */

/* In a crowd ε and δ are the crowd's. */
static exit_code check_crowd(const struct command *command, struct query_arguments *arguments)
{
    if (strcmp(arguments->mechanism, "response") != 0 || arguments->has_value_bytes)
        return command_fail(command, EXIT_USAGE, "a crowd asks by response. Leave --mechanism and --value-bytes out.");
    if (!arguments->has_delta)
        arguments->delta = CROWD_DELTA_DEFAULT;
    return crowd_goal_check(command, &arguments->crowd, arguments->epsilon, arguments->delta);
}

static exit_code check_privacy(const struct command *command, struct query_arguments *arguments)
{
    const char *mechanism = arguments->mechanism;
    bool gaussian = strcmp(mechanism, "gaussian") == 0;
    if (!gaussian && strcmp(mechanism, "response") != 0)
        return command_fail(command, EXIT_USAGE, "--mechanism must be response or gaussian, not '%s'.", mechanism);
    if (!(arguments->epsilon >= PML_EPSILON_MIN && arguments->epsilon <= PML_EPSILON_MAX))
        return command_fail(command, EXIT_USAGE,
                            "--epsilon must be 1e-6 to 16. Smaller is more private; 1 to 8 is usual.");
    if (!gaussian && arguments->has_delta)
        return command_fail(command, EXIT_USAGE,
                            "--delta belongs to --mechanism gaussian. Leave it out: response has none.");
    if (!gaussian && arguments->has_value_bytes)
        return command_fail(command, EXIT_USAGE, "--value-bytes belongs to --mechanism gaussian. Leave it out.");
    if (gaussian && !arguments->has_delta)
        arguments->delta = 1e-5;
    if (gaussian && !(arguments->delta >= 0x1p-50 && arguments->delta < 1.0))
        return command_fail(command, EXIT_USAGE, "--delta must be 1e-15 to below 1; 1e-5 is the default.");
    if (arguments->has_value_bytes && arguments->value_bytes != 1 && arguments->value_bytes != 2)
        return command_fail(command, EXIT_USAGE, "--value-bytes must be 1 or 2.");
    return EXIT_OK;
}

exit_code query_options_check(const struct command *command, struct query_arguments *arguments)
{
    if (!arguments->has_epsilon && !arguments->crowd.taken)
        return command_fail(command, EXIT_USAGE, "--epsilon is missing. privatemail %s --help explains what it is.",
                            command->name);
    if (!arguments->budget && (arguments->budget_new || arguments->budget_crowd || arguments->owner))
        return command_fail(command, EXIT_USAGE, "--%s needs --budget FILE.",
                            arguments->owner        ? "owner"
                            : arguments->budget_new ? "budget-new"
                                                    : "budget-crowd");
    if (!arguments->mechanism)
        arguments->mechanism = "response";
    if (!arguments->owner)
        arguments->owner = "default";
    return arguments->crowd.asked ? check_crowd(command, arguments) : check_privacy(command, arguments);
}
