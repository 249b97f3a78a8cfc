/* SPDX-License-Identifier: Apache-2.0 */
#include "base.h"

const char *pml_status_text(int status)
{
    static const char *const text[] = {
        "success",
        "an argument is null or out of range",
        "the client's memory is too small: ask pml_client_size",
        "the output buffer is too small",
        "the call does not fit the client's state: the order is arm, load, release",
        "epsilon is not a number, out of range, or needs more noise than fits",
        "delta must be 0 for response and between 2^-50 and 1 for the Gaussian",
        "the mechanism is unknown or left out of this build",
        "the vector has another number of features than the pack",
        "a feature is not finite, or all are zero",
        "the pack knows no such class",
        "a field of the pack is out of range or contradicts another",
        "not a pack, or of a version this library does not read",
        "the pack is truncated or longer than it says",
        "the pack is damaged: its hash does not fit",
        "the id is another pack's",
        "the pack lacks a section that this needs",
        "the pack's codes give a sensitivity of zero or too large",
        "the entropy source failed",
        "storing the budget failed: nothing was charged",
        "the budget is damaged or another owner's",
        "the budget cannot pay for one more release",
        "the bytes are not a release of this pack",
        "the bytes are not a sound answer",
    };
    return status <= 0 && status >= PML_ERROR_ANSWER ? text[-status] : "unknown status";
}

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

const char *pml_version(void)
{
    return TEXT(PML_VERSION_MAJOR) "." TEXT(PML_VERSION_MINOR) "." TEXT(PML_VERSION_PATCH);
}
