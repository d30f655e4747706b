#include "frontend/torch/exact_values.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/stack_room.h"

namespace planproof::frontend::torch {
namespace {

using sdfg::ExprId;
using sdfg::FunctionInput;
using sdfg::FunctionOutput;
using sdfg::FunctionPremise;
using sdfg::IndexFunction;
using sdfg::Node;
using sdfg::Op;
using sdfg::VarId;
using solver::Rational;
using Maybe = std::optional<Rational>;

constexpr size_t kMaxDigits = 256;  // of an element

// A sorted row's places are what the operators that sort assume: the largest first, equal elements
// by their indices (sdfg/native_operators_order.cc).
bool IsPlaceInSortedRow(const Node& node, int64_t extent) {
  if (!node.int_valued || node.args.size() != 2) return false;
  for (int64_t k = 1; k <= extent; ++k) {
    if (node.name == absl::StrCat("topk_index(k=", k, ")")) return true;
  }
  return false;
}

// By node: the index variables on whose values it depends.
std::vector<std::set<VarId>> FreeVariables(const IndexFunction& function) {
  std::vector<std::set<VarId>> free;
  free.reserve(function.nodes.size());
  for (const Node& node : function.nodes) {
    std::set<VarId>& own = free.emplace_back();
    for (const ExprId arg : node.args) own.insert(free[arg].begin(), free[arg].end());
    if (node.op == Op::kIndex) {
      own.insert(node.var);
    } else if (node.var >= 0) {
      own.erase(node.var);  // which it binds
    }
  }
  return free;
}

class ExactEvaluation {
 public:
  ExactEvaluation(const IndexFunction& function, const std::vector<const ExactElements*>& inputs,
                  int64_t* work)
      : f_(function),
        inputs_(inputs),
        work_(*work),
        at_(function.vars.size(), 0),
        free_(FreeVariables(function)),
        folds_(function.nodes.size()),
        orders_(function.nodes.size()) {}

  bool PremisesHold() {
    return std::all_of(f_.premises.begin(), f_.premises.end(), [&](const FunctionPremise& premise) {
      return ForEachIndex(f_.outputs[premise.output], [&] {
        const Maybe holds = Value(premise.condition);
        return holds && !holds->IsZero();
      });
    });
  }

  std::optional<ExactElements> Elements(const FunctionOutput& output) {
    ExactElements elements;
    const bool all = ForEachIndex(output, [&] {
      Maybe element = Value(output.body);
      if (!element || Digits(*element) > kMaxDigits) return false;
      elements.push_back(*std::move(element));
      return true;
    });
    if (!all) return std::nullopt;
    return elements;
  }

 private:
  static size_t Digits(const Rational& number) {
    return number.Numerator().size() + number.Denominator().size();
  }

  // In row-major order, until one fails.
  template <typename Visit>
  bool ForEachIndex(const FunctionOutput& output, Visit visit) {
    for (VarId var : output.dims) {
      at_[var] = 0;
      if (f_.vars[var].extent == 0) return true;
    }
    while (visit()) {
      size_t d = output.dims.size();
      while (d > 0 && ++at_[output.dims[d - 1]] == f_.vars[output.dims[d - 1]].extent) {
        at_[output.dims[--d]] = 0;
      }
      if (d == 0) return true;
    }
    return false;
  }

  Maybe Value(ExprId id) {
    if (--work_ < 0 || sdfg::StackIsShort()) return std::nullopt;
    const Node& node = f_.nodes[id];
    switch (node.op) {
      case Op::kIntConst:
        return Rational(node.value);
      case Op::kReal:
        return node.real;
      case Op::kIndex:
        return Rational(at_[node.var]);
      case Op::kElement:
      case Op::kIntElement:
        return Element(node);
      case Op::kSelect: {
        const Maybe condition = Value(node.args[0]);
        if (!condition) return std::nullopt;
        return Value(node.args[condition->IsZero() ? 2 : 1]);
      }
      case Op::kAnd:
      case Op::kOr: {
        const Maybe first = Value(node.args[0]);
        if (!first || first->IsZero() == (node.op == Op::kAnd)) return first;
        return Value(node.args[1]);
      }
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return Fold(id);
      case Op::kOpaque:
        return PlaceInSortedRow(id);
      default:
        return Operation(node);
    }
  }

  Maybe Operation(const Node& node) {
    std::vector<Rational> args;
    for (ExprId arg : node.args) {
      Maybe value = Value(arg);
      if (!value) return std::nullopt;
      args.push_back(*std::move(value));
    }
    return ExactResult(node, args);
  }

