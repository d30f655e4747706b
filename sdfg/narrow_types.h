// Element types with which operators compute otherwise than with real numbers.
#ifndef PLANPROOF_SDFG_NARROW_TYPES_H_
#define PLANPROOF_SDFG_NARROW_TYPES_H_

#include "sdfg/types.h"

namespace planproof::sdfg {

// int8, uint8, int16: integers that wrap around (ids and counts fit into 32 bits). bool: truth
// values are added by "or".
inline bool IsNarrow(DType dtype) { return dtype >= DType::kInt16 && dtype <= DType::kBool; }

// Whether operators compute alike with elements of both types: all floating types are the reals.
inline bool SameArithmetic(DType a, DType b) { return a == b || (IsFloating(a) && IsFloating(b)); }

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_NARROW_TYPES_H_
