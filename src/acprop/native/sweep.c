#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "isa.h"

/* Time is cut into chunks that hold whole periods. Where a block's second moment ends a
   chunk with the bits it began it with, and g and m did too, it will repeat it for ever:
   its denominators are kept, and no root is taken any more. That is not an approximation.
   It happens, too: rounding is monotone, so a settling moment is a monotone sequence of
   floating-point numbers, which must end. */
enum { SHORTEST_CHUNK = 128, LONGEST_CHUNK = 4096 };

/* What all β2 and learning rates of a rule share, one entry for each step. */
typedef struct {
    double *m, *square;       /* the mean of g; what the second moment averages */
    double *numerator, *rate; /* g or m; t^-η */
    double *move, *bound;     /* numerator · rate; of |u| */
    int64_t chunk;            /* steps in it */
    int m_matters;            /* does `square` depend on m? */
} schedule;

enum { N_TABLES = 6 };

static void plan_moments(schedule *w, const acprop_sweep_job *job,
                         const acprop_rule *rule) {
    double beta1 = job->beta1, gain = 1 - beta1, m = 0, power = 1;
    for (int64_t i = 0, phase = 1 % job->period; i < job->steps; i++) {
        double g = job->cycle[phase], old = m;
        if (++phase == job->period) phase = 0;
        m = beta1 * m + gain * g;
        double r = g - (job->residual_previous ? old : m);
        power *= beta1;
        double corrected = job->bias_correction && power > 0 ? m / (1 - power) : m;
        w->m[i] = m;
        w->square[i] = rule->centered ? r * r : g * g;
        w->numerator[i] = rule->before ? corrected : g;
    }
}

static void plan(schedule *w, const acprop_sweep_job *job, const acprop_rule *rule) {
    plan_moments(w, job, rule);
    for (int64_t i = 0; i < job->steps; i++) {
        double t = (double)(i + 1);
        w->rate[i] = job->eta == 0.5 ? 1 / sqrt(t) : pow(t, -job->eta);
    }
    for (int64_t i = 0; i < job->steps; i++) {
        double t = (double)(i + 1);
        w->bound[i] = job->clip_grows ? sqrt(sqrt(t)) : job->clip;
        w->move[i] = w->numerator[i] * w->rate[i];
    }
    w->m_matters = rule->centered;
}

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

typedef int (*sweep_function)(const acprop_sweep_job *, const acprop_rule *,
                              const schedule *, double *);

static sweep_function choose(void) {
#ifdef HAVE_X86_LEVELS
    int level = acprop_isa();
    if (level == 2) return sweep_avx512;
    if (level == 1) return sweep_avx2;
#endif
    return sweep_base;
}

int acprop_sweep(const acprop_sweep_job *job, double *distance) {
    if (job->n_alphas > ACPROP_MAX_ALPHAS || job->period < 1 || job->tail < 1 ||
        job->tail > job->steps)
        return -1;
    int64_t P = job->period, n = job->steps;
    double *tables = malloc((size_t)n * N_TABLES * sizeof *tables);
    if (tables == NULL) return -2;
    schedule w = {.m = tables,
                  .square = tables + n,
                  .numerator = tables + 2 * n,
                  .rate = tables + 3 * n,
                  .move = tables + 4 * n,
                  .bound = tables + 5 * n};
    w.chunk = P > LONGEST_CHUNK ? SHORTEST_CHUNK : (SHORTEST_CHUNK + P - 1) / P * P;
    int status = 0;
    for (int64_t r = 0; r < job->n_rules && status == 0; r++) {
        const acprop_rule *rule = &job->rules[r];
        if (rule->delay != 0 && rule->delay != 1) status = -1;
        if (status == 0) {
            plan(&w, job, rule);
            status = choose()(job, rule, &w, distance);
            distance += job->n_alphas * job->n_beta2;
        }
    }
    free(tables);
    return status;
}
