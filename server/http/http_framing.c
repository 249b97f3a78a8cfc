/* SPDX-License-Identifier: Apache-2.0
 * In: the header of a request, as libmicrohttpd took it. Out: what is wrong with it, if anything.
 * Never lets a header pass that a strict reader of RFC 9112 would read otherwise. */
#define _POSIX_C_SOURCE 200809L
#include "http_framing.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

/* libmicrohttpd up to 0.9.76 also ends lines by LF or a zero byte, and puts a folded value into the *name* of its field,
 * which hides a Content-Length. All its strings lie in the buffer that the header was read into, as they were sent:
 * whatever else stood there left a gap between them. Later versions read headers strictly themselves. */
static const bool has_gaps = MHD_VERSION < 0x00097701;

static const char bad_lines[] = "Every field of a header is one line, ended by CR LF.";
static const char bad_field[] = "The name of a field has no blanks, and its value has no control characters.";
static const char two_lengths[] = "A request has one Content-Length or one Transfer-Encoding, not both.";
static const char bad_coding[] = "The only Transfer-Encoding is chunked, and it needs HTTP/1.1.";

struct reading {
    const struct pml_http_line *line;
    uintptr_t next; /* where the next line of the header must begin */
    unsigned lengths;
    bool chunked;
    const char *fault;
};

/* RFC 9110, 5.6.2 */
static bool is_token(const char *name)
{
    static const char characters[] = "!#$%&'*+-.^_`|~0123456789"
                                     "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return name[0] != 0 && name[strspn(name, characters)] == 0;
}

static bool is_value(const char *value)
{
    for (; *value; value++) {
        const unsigned char byte = (unsigned char)*value;
        if ((byte < ' ' && byte != '\t') || byte == 0x7F)
            return false;
    }
    return true;
}

static const char *field_fault(struct reading *reading, const char *name, const char *value)
{
    const bool coding = strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
    reading->lengths += coding || strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    reading->chunked = reading->chunked || coding;
    if (has_gaps && (uintptr_t)name != reading->next)
        return bad_lines;
    reading->next = (uintptr_t)value + strlen(value) + strlen("\r\n");
    if (!is_token(name) || !is_value(value))
        return bad_field;
    if (reading->lengths > 1)
        return two_lengths;
    if (coding && (strcasecmp(value, "chunked") != 0 || strcmp(reading->line->version, MHD_HTTP_VERSION_1_1) != 0))
        return bad_coding;
    return NULL;
}

static enum MHD_Result look_at(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct reading *reading = context;
    (void)kind;
    reading->fault = name && value ? field_fault(reading, name, value) : bad_field;
    return reading->fault ? MHD_NO : MHD_YES;
}

const char *pml_http_framing_fault(struct MHD_Connection *from, const struct pml_http_line *line, bool *chunked)
{
    const union MHD_ConnectionInfo *size = MHD_get_connection_info(from, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    const uintptr_t first = (uintptr_t)line->method, uri = first + strlen(line->method) + 1,
                    version = uri + line->uri_size + 1;
    struct reading reading = {.line = line, .next = version + strlen(line->version) + strlen("\r\n")};
    *chunked = false;
    if (has_gaps && ((uintptr_t)line->uri != uri || (uintptr_t)line->version != version))
        return bad_lines;
    (void)MHD_get_connection_values(from, MHD_HEADER_KIND, look_at, &reading);
    *chunked = reading.chunked;
    if (has_gaps && !reading.fault && (!size || reading.next + strlen("\r\n") != first + size->header_size))
        reading.fault = bad_lines;
    return reading.fault;
}
