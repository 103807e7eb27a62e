#include "step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "isa.h"

#ifdef HAVE_X86_LEVELS
#include <immintrin.h>
#endif

/* Tensors are cut into chunks, which are never shared between threads and are the
   unit of summation; chunks are worked off in blocks that stay in the L1 cache. */
enum { CHUNK = 16384, BLOCK = 512, LANES = 16, BINS = 64 };
/* Below this a second thread costs more than it brings; see perf/step.py. */
enum { WORTH_THREADS = 32768 };

/* The numbers of one step of one tensor, as `settings.Scalars`. */
typedef struct {
    double limit, scale, floor, mean, bound;
    int unseen;
} scalars;

typedef struct {
    double sum_sq, sum_abs, peak;
} sums;

typedef struct {
    int64_t tensor, start, length;
} chunk;

typedef struct job job;
typedef void (*chunk_function)(const job *, const chunk *, sums *);

struct job {
    const acprop_table *table;
    const acprop_settings *h;
    const scalars *scalars;
    const chunk *chunks;
    int64_t n_chunks;
    sums *sums;       /* one per chunk */
    int64_t *bins;    /* BINS + 1 borders in chunks, of about equal work */
    int only_sums;
    chunk_function advance, measure;
};

/* The inner loops, once for each instruction set and type of arithmetic. */

#define PASTE3(a, b, c) a##_##b##_##c
#define NAME3(a, b, c) PASTE3(a, b, c)
#define NAME(name) NAME3(name, ISA, REAL)

#define ISA base
#define VECTOR_BYTES 16
#ifdef HAVE_X86_LEVELS
#define ROOTS_FLOAT(v) _mm_sqrt_ps((__m128)(v))
#define ROOTS_DOUBLE(v) _mm_sqrt_pd((__m128d)(v))
#endif
#include "step_types.inc"
#undef ISA

#ifdef HAVE_X86_LEVELS
AVX2_BEGIN
#define ISA avx2
#define VECTOR_BYTES 32
#define ROOTS_FLOAT(v) _mm256_sqrt_ps((__m256)(v))
#define ROOTS_DOUBLE(v) _mm256_sqrt_pd((__m256d)(v))
#include "step_types.inc"
#undef ISA
ISA_END
AVX512_BEGIN
#define ISA avx512
#define VECTOR_BYTES 64
#define ROOTS_FLOAT(v) _mm512_sqrt_ps((__m512)(v))
#define ROOTS_DOUBLE(v) _mm512_sqrt_pd((__m512d)(v))
#include "step_types.inc"
#undef ISA
ISA_END
#endif

static void choose_loops(job *j) {
    int wide = j->h->dtype == ACPROP_F64;
#define CHOOSE(isa)                                                                \
    j->advance = wide ? advance_##isa##_double : advance_##isa##_float;            \
    j->measure = wide ? measure_##isa##_double : measure_##isa##_float
#ifdef HAVE_X86_LEVELS
    int level = acprop_isa();
    if (level == 2) {
        CHOOSE(avx512);
        return;
    }
    if (level == 1) {
        CHOOSE(avx2);
        return;
    }
#endif
    CHOOSE(base);
}

