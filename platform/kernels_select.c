/* SPDX-License-Identifier: Apache-2.0
 * Chooses among the kernels of the one list (core/base/kernels.h) by what the CPU can do. No state: asked anew each time. */
#include "privatemail_platform.h"

#include "../core/base/kernels.h"

#if defined(PML_KERNELS_X86_64)
#include <cpuid.h>
#elif defined(PML_KERNELS_AARCH64) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(PML_KERNELS_AARCH64) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

static bool cpu_runs_portable(void)
{
    return true;
}

/* ---- x86-64 ---- */

#if defined(PML_KERNELS_X86_64)
/* The registers that the operating system saves for each thread (XCR0); 0 when it cannot be asked. */
static uint32_t saved_registers(void)
{
    uint32_t eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE) || !(ecx & bit_AVX))
        return 0;
    __asm__("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return eax;
}

#define SAVED_YMM 0x06u /* XMM, upper halves of YMM */
#define SAVED_ZMM 0xE6u /* those, masks, upper halves of ZMM, ZMM16 to ZMM31 */

static bool cpu_runs_avx2(void)
{
    uint32_t eax, ebx, ecx, edx;
    return (saved_registers() & SAVED_YMM) == SAVED_YMM && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (ebx & bit_AVX2) && (ebx & bit_BMI2);
}

static bool cpu_runs_avx512vnni(void)
{
    const uint32_t needed = bit_AVX512F | bit_AVX512BW | bit_AVX512VL | bit_BMI2;
    uint32_t eax, ebx, ecx, edx;
    return (saved_registers() & SAVED_ZMM) == SAVED_ZMM && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
           (ebx & needed) == needed && (ecx & bit_AVX512VNNI);
}

static bool cpu_has_sha256(void)
{
    const uint32_t needed = bit_SSSE3 | bit_SSE4_1;
    uint32_t eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & needed) == needed &&
           __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA);
}
#endif

/* ---- ARM ---- */

#if defined(PML_KERNELS_NEON)
static bool cpu_runs_neon(void)
{
    return true; /* or this file would not run */
}
#endif

#if defined(PML_KERNELS_AARCH64)
static bool cpu_runs_neon_dotprod(void)
{
#if defined(__ARM_FEATURE_DOTPROD)
    return true;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & ((unsigned long)1 << 20)) != 0; /* HWCAP_ASIMDDP */
#elif defined(__APPLE__)
    int runs = 0;
    size_t size = sizeof runs;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &runs, &size, NULL, 0) == 0 && runs == 1;
#else
    return false;
#endif
}
#endif

#if defined(PML_KERNELS_AARCH64)
static bool cpu_has_sha256(void)
{
#if defined(__ARM_FEATURE_SHA2) || defined(__APPLE__) /* all that Apple made */
    return true;
#elif defined(__linux__)
    return (getauxval(AT_HWCAP) & ((unsigned long)1 << 6)) != 0;  /* HWCAP_SHA2 */
#else
    return false;
#endif
}
#endif

#if defined(PML_KERNELS_HELIUM)
static bool cpu_runs_helium(void)
{
    return true;
}
#endif

#if defined(PML_KERNELS_DSP)
static bool cpu_runs_dsp(void)
{
    return true;
}
#endif

/* ---- the choice ---- */

const struct pml_kernels *pml_kernels_among(size_t count)
{
    const struct pml_kernels *best = &pml_kernels_portable;
#define CONSIDER(name)                                                                                                 \
    if (count > 0 && count-- && cpu_runs_##name())                                                                     \
        best = &pml_kernels_##name;
    PML_KERNEL_LIST(CONSIDER)
#if defined(PML_KERNELS_X86_64) || defined(PML_KERNELS_AARCH64)
    if (best->with_sha256 && cpu_has_sha256())
        best = best->with_sha256;
#endif
    return best;
}

const struct pml_kernels *pml_platform_kernels(void)
{
    return pml_kernels_among(PML_KERNEL_COUNT);
}
