// Parses the integer expressions of plan files: "dp*8 + i0", "i0 / 4 * 8 + tp * 4 + i0 % 4".
//
// + - * / % and parentheses over integers and names; / rounds down and, like %, needs a positive
// constant on the right. A name is a coordinate or a local index; what it stands for is the
// caller's business. The value is an affine form whose terms may be digits (floor(i / d) mod m),
// and products of two of these, of which one must be 0 or 1 at every index (SettleGates).
#ifndef PLANPROOF_FRONTEND_PLAN_INDEX_EXPRESSION_H_
#define PLANPROOF_FRONTEND_PLAN_INDEX_EXPRESSION_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lineage/lineage.h"

namespace planproof::plan {

// What a name stands for: a number, or dimension `dim` of the parallel tensor.
struct NameMeaning {
  int64_t value = 0;
  int32_t dim = -1;
};
using NameResolver = std::function<std::optional<NameMeaning>(const std::string&)>;

// Errors (InvalidArgument) name the column and what is expected.
absl::StatusOr<lineage::IndexMap> ParseIndexExpression(const std::string& text,
                                                       const NameResolver& resolve);

// Makes that factor of each product the gate which is 0 or 1 at every index of a tensor with these
// extents. InvalidArgument if neither is.
absl::Status SettleGates(const sdfg::Shape& extents, lineage::IndexMap* map);

// The names that occur in `text`, each once, in order of appearance (no check of the syntax).
std::vector<std::string> NamesIn(const std::string& text);

}  // namespace planproof::plan

#endif  // PLANPROOF_FRONTEND_PLAN_INDEX_EXPRESSION_H_
