#include "step.h"

#include <math.h>
#include <stdlib.h>

#include "codes.h"
#include "half.h"
#include "isa.h"

#ifdef HAVE_X86_LEVELS
#include <immintrin.h>
#endif

/* The work is cut into bins of equal size, whatever the tensors; inside a tensor what
   needs scratch memory goes in blocks that stay in the L1 cache. */
enum { BINS = 64, BLOCK = 512 };
/* Below this a second thread costs more than it brings; see perf/step.py. */
enum { WORTH_THREADS = 32768 };

/* The numbers of one step of one tensor: `Scalars` of optim/step_options.py. */
typedef struct {
    double scale, floor, numerator_scale, bound;
    /* Of the average that s is centered on: 1. A number that the compiler knows would
       make it choose between products instead of multiplying once. */
    double limit;
    int unseen;
    float base; /* to round s at random, see Note [The fourth root] of optim/codes.py */
    uint32_t key, rounding_key; /* of the random bits for state, and for the parameter */
} scalars;

/* What decides the arithmetic of an element, the same for all of a tensor: 0 or -1. */
typedef struct {
    int64_t delay, before, after, nesterov, on_m, on_average, previous, decays;
    int64_t accumulates, sgd, raw, corrected;
    int64_t remembers; /* may AMSGrad's maximum grow? */
} flags;

static flags to_flags(const acprop_step_options *h, const scalars *c) {
    flags f = {
        .delay = -(h->delay != 0),
        .before = -(h->average == ACPROP_BEFORE),
        .after = -(h->average == ACPROP_AFTER),
        .nesterov = -(h->nesterov != 0),
        .on_m = -(h->center == ACPROP_ON_M),
        .on_average = -(h->center == ACPROP_ON_AVERAGE),
        .previous = -(h->residual_previous != 0),
        .decays = -(h->weight_decay != 0 && !h->decoupled),
        .accumulates = -(h->eps_placement == ACPROP_ACCUMULATED),
        .sgd = -(h->first_step == ACPROP_SGD && c->unseen),
        .raw = -(h->amsgrad == ACPROP_RAW),
        .corrected = -(h->amsgrad == ACPROP_CORRECTED),
        .remembers = -!c->unseen,
    };
    return f;
}

static int is_default(flags f) {
    return f.on_average && !(f.decays | f.accumulates | f.sgd | f.raw | f.corrected);
}

typedef struct job job;
typedef void (*advance_function)(const job *, int64_t tensor, int64_t start, int64_t n);

struct job {
    const acprop_table *table;
    const acprop_step_options *h;
    const scalars *scalars;
    const int64_t *starts; /* of each tensor in the row of all elements, and the end */
    advance_function advance;
};

static int is_coded(const acprop_table *table, int64_t tensor) {
    return table->mean_scale && table->mean_scale[tensor];
}

/* What a tensor has for each element. */
enum { PARAM, GRAD, LOST, EXP_AVG, EXP_AVG_SQ, TOP, MOMENTUM, N_COLUMNS };
enum { WIDE, HALF, CODES };

typedef struct {
    char *address[N_COLUMNS]; /* null: the options do without */
    int kind[N_COLUMNS];
    int is_bf16;        /* HALF of the parameter; that of state always is */
    int rounds_at_random; /* the parameter */
    int mean;           /* the column of CODES besides s */
    float *mean_scale, *scale;
    int64_t offset, row, inner;
} columns;

static columns columns_of(const job *j, int64_t tensor, flags f) {
    const acprop_table *table = j->table;
    const acprop_step_options *h = j->h;
    int half = h->dtype == ACPROP_BF16 || h->dtype == ACPROP_F16;
    int keeps_m = !f.after || f.on_m, draws = table->stream && table->stream[tensor];
    columns all = {
        .address = {table->param[tensor], (char *)table->grad[tensor],
                    table->compensation ? table->compensation[tensor] : NULL,
                    keeps_m ? table->exp_avg[tensor] : NULL, table->exp_avg_sq[tensor],
                    h->amsgrad ? table->max_exp_avg_sq[tensor] : NULL,
                    f.after ? table->momentum_buffer[tensor] : NULL},
        .is_bf16 = h->dtype == ACPROP_BF16,
        .rounds_at_random = h->dtype == ACPROP_BF16 && h->seed >= 0 && draws,
        .mean = keeps_m ? EXP_AVG : MOMENTUM,
        .offset = draws ? table->offset[tensor] : 0,
        .row = draws ? table->row[tensor] : 0,
        .inner = draws ? table->inner[tensor] : 1,
    };
    all.kind[PARAM] = all.kind[GRAD] = all.kind[LOST] = half ? HALF : WIDE;
    int moment = h->state_is_half ? HALF : WIDE;
    all.kind[EXP_AVG] = all.kind[MOMENTUM] = all.kind[EXP_AVG_SQ] = moment;
    if (is_coded(table, tensor)) {
        all.kind[all.mean] = all.kind[EXP_AVG_SQ] = CODES;
        all.mean_scale = table->mean_scale[tensor];
        all.scale = table->exp_avg_sq_scale[tensor];
    }
    return all;
}

/* Must anything be converted before and after the arithmetic? */
static int is_narrow(const columns *all) {
    return all->kind[PARAM] != WIDE || all->kind[EXP_AVG_SQ] != WIDE || all->inner > 1;
}

