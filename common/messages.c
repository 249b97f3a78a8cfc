/* SPDX-License-Identifier: Apache-2.0
 * In: a format and its values. Out: the text of a message, cut to its room.
 * Never prints. */
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>

int pml_say(struct pml_message *message, const char *format, ...)
{
    if (!message)
        return -1;
    va_list values;
    va_start(values, format);
    vsnprintf(message->text, sizeof message->text, format, values);
    va_end(values);
    return -1;
}

int pml_say_memory(struct pml_message *message)
{
    pml_say(message, "Not enough memory: use fewer rows, or a larger machine.");
    return PML_NO_MEMORY;
}
