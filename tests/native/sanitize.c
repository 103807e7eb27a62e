/* Runs the C code without Python, to be built with sanitizers and for other machines.

   Every buffer has exactly the size of its tensor, so that a step too far is found.
   Each case is repeated for every instruction set and way to split the work, and must
   give the same bits. Prints a digest of all results, to compare builds. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "half.h"
#include "step.h"
#include "sweep.h"

/* How many of the longer cases; more take longer: -DSCALE=100. */
#ifndef SCALE
#define SCALE 8
#endif

static int n_failures = 0;
static uint64_t digest = 14695981039346656037u; /* FNV-1a */

static void fail(const char *what, int64_t where) {
    if (n_failures++ < 20) fprintf(stderr, "%s: %lld\n", what, (long long)where);
}

static void *allocate(size_t bytes) {
    void *p = malloc(bytes);
    if (p == NULL && bytes > 0) exit(2);
    return p;
}

static uint64_t random_state;

static uint32_t random_bits(void) { /* Knuth's MMIX; the low bits are poor */
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 32);
}

static int below(int n) { return (int)(random_bits() % (uint32_t)n); }
static double uniform(void) { return random_bits() * 0x1p-32; }

/* ---- half precision ------------------------------------------------------------ */

typedef struct {
    const char *name;
    int digits, least; /* bits after the point; exponent of the least normal number */
    uint32_t infinity;
    float (*read)(uint16_t);
    uint16_t (*write)(float);
} format;

static float read_bf16(uint16_t h) { return bf16_read(h); }
static float read_f16(uint16_t h) { return f16_read(h); }
static uint16_t write_bf16(float f) { return bf16_write(f); }
static uint16_t write_f16(float f) { return f16_write(f); }

static const format FORMATS[] = {
    {"bf16", 7, -126, 0x7f80u, read_bf16, write_bf16},
    {"f16", 10, -14, 0x7c00u, read_f16, write_f16},
};

static double slow_read(const format *k, uint32_t h) {
    int exponent = (int)((h & 0x7fffu) >> k->digits), implied = exponent > 0;
    uint32_t one = 1u << k->digits;
    double digits = (double)((h & (one - 1)) + (implied ? one : 0));
    double size = ldexp(digits, k->least - k->digits + (implied ? exponent - 1 : 0));
    return h & 0x8000u ? -size : size;
}

/* Counts in units of the last place, which double holds exactly, and rounds those. */
static uint32_t slow_write(const format *k, float f) {
    int exponent = k->least;
    uint32_t sign = signbit(f) ? 0x8000u : 0;
    double size = fabs((double)f);
    if (isinf(f)) return sign | k->infinity;
    if (size >= ldexp(1, k->least)) exponent = ilogb(size);
    uint32_t units = (uint32_t)nearbyint(ldexp(size, k->digits - exponent));
    uint32_t body = ((uint32_t)(exponent - k->least) << k->digits) + units;
    return sign | (body > k->infinity ? k->infinity : body);
}

static void check_write(const format *k, float f) {
    uint32_t h = k->write(f);
    if (isnan(f) ? !isnan(k->read((uint16_t)h)) : h != slow_write(k, f))
        fail(k->name, bits_of(f));
}

static void check_half(const format *k) {
    for (uint32_t h = 0; h < 0x10000u; h++) {
        float f = k->read((uint16_t)h);
        uint32_t back = k->write(f), size = h & 0x7fffu;
        if (size > k->infinity) {
            if (!isnan(f) || (back & 0x7fffu) <= k->infinity) fail("NaN is lost", h);
            continue;
        }
        if (back != h) fail("there and back", h);
        if (size == k->infinity ? !isinf(f) : (double)f != slow_read(k, h))
            fail("read", h);
        /* The tie above, and its neighbours. */
        uint32_t shift = k->digits == 7 ? 0x8000u : 0x1000u;
        for (uint32_t d = 0; d < 3; d++)
            check_write(k, float_of(bits_of(f) + shift - 1 + d));
    }
    /* Ties of subnormal numbers are no fixed bit of the float. */
    for (uint32_t h = 0; h < 1u << k->digits; h++) {
        float tie = (float)((slow_read(k, h) + slow_read(k, h + 1)) / 2);
        for (uint32_t d = 0; d < 3; d++) check_write(k, float_of(bits_of(tie) - 1 + d));
    }
    /* A prime stride meets every exponent and all kinds of last bits. */
    for (uint64_t u = 0; u < 1ull << 32; u += 1021)
        check_write(k, float_of((uint32_t)u));
    const float edges[] = {65504.0f, 65519.99f, 65520.0f, 65536.0f, 0x1p-24f, 0x1p-25f,
                           0x1.000002p-25f, 0x1.fffffep127f, INFINITY, NAN, 0.0f};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        check_write(k, edges[i]);
        check_write(k, -edges[i]);
    }
}