static double read_number(const void *p, int is_double, int i) {
    return is_double ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static void write_number(void *p, int is_double, int i, double value) {
    if (is_double)
        ((double *)p)[i] = value;
    else
        ((float *)p)[i] = (float)value;
}

static double largest_counted(const void *guard, const acprop_settings *h) {
    int wide = h->dtype == ACPROP_F64;
    if (!h->guarded || read_number(guard, wide, 0) == 0) return INFINITY;
    return h->clamp * read_number(guard, wide, 2);
}

/* `settings.scalars`, in the same order of operations; limit is left alone. */
static void fill_scalars(scalars *c, double t, const void *guard,
                         const acprop_settings *h) {
    double k = t - h->delay > 0 ? t - h->delay : 0;
    double decayed = pow(h->beta2, k);
    double total = h->bias_correction ? 1 - decayed : 1;
    c->floor = h->eps_placement == ACPROP_INSIDE ? h->eps : 0;
    c->unseen = k == 0;
    if (h->guarded) {
        int wide = h->dtype == ACPROP_F64;
        double A = read_number(guard, wide, 1);
        double q = (1 - h->beta2) * h->n0 * decayed;
        total = total + q == 0 ? 1 : total + q;
        c->floor = (q / total + h->kappa * h->kappa) * A + c->floor;
        c->unseen = read_number(guard, wide, 0) == 0;
    }
    if (h->first_step == ACPROP_STAND_STILL && c->unseen) c->floor = INFINITY;
    if (h->first_step == ACPROP_ONE && c->unseen) c->floor = 1;
    c->scale = 1 / (total == 0 ? 1 : total);
    c->mean = h->momentum && h->bias_correction ? 1 / (1 - pow(h->beta1, t)) : 1;
    c->bound = h->clip_kind == ACPROP_CLIP_GROWING ? pow(t, 0.25) : h->clip;
}

/* `settings.record`: what the guard remembers of this gradient. */
static void record(void *guard, const acprop_settings *h, sums total) {
    int wide = h->dtype == ACPROP_F64;
    double w = total.sum_sq / (total.sum_abs == 0 ? 1 : total.sum_abs);
    if (!(w > 0 && w < INFINITY)) return;
    double n = read_number(guard, wide, 0) + 1;
    double A = read_number(guard, wide, 1);
    double B = read_number(guard, wide, 2);
    double pace = 1 / n > (1 - h->beta2) / 10 ? 1 / n : (1 - h->beta2) / 10;
    double fallen = A + (w * w - A) * pace;
    write_number(guard, wide, 0, n);
    write_number(guard, wide, 1, w * w > fallen ? w * w : fallen);
    write_number(guard, wide, 2, B > total.peak ? B : total.peak);
}

static void record_all(const job *j) {
    int64_t i = 0;
    for (int64_t tensor = 0; tensor < j->table->n; tensor++) {
        sums total = {0, 0, 0};
        for (; i < j->n_chunks && j->chunks[i].tensor == tensor; i++) {
            total.sum_sq += j->sums[i].sum_sq;
            total.sum_abs += j->sums[i].sum_abs;
            if (j->sums[i].peak > total.peak) total.peak = j->sums[i].peak;
        }
        record(j->table->guard[tensor], j->h, total);
    }
}

static void run_bins(int64_t begin, int64_t end, void *context) {
    const job *j = context;
    chunk_function run = j->only_sums ? j->measure : j->advance;
    for (int64_t i = j->bins[begin]; i < j->bins[end]; i++)
        run(j, &j->chunks[i], &j->sums[i]);
}

static void run(job *j, int64_t n_elements, acprop_parallel_for parallel_for) {
    if (parallel_for == NULL || n_elements < WORTH_THREADS)
        run_bins(0, BINS, j);
    else
        parallel_for(0, BINS, 1, run_bins, j);
}

static int64_t cut(const acprop_table *table, chunk *chunks) {
    int64_t n = 0;
    for (int64_t i = 0; i < table->n; i++)
        for (int64_t start = 0; start < table->numel[i]; start += CHUNK) {
            int64_t left = table->numel[i] - start;
            chunks[n].tensor = i;
            chunks[n].start = start;
            chunks[n++].length = left < CHUNK ? left : CHUNK;
        }
    return n;
}

static void fill_bins(job *j, int64_t n_elements) {
    int64_t done = 0, bin = 0;
    for (int64_t i = 0; i < j->n_chunks; i++) {
        while (bin < BINS && done >= (n_elements * bin) / BINS) j->bins[bin++] = i;
        done += j->chunks[i].length;
    }
    while (bin <= BINS) j->bins[bin++] = j->n_chunks;
}

int acprop_step(const acprop_table *table, const acprop_settings *h,
                acprop_parallel_for parallel_for) {
    int64_t n_elements = 0, n_chunks = 0, bins[BINS + 1];
    for (int64_t i = 0; i < table->n; i++) {
        n_elements += table->numel[i];
        n_chunks += (table->numel[i] + CHUNK - 1) / CHUNK;
    }
    size_t bytes = (size_t)n_chunks * (sizeof(chunk) + sizeof(sums)) +
                   (size_t)table->n * sizeof(scalars);
    char *memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL) return -1;
    chunk *chunks = (chunk *)memory;
    sums *partial = (sums *)(chunks + n_chunks);
    scalars *c = (scalars *)(partial + n_chunks);
    job j = {.table = table, .h = h, .scalars = c, .chunks = chunks, .sums = partial,
             .bins = bins};
    j.n_chunks = cut(table, chunks);
    fill_bins(&j, n_elements);
    choose_loops(&j);

    for (int64_t i = 0; i < table->n; i++) {
        double t = read_number(table->step[i], h->step_is_double, 0) + 1;
        write_number(table->step[i], h->step_is_double, 0, t);
        c[i].limit = largest_counted(h->guarded ? table->guard[i] : NULL, h);
    }
    if (h->guarded && h->delay == 0) {
        /* Synchronous: the guard, like s, hears of the gradient before the step. */
        j.only_sums = 1;
        run(&j, n_elements, parallel_for);
        j.only_sums = 0;
        record_all(&j);
    }
    for (int64_t i = 0; i < table->n; i++)
        fill_scalars(&c[i], read_number(table->step[i], h->step_is_double, 0),
                     h->guarded ? table->guard[i] : NULL, h);
    run(&j, n_elements, parallel_for);
    if (h->guarded && h->delay > 0) record_all(&j);
    free(memory);
    return 0;
}
