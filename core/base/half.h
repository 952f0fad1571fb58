// Declares conversions of the 16-bit floats f16 and bf16. They round to nearest even, keep NaN, and turn overflow into
// infinity.
#pragma once
#include <stdint.h>

float nw_f16_to_f32(uint16_t h);
uint16_t nw_f32_to_f16(float f);
uint16_t nw_f64_to_f16(double d); // rounds once
float nw_bf16_to_f32(uint16_t h);
uint16_t nw_f32_to_bf16(float f);
uint16_t nw_f64_to_bf16(double d); // rounds once