/* ---- a step --------------------------------------------------------------------- */

enum { MOST_TENSORS = 12, COLUMNS = 7 };
/* Columns: those of acprop_table from `param` on, without `step`. */
enum { PARAM, GRAD, EXP_AVG, EXP_AVG_SQ, TOP, LOST, MOMENTUM };

typedef struct {
    acprop_step_options h;
    uint64_t seed;
    const int64_t *numel;
    int n, compensated;
    size_t size[COLUMNS]; /* bytes of an element; 0: no such column */
} example;

typedef struct {
    void *data[COLUMNS][MOST_TENSORS], *step[MOST_TENSORS];
} world;

static int64_t length(const example *e, int column, int i) {
    return column < COLUMNS ? e->numel[i] : 0;
}

static void put(void *p, int64_t i, int dtype, double value) {
    if (dtype == ACPROP_F64) ((double *)p)[i] = value;
    if (dtype == ACPROP_F32) ((float *)p)[i] = (float)value;
    if (dtype == ACPROP_BF16) ((uint16_t *)p)[i] = bf16_write((float)value);
    if (dtype == ACPROP_F16) ((uint16_t *)p)[i] = f16_write((float)value);
}

static void fill_gradients(const example *e, world *w) {
    for (int i = 0; i < e->n; i++)
        for (int64_t k = 0; k < e->numel[i]; k++) {
            double g = 2 * uniform() - 1;
            /* Outliers for the clip, now and then what an overflow leaves behind. */
            if (below(64) == 0) g *= 1000;
            if (below(512) == 0) g = 0;
            if (below(8192) == 0) g = below(2) ? INFINITY : -INFINITY;
            put(w->data[GRAD][i], k, e->h.dtype, g);
        }
}

static void make(const example *e, world *w) {
    int state_type = e->h.dtype == ACPROP_F64 ? ACPROP_F64 : ACPROP_F32;
    random_state = e->seed;
    memset(w, 0, sizeof *w);
    for (int i = 0; i < e->n; i++) {
        for (int c = 0; c < COLUMNS; c++) {
            if (e->size[c] == 0) continue;
            size_t bytes = (size_t)length(e, c, i) * e->size[c];
            w->data[c][i] = allocate(bytes);
            if (bytes > 0) memset(w->data[c][i], 0, bytes);
        }
        for (int64_t k = 0; k < e->numel[i]; k++)
            put(w->data[PARAM][i], k, e->h.dtype, 2 * uniform() - 1);
        if (below(2)) /* as if from a state_dict */
            for (int64_t k = 0; k < e->numel[i]; k++) {
                double mean = 3 * uniform() - 1.5; /* an M beyond ±1 too */
                if (e->size[EXP_AVG]) put(w->data[EXP_AVG][i], k, state_type, mean);
                if (e->size[MOMENTUM]) put(w->data[MOMENTUM][i], k, state_type, mean);
                put(w->data[EXP_AVG_SQ][i], k, state_type, uniform());
            }
        w->step[i] = allocate(e->h.step_is_double ? sizeof(double) : sizeof(float));
        put(w->step[i], 0, e->h.step_is_double ? ACPROP_F64 : ACPROP_F32, 0);
    }
}

static void discard(const example *e, world *w) {
    for (int i = 0; i < e->n; i++) {
        for (int c = 0; c < COLUMNS; c++) free(w->data[c][i]);
        free(w->step[i]);
    }
}

