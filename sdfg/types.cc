#include "sdfg/types.h"

#include <array>
#include <utility>

namespace planproof::sdfg {
namespace {

// Indexed by DType.
constexpr std::array<const char*, 15> kNames = {
    "unknown", "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64",
    "int32",   "int16",   "int8",    "uint8",   "bool",     "complex64",     "complex128",
};
static_assert(static_cast<size_t>(DType::kComplex128) + 1 == kNames.size());

// Other names that PyTorch and XLA use for the same types.
constexpr std::pair<const char*, DType> kAliases[] = {
    {"float", DType::kFloat32},
    {"double", DType::kFloat64},
    {"half", DType::kFloat16},
    {"long", DType::kInt64},
    {"int", DType::kInt32},
    {"short", DType::kInt16},
    {"float8_e4m3", DType::kFloat8E4M3},
    {"cfloat", DType::kComplex64},
    {"cdouble", DType::kComplex128},
};

}  // namespace

bool IsInteger(DType dtype) { return dtype >= DType::kInt64 && dtype <= DType::kUInt8; }

bool IsFloating(DType dtype) { return dtype >= DType::kFloat64 && dtype <= DType::kFloat8E5M2; }

const char* DTypeName(DType dtype) { return kNames.at(static_cast<size_t>(dtype)); }

DType DTypeFromName(const std::string& name) {
  const std::string module = "torch.";
  const std::string bare =
      name.compare(0, module.size(), module) == 0 ? name.substr(module.size()) : name;
  for (size_t i = 1; i < kNames.size(); ++i) {
    if (bare == kNames[i]) return static_cast<DType>(i);
  }
  for (const auto& [alias, dtype] : kAliases) {
    if (bare == alias) return dtype;
  }
  return DType::kUnknown;
}

std::string SourceLocation::ToString() const {
  std::string result = file;
  if (line > 0) result.append(":").append(std::to_string(line));
  if (!text.empty()) {
    if (!result.empty()) result.append(": ");
    result.append(text);
  }
  return result;
}

}  // namespace planproof::sdfg