#ifdef HAVE_X86_LEVELS
/* Can blocks.inc read parameter and state where they are? */
static int is_direct(const columns *all) {
    int coded = all->kind[EXP_AVG_SQ] == CODES;
    return all->inner == 1 &&
           (all->kind[PARAM] == WIDE || (coded && all->rounds_at_random));
}
#endif

/* The inner loops, once for each instruction set and type of arithmetic. */

#define PASTE3(a, b, c) a##_##b##_##c
#define NAME3(a, b, c) PASTE3(a, b, c)
#define NAME(name) NAME3(name, ISA, REAL)
#define FLOATS NAME(floats)
#define WORDS NAME(words)

#define ISA base
#include "step_types.inc"

#ifdef HAVE_X86_LEVELS
AVX2_BEGIN
#define ISA avx2
#define LANES 8
#include "step_types.inc"
#undef LANES
ISA_END
AVX512_BEGIN
#define ISA avx512
#define LANES 16
#include "step_types.inc"
#undef LANES
ISA_END
#endif

static advance_function choose_loops(const acprop_step_options *h) {
    int wide = h->dtype == ACPROP_F64;
#ifdef HAVE_X86_LEVELS
    int level = acprop_isa();
    if (level == 2) return wide ? advance_avx512_double : advance_avx512_float;
    if (level == 1) return wide ? advance_avx2_double : advance_avx2_float;
#endif
    return wide ? advance_base_double : advance_base_float;
}

static double read_number(const void *p, int is_double) {
    return is_double ? *(const double *)p : (double)*(const float *)p;
}

static void write_number(void *p, int is_double, double value) {
    if (is_double)
        *(double *)p = value;
    else
        *(float *)p = (float)value;
}

/* `scalars` of optim/step_options.py, in the same order of operations. */
static scalars fill_scalars(double t, const acprop_step_options *h) {
    scalars c = {.key = 0};
    double k = t - h->delay > 0 ? t - h->delay : 0;
    double seen = h->bias_correction ? 1 - pow(h->beta2, k) : 1;
    c.unseen = k == 0;
    c.floor = h->eps_placement == ACPROP_INSIDE ? h->eps : 0;
    if (h->first_step == ACPROP_ONE && c.unseen) c.floor = 1;
    c.scale = 1 / (seen == 0 ? 1 : seen);
    c.numerator_scale = h->average == ACPROP_BEFORE && h->bias_correction
                            ? 1 / (1 - pow(h->beta1, h->nesterov ? t + 1 : t))
                            : 1;
    c.limit = 1;
    c.base = (float)(512 + 0.375 * (1 - h->beta2));
    c.bound = h->clip_kind == ACPROP_CLIP_GROWING ? pow(t, 0.25)
              : h->clip_kind == ACPROP_CLIP       ? h->clip
                                                  : INFINITY;
    return c;
}

/* What elements draw from, where they draw at all. */
static void fill_keys(scalars *c, const acprop_table *table, int64_t i, double t,
                      int64_t seed) {
    if (!table->stream || !table->stream[i]) return;
    c->key = key_of(*table->stream[i], 0, t);
    c->rounding_key = key_of(*table->stream[i], seed + 1, t);
}

/* Where the i-th bin begins, in the row of all elements. */
static int64_t border(const job *j, int64_t i) {
    int64_t total = j->starts[j->table->n];
    return i == BINS ? total : total / BINS * i;
}

/* The last place at or before an element where a tensor may be cut. */
static int64_t block_border(const job *j, int64_t tensor, int64_t at) {
    if (!is_coded(j->table, tensor) || at == j->table->numel[tensor]) return at;
    return at - at % j->table->row[tensor] % SHARING;
}

static void run_bins(int64_t begin, int64_t end, void *context) {
    const job *j = context;
    int64_t from = border(j, begin), to = border(j, end), low = 0, high = j->table->n;
    while (high - low > 1) { /* the last tensor that starts at or before `from` */
        int64_t middle = low + (high - low) / 2;
        if (j->starts[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    for (int64_t tensor = low; from < to; tensor++) {
        int64_t stop = j->starts[tensor + 1] < to ? j->starts[tensor + 1] : to;
        int64_t first = block_border(j, tensor, from - j->starts[tensor]);
        int64_t last = block_border(j, tensor, stop - j->starts[tensor]);
        if (last > first) j->advance(j, tensor, first, last - first);
        from = stop;
    }
}

int acprop_step(const acprop_table *table, const acprop_step_options *h,
                acprop_parallel_for parallel_for) {
    int64_t n = table->n;
    char *memory =
        malloc((size_t)n * (sizeof(scalars) + sizeof(int64_t)) + sizeof(int64_t));
    if (memory == NULL) return -1;
    scalars *c = (scalars *)memory;
    int64_t *starts = (int64_t *)(c + n);
    starts[0] = 0;
    double last = -1;
    for (int64_t i = 0; i < n; i++) {
        double t = read_number(table->step[i], h->step_is_double) + 1;
        write_number(table->step[i], h->step_is_double, t);
        /* As a rule all tensors are at the same step. */
        c[i] = i > 0 && t == last ? c[i - 1] : fill_scalars(t, h);
        fill_keys(&c[i], table, i, t, h->seed);
        last = t;
        starts[i + 1] = starts[i] + table->numel[i];
    }
    job j = {table, h, c, starts, choose_loops(h)};
    if (parallel_for == NULL || starts[n] < WORTH_THREADS)
        run_bins(0, BINS, &j);
    else
        parallel_for(0, BINS, 1, run_bins, &j);
    free(memory);
    return 0;
}