static void advance(const example *e, world *w, acprop_parallel_for parallel_for) {
    acprop_table table = {.n = e->n, .numel = e->numel, .param = w->data[PARAM],
                          .grad = (const void *const *)w->data[GRAD],
                          .exp_avg_sq = w->data[EXP_AVG_SQ], .step = w->step};
    if (e->size[EXP_AVG]) table.exp_avg = w->data[EXP_AVG];
    if (e->size[TOP]) table.max_exp_avg_sq = w->data[TOP];
    if (e->size[LOST]) table.compensation = w->data[LOST];
    if (e->size[MOMENTUM]) table.momentum_buffer = w->data[MOMENTUM];
    for (int t = 0; t < 3; t++) {
        fill_gradients(e, w);
        if (acprop_step(&table, &e->h, parallel_for)) fail("out of memory", t);
    }
}

static double number(const void *p, int64_t i, size_t size, int dtype) {
    if (size == sizeof(double)) return ((const double *)p)[i];
    if (size == sizeof(float)) return ((const float *)p)[i];
    uint16_t h = ((const uint16_t *)p)[i];
    return dtype == ACPROP_BF16 ? bf16_read(h) : f16_read(h);
}

/* The same bits; but of a NaN no machine promises more than that it is one. */
static int is_same(const void *a, const void *b, int64_t n, size_t size, int dtype) {
    if (n == 0 || memcmp(a, b, (size_t)n * size) == 0) return 1;
    for (int64_t i = 0; i < n; i++) {
        const char *p = (const char *)a + (size_t)i * size;
        const char *q = (const char *)b + (size_t)i * size;
        if (memcmp(p, q, size) == 0) continue;
        if (!isnan(number(a, i, size, dtype)) || !isnan(number(b, i, size, dtype)))
            return 0;
    }
    return 1;
}

static void digest_number(double value) {
    unsigned char bytes[sizeof value];
    value = isnan(value) ? 12345.678 : value;
    memcpy(bytes, &value, sizeof value);
    for (size_t i = 0; i < sizeof value; i++)
        digest = (digest ^ bytes[i]) * 1099511628211u;
}

static void compare(const example *e, const world *a, const world *b, int64_t name) {
    for (int i = 0; i < e->n; i++)
        for (int c = 0; c < COLUMNS; c++)
            if (e->size[c] && !is_same(a->data[c][i], b->data[c][i], length(e, c, i),
                                       e->size[c], e->h.dtype))
                fail("step differs", name * 100 + c);
}

static int32_t whole(int64_t begin, int64_t end, int64_t grain, acprop_range body,
                     void *context) {
    (void)grain;
    body(begin, end, context);
    return 0;
}

static int32_t thirds(int64_t begin, int64_t end, int64_t grain, acprop_range body,
                      void *context) {
    (void)grain;
    int64_t a = begin + (end - begin) / 3, b = begin + 2 * (end - begin) / 3;
    body(b, end, context); /* the last first: order must not matter */
    body(begin, a, context);
    body(a, b, context);
    return 0;
}

static void check_step(example *e, int n_splits, int64_t name) {
    const acprop_parallel_for splits[] = {NULL, whole, thirds};
    int is_half = e->h.dtype == ACPROP_BF16 || e->h.dtype == ACPROP_F16;
    size_t wide = e->h.dtype == ACPROP_F64 ? sizeof(double) : sizeof(float);
    size_t narrow = is_half ? sizeof(uint16_t) : wide;
    e->size[PARAM] = e->size[GRAD] = narrow;
    e->size[EXP_AVG_SQ] = wide;
    int after = e->h.average == ACPROP_AFTER;
    e->size[EXP_AVG] = !after || e->h.center == ACPROP_ON_M ? wide : 0;
    e->size[MOMENTUM] = after ? wide : 0;
    e->size[TOP] = e->h.amsgrad ? wide : 0;
    e->size[LOST] = is_half && e->compensated ? narrow : 0;
    world expected, got;
    acprop_use_isa(0);
    make(e, &expected);
    advance(e, &expected, NULL);
    for (int c = 0; c < COLUMNS; c++)
        for (int i = 0; e->size[c] && i < e->n; i++)
            for (int64_t k = 0; k < length(e, c, i); k++)
                digest_number(number(expected.data[c][i], k, e->size[c], e->h.dtype));
    for (int level = 0; acprop_use_isa(level) == level && level < 3; level++)
        for (int split = level == 0; split < n_splits; split++) {
            make(e, &got);
            advance(e, &got, splits[split]);
            compare(e, &expected, &got, name * 10 + level * 3 + split);
            discard(e, &got);
        }
    discard(e, &expected);
}

