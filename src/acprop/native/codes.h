/* State in fewer bits: optim/codes.py and optim/dither.py in C, with the same bits.
   Without branches, so that it vectorises. */

#ifndef ACPROP_CODES_H
#define ACPROP_CODES_H

#include <math.h>
#include <stdint.h>

#include "half.h"

#define INLINE static inline __attribute__((always_inline))

/* Elements that share a scale: neighbours within a row. */
enum { SHARING = 64 };

/* A choice by its bits; where a condition would be, the compiler may branch. */
INLINE uint32_t pick(int condition, uint32_t yes, uint32_t no) {
    uint32_t mask = -(uint32_t)condition;
    return (yes & mask) | (no & ~mask);
}

/* ---- random bits: optim/dither.py --------------------------------------------------- */

INLINE uint32_t mixed(uint32_t x) {
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return x ^ (x >> 15);
}

INLINE uint32_t key_of(int64_t stream, int64_t seed, double t) {
    uint32_t first = mixed(mixed((uint32_t)stream) + (uint32_t)seed);
    return mixed(first + (uint32_t)(int64_t)t);
}

/* Of an element: its bits come from key + number * NEXT_ELEMENT. A macro, because it is
   for numbers and for vectors; the upper half of what it returns is random. */
#define NEXT_ELEMENT 0x61c8864fu
#define RANDOM_BITS(from, factor) (((from) ^ ((from) >> 16)) * (factor))
enum { FACTOR = 0x2c1b3c6d };

INLINE uint32_t draw(uint32_t key, uint32_t number) { /* 16 bits */
    uint32_t from = key + number * NEXT_ELEMENT;
    return RANDOM_BITS(from, (uint32_t)FACTOR) >> 16;
}

/* ---- codes: Note [Tapered] of optim/codes.py ----------------------------------------- */

/* Numbers become codes relative to their block's largest, which is TOP_…; M is coded
   evenly, m and s are tapered. A number plus a power of 2 has its whole part in fixed
   bits, where random bits below carry into it: no conversion, and no undefined one for
   NaN. */
enum { ROOT2 = 0x23400000, ROOT8 = 0x3b900000 };
static const float TOP_EVEN = 127, TOP_MEAN = 63.0f / 64, TOP_SURPRISE = 15.0f / 16;
static const float BASE_EVEN = 768;
/* The reciprocal of a scale must be finite. */
static const float LEAST_SCALE = 0x1p-118f;

INLINE float decode_even(int8_t code) { return (float)code; }

INLINE int8_t encode_even(float y, uint32_t sixteen) {
    return (int8_t)((bits_of(y + BASE_EVEN) + (sixteen >> 2)) >> 14);
}

INLINE float decode_mean(int8_t code) {
    float z = (float)(code < 0 ? -code : code);
    uint32_t power = (bits_of(z) - ROOT2) << 1;
    uint32_t size = pick(z < 2, bits_of(z * 0x1p-13f), power);
    return float_of(size | ((uint32_t)(int32_t)code & 0x80000000u));
}

INLINE int8_t encode_mean(float y, uint32_t sixteen) {
    uint32_t u = bits_of(y), size = u & 0x7fffffffu;
    uint32_t straight = bits_of(float_of(size) * 0x1p13f);
    float z = float_of(pick(size < 0x39800000u, straight, (size >> 1) + ROOT2));
    z = (z < 127 ? z : 127) + 128;
    int32_t sign = (int32_t)u >> 31;
    int32_t code = (int32_t)((bits_of(z) + sixteen) >> 16 & 0x7fu);
    return (int8_t)((code ^ sign) - sign);
}

INLINE float decode_surprise(uint8_t code) {
    return float_of((bits_of((float)code) - ROOT8) << 3);
}

/* base: 512, and what Note [The fourth root] adds. */
INLINE uint8_t encode_surprise(float y, float base, uint32_t sixteen) {
    float z = float_of((bits_of(y) >> 3) + ROOT8);
    z = (z > 1 ? z : 1) + base;
    return (uint8_t)((bits_of(z) + (sixteen >> 2)) >> 14);
}

/* ---- bfloat16, rounded at random: Note [Stochastic rounding] of optim/params.py ------ */

INLINE uint16_t bf16_write_at_random(float f, uint32_t sixteen) {
    uint32_t u = bits_of(f), is_finite = (u & 0x7fffffffu) < 0x7f800000u;
    return (uint16_t)((u + (sixteen & -is_finite)) >> 16);
}

#endif
