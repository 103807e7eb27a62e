/* The instruction sets a loop is compiled for, and which of them this machine has. */

#ifndef ACPROP_ISA_H
#define ACPROP_ISA_H

#if defined(__x86_64__) && !defined(ACPROP_BASELINE_ONLY)
#define HAVE_X86_LEVELS 1
#if defined(__clang__)
/* clang-format off: a pragma's text must be one string */
#define AVX2_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2\"))), apply_to = function)")
#define AVX512_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx512f,avx512bw,avx512dq,avx512vl\"))), apply_to = function)")
#define ISA_END _Pragma("clang attribute pop")
#else
#define AVX2_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2\")")
#define AVX512_BEGIN                                                                 \
    _Pragma("GCC push_options") _Pragma(                                             \
        "GCC target(\"avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512\")")
#define ISA_END _Pragma("GCC pop_options")
#endif
#endif

/* The level in use: 0 baseline, 1 AVX2, 2 AVX-512. */
int acprop_isa(void);

#endif