/* One digit of a number in mixed radix. */
static int digit(int64_t *code, int radix) {
    int value = (int)(*code % radix);
    *code /= radix;
    return value;
}

static const int64_t N_COMBINATIONS = 4 * 2 * 4 * 3 * 2 * 3 * 3 * 3 * 3 * 2;

static example combination(int64_t code) {
    example e = {.seed = (uint64_t)code * 7919 + 1};
    random_state = e.seed;
    acprop_step_options *h = &e.h;
    h->dtype = digit(&code, 4);
    h->delay = digit(&code, 2);
    int center = digit(&code, 4);
    h->center = center == 3 ? ACPROP_ON_M : center;
    h->residual_previous = center == 3;
    h->average = digit(&code, 3);
    h->nesterov = digit(&code, 2);
    h->eps_placement = digit(&code, 3);
    h->first_step = digit(&code, 3);
    h->amsgrad = digit(&code, 3);
    h->clip_kind = digit(&code, 3);
    h->bias_correction = digit(&code, 2);
    /* What acts on its own is drawn. */
    h->decoupled = below(2);
    h->weight_decay = below(2) ? 0.01 : 0;
    h->maximize = below(2);
    h->step_is_double = below(2);
    h->lr = 0.01;
    h->beta1 = below(4) ? 0.9 : 0;
    h->beta2 = below(4) ? 0.999 : 0;
    h->eps = below(4) ? 1e-8 : 0;
    h->clip = 0.5;
    h->seed = -1;
    e.compensated = below(2);
    return e;
}

/* `Rule` refuses the others. */
static int is_a_rule(const acprop_step_options *h) {
    if (h->nesterov && h->average == ACPROP_NO_AVERAGE) return 0;
    return h->center != ACPROP_ON_AVERAGE ||
           (h->average == ACPROP_AFTER && h->delay == 1);
}

static void check_steps(void) {
    static const int64_t tiny[] = {1, 0, 17}, medium[] = {15, 16, 511, 0, 512, 513, 17};
    static const int64_t large[] = {16384, 0, 1, 40000, 15, 16385, 513};
    for (int64_t code = 0; code < N_COMBINATIONS; code++) {
        example e = combination(code);
        if (!is_a_rule(&e.h)) continue;
        e.numel = tiny;
        e.n = 3;
        check_step(&e, 1, code);
    }
    for (int64_t i = 0; i < 36 * SCALE; i++) { /* primes: all radices are met */
        int64_t code = i * 1009 % N_COMBINATIONS;
        example e = combination(code);
        if (!is_a_rule(&e.h)) continue;
        e.numel = medium;
        e.n = 7;
        check_step(&e, 1, code);
    }
    for (int64_t i = 0; i < 3 * SCALE; i++) {
        int64_t code = i * 5003 % N_COMBINATIONS;
        example e = combination(code);
        if (!is_a_rule(&e.h)) continue;
        e.numel = large;
        e.n = 7;
        check_step(&e, 3, code);
    }
    example e = combination(0);
    check_step(&e, 3, -1); /* no tensors at all */
}

/* ---- state in fewer bits ---------------------------------------------------------- */

/* One tensor of rows: 8-bit codes, or bfloat16 state. Every array ends where it must. */
typedef struct {
    int64_t rows, row, inner, n;
    int coded;
    acprop_step_options h;
} narrow_example;

enum { N_ARRAYS = 7 }; /* param, grad, mean, s, the two scales, compensation */

static size_t array_size(const narrow_example *e, int i) {
    size_t n = (size_t)e->n, half = e->h.dtype != ACPROP_F32 ? 2 : 4;
    size_t blocks = (size_t)(e->rows * ((e->row + 63) / 64)) * sizeof(float);
    size_t state = e->coded ? 1 : 2;
    const size_t sizes[N_ARRAYS] = {n * half, n * half, n * state, n * state, blocks,
                                    blocks, e->h.seed < 0 ? n * 2 : 0};
    return sizes[i];
}

