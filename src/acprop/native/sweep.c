#include "sweep.h"

#include <math.h>

/* β2s are worked off in tiles whose state stays in the L1 cache, and whose length is a
   multiple of any vector's. */
enum { TILE = 64, VECTOR = 8 };

#define ISA base
#include "sweep_tile.inc"
#undef ISA

#include "isa.h"
#ifdef HAVE_X86_LEVELS
AVX2_BEGIN
#define ISA avx2
#include "sweep_tile.inc"
#undef ISA
ISA_END
AVX512_BEGIN
#define ISA avx512
#include "sweep_tile.inc"
#undef ISA
ISA_END
#endif

typedef void (*tile_function)(const acprop_sweep_job *, int64_t, double *);

static tile_function choose(void) {
#ifdef HAVE_X86_LEVELS
    int level = acprop_isa();
    if (level == 2) return tile_avx512;
    if (level == 1) return tile_avx2;
#endif
    return tile_base;
}

int acprop_sweep(const acprop_sweep_job *job, double *distance) {
    if (job->n_rules > ACPROP_MAX_RULES || job->n_alphas > ACPROP_MAX_ALPHAS ||
        job->period < 1 || job->tail < 1 || job->tail > job->steps)
        return -1;
    for (int64_t i = 0; i < job->n_rules; i++)
        if (job->rules[i].delay != 0 && job->rules[i].delay != 1) return -1;
    tile_function tile = choose();
    for (int64_t first = 0; first < job->n_beta2; first += TILE)
        tile(job, first, distance);
    return 0;
}
