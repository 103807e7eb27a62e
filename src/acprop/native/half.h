/* bfloat16 and float16 as integers, converted without branches so that it vectorises;
   rounding is to nearest, ties to even. */

#ifndef ACPROP_HALF_H
#define ACPROP_HALF_H

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) uint32_t bits_of(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline __attribute__((always_inline)) float float_of(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline __attribute__((always_inline)) float bf16_read(uint16_t h) {
    return float_of((uint32_t)h << 16);
}

static inline __attribute__((always_inline)) uint16_t bf16_write(float f) {
    uint32_t u = bits_of(f);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? 0x7fc0u : rounded);
}

static inline __attribute__((always_inline)) float f16_read(uint16_t h) {
    /* Shifted into place the exponent is 112 too small; the product mends that, and
       makes subnormal numbers normal on the way. */
    uint32_t body = (uint32_t)(h & 0x7fffu) << 13;
    uint32_t u = bits_of(float_of(body) * 0x1p112f);
    u = body >= 0x0f800000u ? body + 0x70000000u : u; /* infinity and NaN */
    return float_of(u | ((uint32_t)(h & 0x8000u) << 16));
}

static inline __attribute__((always_inline)) uint16_t f16_write(float f) {
    uint32_t u = bits_of(f);
    uint32_t sign = u & 0x80000000u;
    uint32_t size = u ^ sign;
    /* Normal: move the exponent, add half a unit (less one, plus the last bit). */
    uint32_t normal = (size - 0x38000000u + 0xfffu + ((size >> 13) & 1u)) >> 13;
    /* Subnormal: the addition rounds at the right bit by itself. */
    uint32_t small = bits_of(float_of(size) + 0.5f) - 0x3f000000u;
    uint32_t special = size > 0x7f800000u ? 0x7e00u : 0x7c00u;
    uint32_t body = size < 0x38800000u ? small : normal;
    body = size >= 0x477ff000u ? special : body; /* 65520 and above round to infinity */
    return (uint16_t)(body | (sign >> 16));
}

#endif