static void run_narrow(const narrow_example *e, void **data, acprop_parallel_for split) {
    float step = 3;
    void *counter = &step;
    int64_t number = 5, offset = 70;
    const int64_t *stream = &number;
    int keeps_m = e->h.average != ACPROP_AFTER;
    acprop_table table = {
        .n = 1, .numel = &e->n, .param = &data[0], .grad = (const void *const *)&data[1],
        .exp_avg = keeps_m ? &data[2] : NULL, .exp_avg_sq = &data[3],
        .momentum_buffer = keeps_m ? NULL : &data[2], .step = &counter,
        .mean_scale = e->coded ? &data[4] : NULL,
        .exp_avg_sq_scale = e->coded ? &data[5] : NULL,
        .compensation = e->h.seed < 0 && e->h.dtype != ACPROP_F32 ? &data[6] : NULL,
        .stream = &stream, .offset = &offset, .row = &e->row, .inner = &e->inner};
    for (int t = 0; t < 3; t++)
        if (acprop_step(&table, &e->h, split)) fail("narrow step refuses", t);
}

static void make_narrow(const narrow_example *e, void **data, uint64_t seed) {
    random_state = seed;
    for (int i = 0; i < N_ARRAYS; i++) {
        size_t size = array_size(e, i);
        data[i] = allocate(size);
        memset(data[i], 0, size);
        for (size_t k = 0; i < 2 && k < (size_t)e->n; k++)
            put(data[i], (int64_t)k, e->h.dtype, uniform() - 0.5);
    }
}

static void check_narrow(int64_t seed) {
    static const int64_t shapes[][3] = {{1, 4099, 1},  {37, 27, 1},  {9, 64, 1},
                                        {5, 131, 1},   {6, 45, 9},   {3, 1, 1},
                                        {300, 128, 1}, {50, 640, 10}};
    const acprop_parallel_for splits[] = {NULL, whole, thirds};
    const int64_t *shape = shapes[seed % 8];
    narrow_example e = {.rows = shape[0], .row = shape[1], .inner = shape[2],
                        .n = shape[0] * shape[1], .h = combination(0).h};
    random_state = (uint64_t)seed * 977 + 1; /* that of `combination` is always the same */
    for (int i = 0; i < 4; i++) below(2); /* neighbouring seeds begin alike */
    e.coded = below(2);
    e.h.dtype = below(2) ? ACPROP_F32 : below(2) ? ACPROP_BF16 : ACPROP_F16;
    e.h.average = below(2) ? ACPROP_AFTER : ACPROP_BEFORE;
    e.h.center = e.h.average == ACPROP_AFTER ? ACPROP_ON_AVERAGE : ACPROP_NO_CENTER;
    e.h.nesterov = below(2);
    e.h.delay = 1;
    /* Which the loops in vectors leave to others. */
    e.h.maximize = below(4) == 0;
    e.h.decoupled = below(4) > 0;
    e.h.amsgrad = ACPROP_NO_AMSGRAD;
    e.h.step_is_double = 0;
    /* No NaN, whose sign and digits are anybody's. */
    e.h.eps_placement = ACPROP_OUTSIDE;
    e.h.bias_correction = 1;
    e.h.clip_kind = ACPROP_CLIP_GROWING;
    e.h.eps = 1e-30;
    e.h.beta1 = 0.9;
    e.h.beta2 = 0.999;
    e.h.seed = e.h.dtype == ACPROP_BF16 && below(2) ? 11 : -1;
    e.h.state_is_half = !e.coded;
    void *expected[N_ARRAYS], *got[N_ARRAYS];
    acprop_use_isa(0);
    make_narrow(&e, expected, (uint64_t)seed);
    run_narrow(&e, expected, NULL);
    for (int64_t k = 0; k < e.n; k++)
        digest_number(e.coded ? ((uint8_t *)expected[3])[k]
                              : bf16_read(((uint16_t *)expected[3])[k]));
    for (int level = 0; acprop_use_isa(level) == level && level < 3; level++)
        for (int split = level == 0; split < 3; split++) {
            make_narrow(&e, got, (uint64_t)seed);
            run_narrow(&e, got, splits[split]);
            for (int i = 0; i < N_ARRAYS; i++) {
                if (memcmp(expected[i], got[i], array_size(&e, i)))
                    fail("narrow state differs", seed * 100 + level * 30 + split * 10 + i);
                free(got[i]);
            }
        }
    for (int i = 0; i < N_ARRAYS; i++) free(expected[i]);
}