  std::optional<int64_t> Integer(ExprId id) {
    const Maybe value = Value(id);
    int64_t integer = 0;
    if (!value || !value->ToInt64(&integer)) return std::nullopt;
    return integer;
  }

  Maybe Element(const Node& node) {
    const FunctionInput& input = f_.inputs[node.input];
    int64_t offset = 0;
    for (size_t d = 0; d < node.args.size(); ++d) {
      const std::optional<int64_t> index = Integer(node.args[d]);
      if (!index || *index < 0 || *index >= input.shape[d]) return std::nullopt;
      offset = offset * input.shape[d] + *index;
    }
    if (inputs_[node.input] == nullptr) return std::nullopt;
    const Rational& element = (*inputs_[node.input])[offset];
    int64_t integer = 0;
    if (node.op == Op::kIntElement && !element.ToInt64(&integer)) return std::nullopt;
    return element;
  }

  std::optional<ExactElements> Row(VarId var, ExprId body) {
    ExactElements row;
    for (int64_t i = 0; i < f_.vars[var].extent; ++i) {
      at_[var] = i;
      Maybe value = Value(body);
      if (!value) return std::nullopt;
      row.push_back(*std::move(value));
    }
    return row;
  }

  // The values of these variables now.
  std::vector<int64_t> Now(const std::set<VarId>& variables) const {
    std::vector<int64_t> values;
    for (const VarId var : variables) values.push_back(at_[var]);
    return values;
  }

  // Folds are remembered: a count of what lies before a place is asked for again at each element.
  Maybe Fold(ExprId id) {
    const auto [known, fresh] = folds_[id].try_emplace(Now(free_[id]));
    if (fresh) known->second = FoldAnew(f_.nodes[id]);
    return known->second;
  }

  // A sum, or the largest or smallest of a row that is not empty.
  Maybe FoldAnew(const Node& node) {
    Maybe result;
    if (node.op == Op::kSum) result = Rational(0);
    for (int64_t i = 0; i < f_.vars[node.var].extent; ++i) {
      at_[node.var] = i;
      const Maybe value = Value(node.args[0]);
      if (!value) return std::nullopt;
      if (node.op == Op::kSum) {
        *result += *value;
      } else if (!result || (node.op == Op::kReduceMax ? *result < *value : *value < *result)) {
        result = value;
      }
    }
    return result;
  }

  Maybe PlaceInSortedRow(ExprId id) {
    const Node& node = f_.nodes[id];
    if (node.var < 0 || !IsPlaceInSortedRow(node, f_.vars[node.var].extent)) return std::nullopt;
    const std::optional<int64_t> rank = Integer(node.args[1]);
    if (!rank || *rank < 0 || *rank >= f_.vars[node.var].extent) return std::nullopt;
    std::set<VarId> of_row = free_[node.args[0]];
    of_row.erase(node.var);
    const auto [known, fresh] = orders_[id].try_emplace(Now(of_row));
    if (fresh) known->second = OrderOf(node);
    if (!known->second) return std::nullopt;
    return Rational((*known->second)[*rank]);
  }

  std::optional<std::vector<int64_t>> OrderOf(const Node& node) {
    const std::optional<ExactElements> row = Row(node.var, node.args[0]);
    if (!row) return std::nullopt;
    std::vector<int64_t> order(row->size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return (*row)[b] < (*row)[a]; });
    return order;
  }

  const IndexFunction& f_;
  const std::vector<const ExactElements*>& inputs_;
  int64_t& work_;
  std::vector<int64_t> at_;  // the index variables
  const std::vector<std::set<VarId>> free_;
  // By node, and by the values of the variables on which it depends.
  std::vector<std::map<std::vector<int64_t>, Maybe>> folds_;
  std::vector<std::map<std::vector<int64_t>, std::optional<std::vector<int64_t>>>> orders_;
};

}  // namespace

std::optional<ExactElements> EvaluateExactly(const IndexFunction& function, int output,
                                             const std::vector<const ExactElements*>& inputs,
                                             int64_t* work) {
  ExactEvaluation evaluation(function, inputs, work);
  if (!evaluation.PremisesHold()) return std::nullopt;
  return evaluation.Elements(function.outputs[output]);
}

bool PremisesHoldExactly(const IndexFunction& function,
                         const std::vector<const ExactElements*>& inputs, int64_t* work) {
  return ExactEvaluation(function, inputs, work).PremisesHold();
}

}  // namespace planproof::frontend::torch
