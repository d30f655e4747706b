#include "sdfg/element_type.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sdfg/declaration_ast.h"

namespace planproof::sdfg {
namespace {

// Types of PyTorch that nothing here computes with.
constexpr std::array<const char*, 38> kWithoutArithmetic = {
    "uint16",
    "uint32",
    "uint64",
    "uint1",
    "uint2",
    "uint3",
    "uint4",
    "uint5",
    "uint6",
    "uint7",
    "int1",
    "int2",
    "int3",
    "int4",
    "int5",
    "int6",
    "int7",
    "qint8",
    "quint8",
    "qint32",
    "quint4x2",
    "quint2x4",
    "bits1x8",
    "bits2x4",
    "bits4x2",
    "bits8",
    "bits16",
    "complex32",
    "chalf",
    "complex64",
    "cfloat",
    "complex128",
    "cdouble",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn_x2",
    "complex",
};

constexpr std::array<const char*, 23> kDevices = {
    "cpu",  "cuda",  "meta",   "xpu",    "mps",    "xla",   "hpu",           "npu",
    "mtia", "ipu",   "hip",    "ve",     "vulkan", "lazy",  "maia",          "fpga",
    "ort",  "ideep", "mkldnn", "opencl", "opengl", "metal", "privateuseone",
};

// Python's own types, as torch.Tensor.to takes them.
constexpr std::pair<const char*, DType> kPythonTypes[] = {
    {"builtins.float", DType::kFloat64},
    {"builtins.int", DType::kInt64},
    {"builtins.bool", DType::kBool},
};

template <typename Names>
bool Contains(const Names& names, const std::string& name) {
  return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

bool TakePrefix(const std::string& prefix, std::string* text) {
  if (text->compare(0, prefix.size(), prefix) != 0) return false;
  text->erase(0, prefix.size());
  return true;
}

std::string NearestType(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  TakePrefix("torch.", &name);
  std::vector<std::string> names;
  for (int type = 1; type <= static_cast<int>(DType::kBool); ++type) {
    names.emplace_back(DTypeName(static_cast<DType>(type)));
  }
  for (const char* alias : {"float", "double", "half", "long", "int", "short"}) {
    names.emplace_back(alias);
  }
  return Nearest(name, names);
}

// Bits of a whole number that the type holds without rounding, the sign apart. Ids and counts fit
// into 32 bits.
int WholeBits(DType type) {
  if (type == DType::kBool) return 1;
  if (type == DType::kUInt8) return 8;
  const int bits = IntegerBits(type);
  return bits > 0 ? std::min(bits, 32) - 1 : SignificandBits(type);
}

// Bits of the exponent of a floating type.
int ExponentBits(DType type) {
  switch (type) {
    case DType::kFloat64:
      return 11;
    case DType::kFloat32:
    case DType::kBFloat16:
      return 8;
    case DType::kFloat16:
    case DType::kFloat8E5M2:
      return 5;
    case DType::kFloat8E4M3:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<DType> ElementTypeFromText(const std::string& text, const std::string& what) {
  for (const auto& [name, type] : kPythonTypes) {
    if (text == name) return type;
  }
  std::string name = text;
  if (TakePrefix("<class '", &name)) {
    if (name.size() < 2 || name.substr(name.size() - 2) != "'>") name.clear();
    if (!name.empty()) name.resize(name.size() - 2);
  }
  TakePrefix("torch.", &name);
  if (Contains(kWithoutArithmetic, name)) {
    return absl::UnimplementedError("element type " + text + " is not known");
  }
  if (const DType type = DTypeFromName(name); type != DType::kUnknown) return type;
  std::string message = "\"" + text.substr(0, 80) + "\" is no " + what +
                        "; expected float32, bfloat16, int64, bool, ...";
  const std::string near = NearestType(name);
  if (!near.empty()) message += "; did you mean \"" + near + "\"?";
  return absl::InvalidArgumentError(message);
}

bool IsDeviceText(const std::string& text) {
  const size_t colon = text.find(':');
  if (!Contains(kDevices, text.substr(0, colon))) return false;
  if (colon == std::string::npos) return true;
  const std::string index = text.substr(colon + 1);
  return !index.empty() && index.size() <= 4 &&
         std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int IntegerBits(DType type) {
  switch (type) {
    case DType::kInt64:
      return 64;
    case DType::kInt32:
      return 32;
    case DType::kInt16:
      return 16;
    case DType::kInt8:
    case DType::kUInt8:
      return 8;
    default:
      return 0;
  }
}

int SignificandBits(DType type) {
  switch (type) {
    case DType::kFloat64:
      return 53;
    case DType::kFloat32:
      return 24;
    case DType::kFloat16:
      return 11;
    case DType::kBFloat16:
      return 8;
    case DType::kFloat8E4M3:
      return 4;
    case DType::kFloat8E5M2:
      return 3;
    default:
      return 0;
  }
}

bool HoldsAllNumbersOf(DType to, DType from) {
  if (to == from) return true;
  if (!IsFloating(from) && !IsInteger(from) && from != DType::kBool) return false;
  if (IsFloating(from) && !IsFloating(to)) return false;
  if (WholeBits(to) < WholeBits(from)) return false;
  if (IsFloating(from)) return ExponentBits(to) >= ExponentBits(from);
  if (IsFloating(to) || to == DType::kInt64 || to == DType::kInt32) return true;
  return to != DType::kUInt8 || from == DType::kBool;  // the sign
}

}  // namespace planproof::sdfg