/* ---- a sweep -------------------------------------------------------------------- */

static double *drawn(int64_t n, double lo, double hi) {
    double *p = allocate((size_t)n * sizeof *p);
    for (int64_t i = 0; i < n; i++) p[i] = lo + (hi - lo) * uniform();
    return p;
}

static void check_sweep(int64_t seed) {
    static const int64_t widths[] = {1, 7, 8, 9, 63, 64, 65, 130};
    random_state = (uint64_t)seed + 1;
    acprop_sweep_job job = {.lo = -1, .hi = 1, .x0 = uniform(), .x_star = -1,
                            .beta1 = below(4) ? 0.9 : 0,
                            .eta = below(2) ? 0.5 : 0.3, .clip = INFINITY};
    job.period = 1 + below(5);
    job.n_beta2 = widths[below(8)];
    job.n_rules = 1 + below(4);
    job.n_alphas = below(4) ? 1 + below(4) : ACPROP_MAX_ALPHAS;
    /* now and then enough to settle */
    job.steps = below(4) ? 1 + below(20) : 1 + below(3000);
    if (seed == 0) job.steps = 20000;
    job.tail = 1 + below((int)job.steps);
    job.residual_previous = below(2);
    double *places[] = {&job.eps_inside, &job.eps_outside, &job.eps_added};
    *places[below(3)] = 1e-8;
    job.bias_correction = below(2);
    job.unseen = below(2) ? 1 : 0x1p90;
    job.clip_grows = below(2);
    job.clip = below(2) ? 0.5 : job.clip;
    job.zero_over_zero = below(2);
    double *cycle = drawn(job.period, -2, 2), *beta2 = drawn(job.n_beta2, 0, 0.999);
    double *alpha0 = drawn(job.n_alphas, 0, 0.1);
    acprop_rule *rules = allocate((size_t)job.n_rules * sizeof *rules);
    for (int64_t i = 0; i < job.n_rules; i++) {
        int average = below(3);
        rules[i] = (acprop_rule){below(2), below(2), average == 1, average == 2};
    }
    cycle[0] = below(2) ? 0 : cycle[0];
    job.cycle = cycle;
    job.beta2 = beta2;
    job.alpha0 = alpha0;
    job.rules = rules;

    int64_t n = job.n_rules * job.n_alphas * job.n_beta2;
    double *expected = drawn(n, 0, 0), *got = drawn(n, 0, 0);
    acprop_use_isa(0);
    if (acprop_sweep(&job, expected)) fail("sweep refuses", seed);
    for (int64_t i = 0; i < n; i++) digest_number(expected[i]);
    for (int level = 1; acprop_use_isa(level) == level && level < 3; level++) {
        if (acprop_sweep(&job, got)) fail("sweep refuses", seed);
        if (!is_same(expected, got, n, sizeof *got, ACPROP_F64))
            fail("sweep differs", seed * 10 + level);
    }
    acprop_sweep_job bad = job;
    bad.tail = job.steps + 1;
    if (acprop_sweep(&bad, got) != -1) fail("tail beyond the steps", seed);
    bad = job;
    bad.n_alphas = ACPROP_MAX_ALPHAS + 1;
    if (acprop_sweep(&bad, got) != -1) fail("too many learning rates", seed);
    rules[0].delay = 2;
    if (acprop_sweep(&job, got) != -1) fail("delay 2", seed);
    free(cycle);
    free(beta2);
    free(alpha0);
    free(rules);
    free(expected);
    free(got);
}

int main(void) {
    if (acprop_abi() != ACPROP_ABI) fail("abi", acprop_abi());
    for (int i = 0; i < 2; i++) check_half(&FORMATS[i]);
    check_steps();
    for (int64_t seed = 0; seed < 16 * SCALE; seed++) check_narrow(seed);
    for (int64_t seed = 0; seed < 10 * SCALE; seed++) check_sweep(seed);
    printf("%d levels, digest %016llx, %d failures\n", acprop_use_isa(-1) + 1,
           (unsigned long long)digest, n_failures);
    return n_failures > 0;
}
