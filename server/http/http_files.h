/* SPDX-License-Identifier: Apache-2.0
 * Files of one folder, for a page that uses the service. */
#ifndef PML_HTTP_FILES_H
#define PML_HTTP_FILES_H

#include "http_reply.h"

/* The file at `path` ("/" is its index.html) below the open folder `root`. Nothing outside of it, no link, no name with
 * a dot in front: 404. `tag`: the request's If-None-Match, or NULL. */
struct pml_http_reply pml_http_file(int root, const char *path, const char *tag, const char *connect);

#endif
