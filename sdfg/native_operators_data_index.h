// Implements what gathers and scatters have in common: indices that are data.
#ifndef PLANPROOF_SDFG_NATIVE_OPERATORS_DATA_INDEX_H_
#define PLANPROOF_SDFG_NATIVE_OPERATORS_DATA_INDEX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "sdfg/native_operators.h"

namespace planproof::sdfg {

// What happens to an index that lies outside of its dimension.
enum class OutOfRange {
  kPromised,  // there is none
  kClipped,   // the nearest one counts
  kDropped,   // it counts for nothing
  kWrapped,   // modulo the extent
};
OutOfRange OutOfRangeOf(const std::string& mode);

// `index` as the mode has it. Of a kPromised or kDropped one nothing is changed.
ExprId IndexWithin(IndexFunctionBuilder* builder, OutOfRange mode, int64_t extent, ExprId index);

// Negative indices count from the end.
ExprId CountedFromTheEnd(IndexFunctionBuilder* builder, int64_t extent, ExprId index);

// 0 <= index < extent.
ExprId IsWithin(IndexFunctionBuilder* builder, int64_t extent, ExprId index);

// Adds operand `number`, which holds indices, as an input.
absl::Status AddIndexInput(const NativeCall& call, size_t number, IndexFunctionBuilder* builder);

// The dimension that attribute `dim` or `axis` names.
absl::StatusOr<size_t> NamedDimension(const NativeCall& call, const std::string& attribute,
                                      size_t rank);

// An element as a real number, whatever its type is.
ExprId ReadNumber(IndexFunctionBuilder* builder, int input, const std::vector<ExprId>& indices);

// The number as a body of an output of this type.
ExprId AsBody(IndexFunctionBuilder* builder, DType dtype, ExprId number);

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_NATIVE_OPERATORS_DATA_INDEX_H_
