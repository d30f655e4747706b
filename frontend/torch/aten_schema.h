// Parses signatures of operators as PyTorch prints them, by overload: "aten::add.Tensor(Tensor
// self, ...)".
//
// aten_schemas.txt has those of every overload that the table of operators names, as PyTorch prints
// them; tests/torch/test_schemas.py compares them with the PyTorch that is installed, and writes
// them anew. So order and kinds of parameters, and what one that is left out stands for, are
// PyTorch's.
#ifndef PLANPROOF_FRONTEND_TORCH_ATEN_SCHEMA_H_
#define PLANPROOF_FRONTEND_TORCH_ATEN_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "frontend/torch/trace.h"

namespace planproof::frontend::torch {

// The kinds of arguments: Tensor, Scalar, int and SymInt, float, bool, str, ScalarType; everything
// else (devices, layouts, generators) has no meaning for values.
enum class AtenKind : uint8_t {
  kTensor,
  kNumber,
  kInteger,
  kReal,
  kTruth,
  kText,
  kDType,
  kOther,
};

struct AtenParameter {
  std::string name;
  std::string type;  // as it is printed
  AtenKind kind = AtenKind::kOther;
  bool list = false;
  bool one_for_all = false;  // int[1]: a number may stand for the list
  bool optional = false;     // None is an argument
  bool optional_elements = false;
  bool keyword_only = false;
  bool written = false;  // Tensor(a!)
  std::optional<Value> otherwise;
};

struct AtenSchema {
  std::string op;  // "aten.add_.Tensor"; without an overload "aten.abs.default"
  std::vector<AtenParameter> parameters;

  const AtenParameter* Find(std::string_view name) const;
};

// InvalidArgument for what is no signature.
absl::StatusOr<AtenSchema> ParseAtenSchema(std::string_view text);

// Null if aten_schemas.txt has none of this overload.
const AtenSchema* FindAtenSchema(std::string_view op);
// All that it has, sorted.
std::vector<std::string> AtenSchemaNames();

// Whether the value may be an argument of that kind. A number may stand for a tensor, as PyTorch
// takes it, and a number that Python read from a tensor for a number.
bool IsArgumentFor(const Value& value, const AtenParameter& parameter);

// The text of aten_schemas.txt, compiled in.
extern const char* const kAtenSchemas;

}  // namespace planproof::frontend::torch

#endif  // PLANPROOF_FRONTEND_TORCH_ATEN_SCHEMA_H_
