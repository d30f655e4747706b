// Defines the small vocabulary that graphs, operators and readers share.
#ifndef PLANPROOF_SDFG_TYPES_H_
#define PLANPROOF_SDFG_TYPES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace planproof::sdfg {

// Extents of a tensor, outermost first. Extents are at least 0; a scalar has rank 0.
using Shape = std::vector<int64_t>;

// A rank of the execution plan (a global device number).
using Device = int32_t;

// What kind of number an element is. Proofs are over the reals, so floating-point widths are kept
// only for the static check that producers and consumers agree.
enum class DType : uint8_t {  // clang-format off
  kUnknown, kFloat64, kFloat32, kFloat16, kBFloat16, kFloat8E4M3, kFloat8E5M2,
  kInt64, kInt32, kInt16, kInt8, kUInt8, kBool, kComplex64, kComplex128,  // clang-format on
};
bool IsInteger(DType dtype);   // int* and uint*
bool IsFloating(DType dtype);  // float*, bfloat16
// "float32", "int64", "bool", ...; the names of PyTorch without the module.
const char* DTypeName(DType dtype);
DType DTypeFromName(const std::string& name);  // kUnknown if not known; accepts "torch.float32"

// Where something stands in the user's program or in the file that was read.
struct SourceLocation {
  std::string file;
  int line = 0;      // 0: not known
  std::string text;  // the source line or a comment, may be empty
  std::string ToString() const;
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_TYPES_H_
