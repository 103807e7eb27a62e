#include "isa.h"

#include "step.h"

static int level_in_use = -1;

int acprop_use_isa(int level) {
    int best = 0;
#ifdef HAVE_X86_LEVELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) best = 1;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        best = 2;
#endif
    level_in_use = level < 0 || level > best ? best : level;
    return level_in_use;
}

int acprop_isa(void) { return level_in_use < 0 ? acprop_use_isa(-1) : level_in_use; }

int acprop_abi(void) { return ACPROP_ABI; }
