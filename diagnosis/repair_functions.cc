// Repairs of what an operator itself computes: one node of its function is another.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "diagnosis/repair_search.h"

namespace planproof::diagnosis {

using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::OperatorId;

namespace {

constexpr size_t kMaxNodes = 300;  // of a function that is searched
constexpr int kMaxEdits = 96;      // of all operators together

struct Edit {
  IndexFunction function;
  std::string text;  // after the name of the operator
};

struct OtherArithmetic {
  Op is, instead;
  const char* text;
};
constexpr OtherArithmetic kOtherArithmetic[] = {
    {Op::kAdd, Op::kMul, " adds where multiplying would be right"},
    {Op::kMul, Op::kAdd, " multiplies where adding would be right"},
    {Op::kMul, Op::kDiv, " multiplies where dividing would be right"},
    {Op::kDiv, Op::kMul, " divides where multiplying would be right"},
    {Op::kMax, Op::kMin, " takes the maximum where the minimum would be right"},
    {Op::kMin, Op::kMax, " takes the minimum where the maximum would be right"},
};

bool HasExtent(const IndexFunction& function, int64_t extent) {
  return std::any_of(function.inputs.begin(), function.inputs.end(), [&](const auto& input) {
    return std::count(input.shape.begin(), input.shape.end(), extent) > 0;
  });
}

// What this node could be instead.
void AddEdits(const IndexFunction& function, size_t at, std::vector<Edit>* edits) {
  const Node& node = function.nodes[at];
  const auto add = [&](std::string text) -> IndexFunction& {
    return edits->emplace_back(Edit{function, std::move(text)}).function;
  };
  for (const OtherArithmetic& other : kOtherArithmetic) {
    if (node.op == other.is) add(other.text).nodes[at].op = other.instead;
  }
  if (node.op == Op::kSum && HasExtent(function, function.vars[node.var].extent + 1)) {
    ++add(absl::StrCat(" leaves out the last term of its sum over ", function.vars[node.var].name))
          .vars[node.var]
          .extent;
  }
  if (node.op == Op::kElement) {
    const sdfg::Shape& shape = function.inputs[node.input].shape;
    for (size_t a = 0; a + 1 < node.args.size(); ++a) {
      if (shape[a] != shape[a + 1] || node.args[a] == node.args[a + 1]) continue;
      Node& changed = add(absl::StrCat(" reads ", function.inputs[node.input].name,
                                       " with its indices ", a, " and ", a + 1, " exchanged"))
                          .nodes[at];
      std::swap(changed.args[a], changed.args[a + 1]);
    }
  }
  if (node.op == Op::kIntConst || node.op == Op::kIntScale) {
    for (const int64_t right : {node.value - 1, node.value + 1}) {
      add(absl::StrCat(" has ", node.value, node.op == Op::kIntConst ? " in" : " as a stride of",
                       " an index where ", right, " would be right"))
          .nodes[at]
          .value = right;
    }
  }
}

}  // namespace

// With one node of an operator's function changed the result would be right.
void RepairSearch::TryFunctions() {
  int tried = 0;
  for (const OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    if (op.function->nodes.size() > kMaxNodes) continue;
    std::vector<Edit> edits;
    for (size_t n = 0; n < op.function->nodes.size(); ++n) AddEdits(*op.function, n, &edits);
    for (Edit& edit : edits) {
      if (++tried > kMaxEdits || Late()) return;
      sdfg::Operator changed = op;
      changed.function = std::make_shared<const IndexFunction>(std::move(edit.function));
      if (!Agree(With(id, changed), claimed_)) continue;
      Found(absl::StrCat(Name(id), edit.text), id);
      return;
    }
  }
}

}  // namespace planproof::diagnosis
