/* SPDX-License-Identifier: Apache-2.0
 * The options of privatize. In: argv. Out: values within their limits, or a message. */
#define _POSIX_C_SOURCE 200809L
#include "privatize_options.h"

#include <string.h>
#include <unistd.h>

enum { REPEAT_MAX = 10000 };

static int parse(int argc, char **argv, struct privatize_arguments *arguments)
{
    struct option_spec specs[] = {
        {"label", OPTION_NUMBER, &arguments->label, false, false},
        {"delta", OPTION_NUMBER, &arguments->delta, false, false},
        {"value-bytes", OPTION_COUNT, &arguments->value_bytes, false, false},
        {"repeat", OPTION_COUNT, &arguments->repeat, false, false},
        {"pack", OPTION_TEXT, &arguments->pack, true, false},
        {"pack-id", OPTION_TEXT, &arguments->pack_id, false, false},
        {"features", OPTION_TEXT, &arguments->features, true, false},
        {"labels", OPTION_TEXT, &arguments->labels, false, false},
        {"row", OPTION_COUNT, &arguments->row, false, false},
        {"mechanism", OPTION_TEXT, &arguments->mechanism, false, false},
        {"epsilon", OPTION_NUMBER, &arguments->epsilon, true, false},
        {"budget", OPTION_TEXT, &arguments->budget, false, false},
        {"budget-new", OPTION_TEXT, &arguments->budget_new, false, false},
        {"owner", OPTION_TEXT, &arguments->owner, false, false},
        {"out", OPTION_TEXT, &arguments->out, true, false},
        {"force", OPTION_FLAG, &arguments->force, false, false},
        {"json", OPTION_FLAG, &arguments->json, false, false},
    };
    int code = options_parse(&command_privatize, argc, argv, specs, sizeof specs / sizeof specs[0], NULL, 0, 0);
    arguments->has_label = specs[0].given;
    arguments->has_delta = specs[1].given;
    arguments->has_value_bytes = specs[2].given;
    arguments->has_repeat = specs[3].given;
    return code;
}

static int check_privacy(struct privatize_arguments *arguments)
{
    const struct command *command = &command_privatize;
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
    return -1;
}

static int read_id(struct privatize_arguments *arguments)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *text = arguments->pack_id;
    size_t length = 2 * sizeof arguments->id;
    if (!text)
        return -1;
    if (strlen(text) != length || strspn(text, digits) != length)
        return command_fail(&command_privatize, EXIT_USAGE,
                            "--pack-id must be %zu hexadecimal digits; privatemail inspect tells them.", length);
    for (size_t i = 0; i < length; i++) {
        uint8_t digit = (uint8_t)((strchr(digits, text[i]) - digits) & 15);
        arguments->id[i / 2] = (uint8_t)(arguments->id[i / 2] << 4 | digit);
    }
    return -1;
}

static int check(struct privatize_arguments *arguments)
{
    const struct command *command = &command_privatize;
    bool to_stdout = strcmp(arguments->out, "-") == 0;
    if (arguments->has_label && arguments->labels)
        return command_fail(command, EXIT_USAGE, "--label and --labels say the same thing. Give one of them.");
    if (arguments->has_label && !(arguments->label >= INT32_MIN && arguments->label <= INT32_MAX &&
                                  (double)(int32_t)arguments->label == arguments->label))
        return command_fail(command, EXIT_USAGE, "--label must be a whole number of 32 bits.");
    if (arguments->has_repeat && (arguments->repeat < 1 || arguments->repeat > REPEAT_MAX))
        return command_fail(command, EXIT_USAGE, "--repeat must be 1 to %d.", REPEAT_MAX);
    if (!arguments->budget && (arguments->budget_new || arguments->owner))
        return command_fail(command, EXIT_USAGE, "--%s needs --budget FILE.",
                            arguments->owner ? "owner" : "budget-new");
    if (to_stdout && (arguments->json || arguments->has_repeat))
        return command_fail(command, EXIT_USAGE,
                            "--out - leaves stdout to one release. Name a file to use --json or "
                            "--repeat.");
    if (to_stdout && isatty(STDOUT_FILENO))
        return command_fail(command, EXIT_USAGE,
                            "--out - would write bytes to a terminal. Send stdout to a file or a pipe.");
    if (!arguments->mechanism)
        arguments->mechanism = "response";
    if (!arguments->owner)
        arguments->owner = "default";
    if (!arguments->has_repeat)
        arguments->repeat = 1;
    return check_privacy(arguments);
}

int privatize_options(int argc, char **argv, struct privatize_arguments *arguments)
{
    int code = parse(argc, argv, arguments);
    if (code < 0)
        code = read_id(arguments);
    return code < 0 ? check(arguments) : code;
}
