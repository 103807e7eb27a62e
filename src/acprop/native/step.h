/* One step of the family over a list of tensors, in one pass over memory.

   No torch and no Python here: the caller passes pointers, and the thread pool as a
   function. Every element is advanced by itself and every operation is rounded by
   itself (no fused multiply-add), so results depend neither on the number of threads,
   nor on how tensors or the work are split, nor on the instruction set. */

#ifndef ACPROP_STEP_H
#define ACPROP_STEP_H

#include <stdint.h>

#define ACPROP_API __attribute__((visibility("default")))

/* A list of parameters and their state, column by column; a column that the options
   do not need may be null. exp_avg is m and momentum_buffer is M: a rule keeps one of
   them, or both. */
typedef struct {
    int64_t n;
    const int64_t *numel;
    void *const *param;
    const void *const *grad;
    void *const *exp_avg;
    void *const *exp_avg_sq;
    void *const *max_exp_avg_sq;
    void *const *momentum_buffer;
    void *const *compensation; /* null in it: that tensor has none */
    void *const *step;
    /* Where the first of exp_avg and momentum_buffer that the rule keeps, and
       exp_avg_sq, are 8-bit codes: a float for each block. Null in it: no codes. */
    void *const *mean_scale;
    void *const *exp_avg_sq_scale;
    /* Of tensors that draw random bits: the address of the stream's number, the number
       of the first element, and how many elements have it in a row. */
    const int64_t *const *stream;
    const int64_t *offset;
    const int64_t *row;
    /* Above 1: so many elements of a channel; in memory channels come last, but
       elements are numbered, and codes are in the order, as if they came first. */
    const int64_t *inner;
} acprop_table;

enum { ACPROP_F32, ACPROP_F64, ACPROP_BF16, ACPROP_F16 };
enum { ACPROP_INSIDE, ACPROP_OUTSIDE, ACPROP_ACCUMULATED };
enum { ACPROP_DIVIDE, ACPROP_SGD, ACPROP_ONE };
enum { ACPROP_NO_AMSGRAD, ACPROP_RAW, ACPROP_CORRECTED };
enum { ACPROP_NO_AVERAGE, ACPROP_BEFORE, ACPROP_AFTER };
enum { ACPROP_NO_CENTER, ACPROP_ON_M, ACPROP_ON_AVERAGE };
enum { ACPROP_NO_CLIP, ACPROP_CLIP, ACPROP_CLIP_GROWING };

/* The options of a group of tensors of one type; `StepOptions` of
   optim/step_options.py in numbers. */
typedef struct {
    double lr, beta1, beta2, eps, weight_decay, clip;
    int64_t seed; /* of parameters that are rounded at random; -1: to the nearest */
    int32_t dtype, step_is_double;
    int32_t average, center, nesterov, delay, residual_previous;
    int32_t eps_placement, bias_correction, first_step, amsgrad, clip_kind;
    int32_t decoupled, maximize;
    int32_t state_is_half; /* m or M, and s, in bfloat16, rounded at random */
} acprop_step_options;

/* torch_parallel_for: split [begin, end) among the caller's threads. */
typedef void (*acprop_range)(int64_t begin, int64_t end, void *context);
typedef int32_t (*acprop_parallel_for)(int64_t begin, int64_t end, int64_t grain,
                                       acprop_range body, void *context);

/* Advance every tensor by one step. No two parameters may share memory. Returns 0, or
   -1 if memory ran out, in which case nothing was changed. parallel_for may be null. */
ACPROP_API int acprop_step(const acprop_table *table, const acprop_step_options *h,
                           acprop_parallel_for parallel_for);

/* 0: baseline, 1: AVX2, 2: AVX-512. Takes the best there is where that is less;
   -1 asks for the best. Returns the level now in use. */
ACPROP_API int acprop_use_isa(int level);

/* To be compared with the loader's own, so that an old library is not misread. */
#define ACPROP_ABI 5
ACPROP_API int acprop_abi(void);

#endif
