/* Many hyper-parameters on one periodic problem at once: the engine of the laboratory.

   The gradient repeats with the period and does not depend on x, so g and m are the
   same for all; the second moment of a rule differs by β2 only, and learning rates share
   it. What is left for each of them is one multiplication, one subtraction and a
   projection. The readable form is lab/simulate.py. */

#ifndef ACPROP_SWEEP_H
#define ACPROP_SWEEP_H

#include <stdint.h>

#include "step.h"

enum { ACPROP_MAX_ALPHAS = 32 };

typedef struct {
    int32_t centered, delay; /* delay is 0 or 1 */
    int32_t before, after;   /* averaged before or after dividing, if at all */
} acprop_rule;

typedef struct {
    const double *cycle; /* the gradient of step t is cycle[t % period] */
    int64_t period;
    double lo, hi, x0, x_star;
    const acprop_rule *rules;
    int64_t n_rules;
    const double *beta2;
    int64_t n_beta2;
    const double *alpha0;
    int64_t n_alphas;
    double beta1, eta; /* the learning rate is alpha0 · t^-eta */
    double eps_inside, eps_outside, eps_added; /* to the radicand, its root, stored s */
    double unseen; /* 1/denominator while s has seen nothing */
    double clip;   /* bound of |numerator/denominator|; infinite: none */
    int64_t steps, tail;
    int32_t residual_previous, bias_correction;
    int32_t clip_grows;     /* the bound is t^¼, whatever `clip` is */
    int32_t zero_over_zero; /* is that 0? */
} acprop_sweep_job;

/* For every rule, learning rate and β2 (the last index runs fastest) the mean of
   |x - x_star| over the last `tail` steps. Returns -1 for a job that does not fit, -2
   if memory ran out. */
ACPROP_API int acprop_sweep(const acprop_sweep_job *job, double *distance);

#endif
