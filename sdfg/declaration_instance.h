// Holds what the parts of one instantiation of a declaration share.
#ifndef PLANPROOF_SDFG_DECLARATION_INSTANCE_H_
#define PLANPROOF_SDFG_DECLARATION_INSTANCE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sdfg/declaration_ast.h"
#include "sdfg/declaration_shapes.h"
#include "sdfg/index_function.h"
#include "sdfg/operator_library.h"

namespace planproof::sdfg {

// What the names of indices and packs stand for at one place of an expression. The pack "" holds
// the indices of an elementwise output.
struct Scope {
  std::map<std::string, ExprId> indices;
  std::map<std::string, std::vector<ExprId>> packs;
};

struct Instance {
  Instance(const Declaration& declared, const std::vector<Operand>& given,
           const Attributes& resolved)
      : declaration(declared), operands(given), attributes(resolved), builder(declared.name) {}

  const Declaration& declaration;
  const std::vector<Operand>& operands;
  const Attributes& attributes;
  ShapeBinding binding;
  IndexFunctionBuilder builder;
  std::vector<int> inputs;  // function input of each declared operand, or -1

  absl::Status Error(TextPosition at, const std::string& message) const;
  const Placement* PlacementOf(const std::string& index) const;  // null if it has none
  // Extents of a dimension's parts (one for an index or a literal).
  absl::StatusOr<std::vector<int64_t>> DimensionSizes(const DimensionPattern& dim) const;
  // Extents of a reduction's index or pack: given, known from the operands, or taken from the
  // operand dimensions at which it stands alone in the body.
  absl::StatusOr<std::vector<int64_t>> BinderExtents(const Syntax& reduction,
                                                     const Binder& binder) const;

 private:
  absl::Status InferExtent(SyntaxId id, const Binder& binder, int depth,
                           std::optional<int64_t>* extent) const;
  absl::StatusOr<std::optional<int64_t>> ExtentAt(const Syntax& read, size_t item, size_t part,
                                                  int depth) const;

  mutable int inference_steps_ = 0;  // definitions within definitions multiply: bounded
};

}  // namespace planproof::sdfg

#endif  // PLANPROOF_SDFG_DECLARATION_INSTANCE_H_
