#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time is cut into chunks that hold whole periods. Where all of a block's second
   moments end a chunk with the bits they began it with, and g and m did too, they will
   repeat it for ever: its denominators are kept, and no root is taken any more. That is
   not an approximation. It happens, too: rounding is monotone, so a settling moment is
   a monotone sequence of floating-point numbers, which must end. */
enum { SHORTEST_CHUNK = 128, LONGEST_CHUNK = 4096, SPAN = 16384 };

/* What all lanes share in a span of steps, one entry for each. */
typedef struct {
    double *squares[2];    /* g², r²: what v and s average */
    double *numerators[2]; /* g, m */
    double *moves[2];      /* numerators · rate */
    double *rate, *bound;  /* t^-η; of |u| */
    char *m_repeats;       /* of each chunk: does m end it as it began? */
    double m, power1;
    int64_t chunk, n, first; /* steps in a chunk, in the span, and before it */
} schedule;

enum { N_TABLES = 8 };

static void plan_chunks(schedule *w, const acprop_sweep_job *job) {
    int64_t P = job->period;
    w->chunk = P > LONGEST_CHUNK ? SHORTEST_CHUNK : (SHORTEST_CHUNK + P - 1) / P * P;
}

static void lay_tables(schedule *w, double *tables, int64_t n) {
    double **columns[N_TABLES] = {&w->squares[0],    &w->squares[1], &w->numerators[0],
                                  &w->numerators[1], &w->moves[0],   &w->moves[1],
                                  &w->rate,          &w->bound};
    for (int i = 0; i < N_TABLES; i++) *columns[i] = tables + i * n;
}

static schedule from_step(const schedule *w, int64_t i) {
    schedule later = *w;
    for (int q = 0; q < 2; q++) {
        later.squares[q] += i;
        later.numerators[q] += i;
        later.moves[q] += i;
    }
    later.rate += i;
    later.bound += i;
    return later;
}

static void plan_moments(schedule *w, const acprop_sweep_job *job) {
    double beta1 = job->beta1, gain = 1 - beta1, m = w->m, start = m;
    int64_t phase = (w->first + 1) % job->period, left = w->chunk;
    char *repeats = w->m_repeats;
    for (int64_t i = 0; i < w->n; i++) {
        double g = job->cycle[phase], old = m;
        if (++phase == job->period) phase = 0;
        m = beta1 * m + gain * g;
        double r = g - (job->residual_previous ? old : m);
        w->squares[0][i] = g * g;
        w->squares[1][i] = r * r;
        w->numerators[0][i] = g;
        w->numerators[1][i] = m;
        if (--left == 0) {
            *repeats++ = w->chunk % job->period == 0 && start == m;
            start = m;
            left = w->chunk;
        }
    }
    w->m = m;
    for (int64_t i = 0; job->bias_correction && i < w->n && w->power1 > 0; i++) {
        w->power1 *= beta1;
        w->numerators[1][i] /= 1 - w->power1;
    }
}

static void plan_span(schedule *w, const acprop_sweep_job *job) {
    int64_t most = SPAN > w->chunk ? SPAN / w->chunk * w->chunk : w->chunk;
    w->n = job->steps - w->first < most ? job->steps - w->first : most;
    plan_moments(w, job);
    for (int64_t i = 0; i < w->n; i++) {
        double t = (double)(w->first + i + 1);
        w->rate[i] = job->eta == 0.5 ? 1 / sqrt(t) : pow(t, -job->eta);
    }
    for (int64_t i = 0; i < w->n; i++) {
        double t = (double)(w->first + i + 1);
        w->bound[i] = job->clip_grows ? sqrt(sqrt(t)) : job->clip;
    }
    for (int q = 0; q < 2; q++)
        for (int64_t i = 0; i < w->n; i++)
            w->moves[q][i] = w->numerators[q][i] * w->rate[i];
}

#include "isa.h"

#define ISA base
#define LANES 2
#include "sweep_block.inc"

#ifdef HAVE_X86_LEVELS
#include <immintrin.h>
AVX2_BEGIN
#define ISA avx2
#define LANES 4
#define VECTOR_OF(a) _mm256_set1_pd(a)
#define LARGER(a, b) _mm256_max_pd(a, b)
#define SMALLER(a, b) _mm256_min_pd(a, b)
#define ROOT(a) _mm256_sqrt_pd(a)
#include "sweep_block.inc"
ISA_END
AVX512_BEGIN
#define ISA avx512
#define LANES 8
#define VECTOR_OF(a) _mm512_set1_pd(a)
#define LARGER(a, b) _mm512_max_pd(a, b)
#define SMALLER(a, b) _mm512_min_pd(a, b)
#define ROOT(a) _mm512_sqrt_pd(a)
#include "sweep_block.inc"
ISA_END
#endif

typedef int (*sweep_function)(const acprop_sweep_job *, schedule *, double *);

static sweep_function choose(void) {
#ifdef HAVE_X86_LEVELS
    int level = acprop_isa();
    if (level == 2) return sweep_avx512;
    if (level == 1) return sweep_avx2;
#endif
    return sweep_base;
}

int acprop_sweep(const acprop_sweep_job *job, double *distance) {
    if (job->n_rules > ACPROP_MAX_RULES || job->n_alphas > ACPROP_MAX_ALPHAS ||
        job->period < 1 || job->tail < 1 || job->tail > job->steps)
        return -1;
    for (int64_t i = 0; i < job->n_rules; i++)
        if (job->rules[i].delay != 0 && job->rules[i].delay != 1) return -1;
    schedule w = {.m = 0, .power1 = 1};
    plan_chunks(&w, job);
    int64_t most = SPAN > w.chunk ? SPAN : w.chunk;
    if (job->steps < most) most = job->steps;
    double *tables = malloc((size_t)most * N_TABLES * sizeof *tables);
    w.m_repeats = malloc((size_t)(most / w.chunk + 1));
    int status = -2;
    if (tables != NULL && w.m_repeats != NULL) {
        lay_tables(&w, tables, most);
        status = choose()(job, &w, distance);
    }
    free(tables);
    free(w.m_repeats);
    return status;
}
