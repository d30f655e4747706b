// Recognizes operators that compute nothing: views, parts, rearrangements, and what joins several
// tensors.
#ifndef PLANPROOF_INFERENCE_MOVEMENT_H_
#define PLANPROOF_INFERENCE_MOVEMENT_H_

#include "sdfg/index_function.h"

namespace planproof::inference {

// Each result is an element of an operand, or a constant, and its place alone says which.
bool TakesElementsByPlace(const sdfg::IndexFunction& function);

}  // namespace planproof::inference

#endif  // PLANPROOF_INFERENCE_MOVEMENT_H_
