/* SPDX-License-Identifier: Apache-2.0
 * Writes what went wrong into a message, cut to its room. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>

pml_outcome pml_say(struct pml_message *message, const char *format, ...)
{
    if (!message)
        return PML_REFUSED;
    va_list values;
    va_start(values, format);
    vsnprintf(message->text, sizeof message->text, format, values);
    va_end(values);
    return PML_REFUSED;
}

pml_outcome pml_say_memory(struct pml_message *message)
{
    pml_say(message, "Out of memory: use fewer rows, or a larger machine.");
    return PML_NO_MEMORY;
}

pml_outcome pml_say_version(struct pml_message *message, const char *what, unsigned long found, unsigned long read)
{
    pml_say(message,
            "%s is of version %lu, and this program reads version %lu. Use a newer privatemail: this one leaves it as "
            "it is.",
            what, found, read);
    return PML_OTHER_VERSION;
}
