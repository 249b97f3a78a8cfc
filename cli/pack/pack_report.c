/* SPDX-License-Identifier: Apache-2.0
 * What pack tells about a pack that it built. */
#include "pack_report.h"

#include <math.h>
#include <stdio.h>

void pack_report_print(const char *out, const struct pack_file *file, const struct pml_build_report *report,
                       const struct pack_crowd *crowd)
{
    (void)crowd; /* pack_crowd_tell says it */
    pml_certificate certificate;
    pml_status certified = pack_file_certify(file, &certificate);
    size_t response = pack_file_memory(file, PML_RESPONSE), gaussian = pack_file_memory(file, PML_GAUSSIAN);
    printf("%s: pack %s, %zu bytes\n", out, file->id, file->size);
    if (pack_file_model(file))
        printf("model: %s\n", pack_file_model(file));
    printf("%zu anchors, %zu classes, %zu slots with %zu cells each\n", report->anchors, report->classes, report->slots,
           report->cells);
    printf("%zu prototypes per slot, each the mean of %zu rows or more", report->prototypes,
           report->rows_per_prototype);
    if (report->repeated > 0)
        printf(" (%zu repeat others: their slots have too few rows)", report->repeated);
    printf("; sketches of %zu bytes\n", report->sketch);
    if (report->gallery > 0)
        printf("prototypes depend on %zu rows of the gallery\n", report->gallery);
    if (report->bandwidth > 0.0)
        printf("bandwidth %.6g\n", report->bandwidth);
    if (certified == PML_OK)
        printf("certified sensitivity %.6g embedding units\n", certificate.sensitivity);
    else if (gaussian > 0)
        printf("cannot serve the gaussian: %s\n", pml_status_text(certified));
    if (response > 0)
        printf("client memory, response: %zu bytes\n", response);
    if (gaussian > 0)
        printf("client memory, gaussian: %zu bytes\n", gaussian);
}

void pack_report_write(const char *out, const struct pack_file *file, const struct pml_build_report *report,
                       const struct pack_crowd *crowd)
{
    struct json json = {0};
    pml_certificate certificate;
    pml_status certified = pack_file_certify(file, &certificate);
    size_t response = pack_file_memory(file, PML_RESPONSE), gaussian = pack_file_memory(file, PML_GAUSSIAN);
    json_open(&json, NULL, '{');
    json_text(&json, "out", out);
    json_text(&json, "pack", file->id);
    json_text(&json, "model", pack_file_model(file));
    json_count(&json, "bytes", file->size);
    json_count(&json, "anchors", report->anchors);
    json_count(&json, "classes", report->classes);
    json_count(&json, "slots", report->slots);
    json_count(&json, "cells", report->cells);
    json_count(&json, "prototypes", report->prototypes);
    json_count(&json, "repeated", report->repeated);
    json_count(&json, "rows_per_prototype", report->rows_per_prototype);
    json_count(&json, "gallery", report->gallery);
    json_count(&json, "refine", report->refine);
    json_number(&json, "epsilon", report->epsilon > 0.0 ? report->epsilon : NAN);
    json_number(&json, "share", report->share > 0.0 ? report->share : NAN);
    pack_crowd_write(crowd, &json);
    json_count(&json, "sketch", report->sketch);
    json_number(&json, "bandwidth", report->bandwidth > 0.0 ? report->bandwidth : NAN);
    json_number(&json, "sensitivity", certified == PML_OK ? certificate.sensitivity : NAN);
    json_number(&json, "response_memory", response > 0 ? (double)response : NAN);
    json_number(&json, "gaussian_memory", gaussian > 0 ? (double)gaussian : NAN);
    json_close(&json, '}');
}
