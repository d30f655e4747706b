// Reads elements of dumped tensors as numbers.
#ifndef PLANPROOF_RUNTIME_CHECK_DUMPED_VALUES_H_
#define PLANPROOF_RUNTIME_CHECK_DUMPED_VALUES_H_

#include <string_view>

#include "dumps/safetensors_file.h"
#include "dumps/tensor_file.h"
#include "runtime_check/values.h"

namespace planproof::runtime_check {

// `bytes` are those of the elements: little-endian, row-major, as many as the type says. Integers
// and truth values stay integers, float64 doubles; narrower types become floats, which hold all of
// their numbers.
Values DecodedValues(const dumps::TensorType& type, std::string_view bytes);

// As int64, float64 or float32.
dumps::TensorBytes EncodedValues(const Values& values);

}  // namespace planproof::runtime_check

#endif  // PLANPROOF_RUNTIME_CHECK_DUMPED_VALUES_H_
