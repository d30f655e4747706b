// Repairs about constants of operators: literals that others of their kind have in their place.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "diagnosis/repair_search.h"
#include "solver/rational.h"

namespace planproof::diagnosis {

using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::OperatorId;
using sdfg::TensorId;
using solver::Rational;

namespace {

constexpr double kLiteralTolerance = 1e-8;
constexpr size_t kMaxLiterals = 64;

// A literal of one function, and what stands in its place in another one.
struct OtherLiteral {
  size_t node;
  Rational value;
};

bool HasLiteral(const sdfg::Node& node) {
  return node.op == sdfg::Op::kReal || node.op == sdfg::Op::kPow;
}

// The literals that are in `a` and not in `b`, each as often as that, by position: at most `most`.
std::vector<size_t> LiteralsMissing(const IndexFunction& a, const IndexFunction& b, size_t most) {
  std::vector<const sdfg::Node*> others;
  for (const sdfg::Node& node : b.nodes) {
    if (HasLiteral(node)) others.push_back(&node);
  }
  std::vector<size_t> missing;
  for (size_t i = 0; i < a.nodes.size() && missing.size() < most; ++i) {
    const sdfg::Node& node = a.nodes[i];
    if (!HasLiteral(node)) continue;
    const auto same = std::find_if(others.begin(), others.end(), [&](const sdfg::Node* other) {
      return other->op == node.op && other->real == node.real;
    });
    if (same != others.end()) {
      others.erase(same);
    } else {
      missing.push_back(i);
    }
  }
  return missing;
}

// How `b` has other literals than `a`: of one structure by place; else, as where one of them is cut
// in another way, the few that only one of them has.
std::vector<OtherLiteral> OtherLiterals(const IndexFunction& a, const IndexFunction& b) {
  constexpr size_t kMaxAlone = 2;
  std::vector<OtherLiteral> others;
  const bool alike = a.nodes.size() == b.nodes.size() && a.inputs.size() == b.inputs.size() &&
                     std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(),
                                [](const sdfg::Node& x, const sdfg::Node& y) {
                                  return x.op == y.op && x.args == y.args && x.input == y.input;
                                });
  if (alike) {
    for (size_t i = 0; i < a.nodes.size(); ++i) {
      if (!(a.nodes[i].real == b.nodes[i].real)) others.push_back({i, b.nodes[i].real});
    }
    return others;
  }
  const std::vector<size_t> here = LiteralsMissing(a, b, kMaxAlone + 1),
                            there = LiteralsMissing(b, a, kMaxAlone + 1);
  if (here.size() > kMaxAlone || there.size() > kMaxAlone) return others;
  for (const size_t i : here) {
    for (const size_t j : there) {
      if (a.nodes[i].op == b.nodes[j].op) others.push_back({i, b.nodes[j].real});
    }
  }
  return others;
}

// Numbers of elements that an operator works on: of its sums, and of each operand on one rank.
std::vector<double> ElementCounts(const sdfg::Graph& graph, const sdfg::Operator& op) {
  std::vector<double> counts = {1};
  for (const sdfg::Node& n : op.function->nodes) {
    if (n.op == sdfg::Op::kSum) counts[0] *= static_cast<double>(op.function->vars[n.var].extent);
  }
  for (const TensorId input : op.inputs) {
    counts.push_back(1);
    if (input == kNone) continue;
    const sdfg::Tensor& tensor = graph.tensors[input];
    for (size_t d = tensor.axes.size(); d < tensor.shape.size(); ++d) {
      counts.back() *= static_cast<double>(tensor.shape[d]);
    }
  }
  return counts;
}

// Of two constants that differ as the numbers of elements do, c/count, the numerator c: a mean's,
// in its backward operator, too.
std::optional<double> NumeratorOverCounts(const Rational& here, const Rational& there,
                                          const std::vector<double>& counts,
                                          const std::vector<double>& other_counts) {
  for (size_t k = 0; k < std::min(counts.size(), other_counts.size()); ++k) {
    if (counts[k] == other_counts[k]) continue;
    const double x = here.ToDouble() * counts[k], y = there.ToDouble() * other_counts[k];
    if (x != 0 && std::fabs(x - y) < kLiteralTolerance * std::fabs(x)) return x;
  }
  return std::nullopt;
}

std::string Short(const Rational& value) {
  const std::string exact = value.ToString();
  return exact.size() <= 12 ? exact : absl::StrCat(value.ToDouble());
}

}  // namespace

// A literal of an operator is not the model's.
bool RepairSearch::TryConstants() {
  for (OperatorId id : subject_.operators) {
    const sdfg::Operator& op = graph_.operators[id];
    size_t tried = 0;
    const std::vector<double> counts = ElementCounts(graph_, op);
    std::set<const IndexFunction*> seen = {op.function.get()};
    for (const sdfg::Graph* other : {&problem_.logical, &graph_}) {
      for (const sdfg::Operator& model : other->operators) {
        if (model.name != op.name || tried >= kMaxLiterals) continue;
        if (!seen.insert(model.function.get()).second) continue;
        for (const auto& [node, models] : OtherLiterals(*op.function, *model.function)) {
          const Rational& is = op.function->nodes[node].real;
          const std::optional<double> numerator =
              NumeratorOverCounts(is, models, counts, ElementCounts(*other, model));
          if (numerator && std::fabs(*numerator - 1) < kLiteralTolerance) continue;
          ++tried;
          IndexFunction function = *op.function;
          function.nodes[node].real = models;
          sdfg::Operator changed = op;
          changed.function = std::make_shared<const IndexFunction>(std::move(function));
          if (!Agree(With(id, changed), claimed_)) continue;
          Found(absl::StrCat("a constant of ", Name(id), " is ", Short(is),
                             other == &graph_ ? ", elsewhere it is " : ", in the model it is ",
                             Short(models)),
                id);
          return numerator.has_value();
        }
      }
    }
  }
  return false;
}

}  // namespace planproof::diagnosis
