#include "sdfg/index_function_check.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "sdfg/guarded_reads.h"
#include "sdfg/index_range.h"
#include "sdfg/limit.h"
#include "sdfg/whole_numbers.h"

namespace planproof::sdfg {
namespace {

using VarSet = absl::InlinedVector<VarId, 6>;  // ascending

VarSet Union(const VarSet& a, const VarSet& b) {
  VarSet result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

bool Includes(const VarSet& set, const VarSet& subset) {
  return std::includes(set.begin(), set.end(), subset.begin(), subset.end());
}

bool Intersects(const VarSet& a, const VarSet& b) {
  return std::any_of(a.begin(), a.end(),
                     [&b](VarId var) { return std::binary_search(b.begin(), b.end(), var); });
}

bool BindsVariable(const Node& node) {
  return node.op == Op::kSum || node.op == Op::kReduceMax || node.op == Op::kReduceMin ||
         (node.op == Op::kOpaque && node.var >= 0);
}

Sort ResultSort(const Node& node, const std::vector<Sort>& sorts) {
  switch (node.op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kIntAdd:
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kWhole:
    case Op::kIntElement:
      return Sort::kInt;
    case Op::kOpaque:
      return node.int_valued ? Sort::kInt : Sort::kReal;
    case Op::kSelect:
      return node.args.size() == 3 ? sorts[node.args[1]] : Sort::kReal;
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq:
    case Op::kRealLess:
    case Op::kRealLessEq:
    case Op::kRealEq:
    case Op::kNonzero:
    case Op::kAnd:
    case Op::kOr:
    case Op::kNot:
      return Sort::kBool;
    default:
      return Sort::kReal;
  }
}

// Sorts of the arguments where they are fixed: number of arguments and their common sort.
// kElement, kIntElement, kSelect, kOpaque and kNonzero have rules of their own.
std::optional<std::pair<size_t, Sort>> ArgumentSorts(Op op) {
  switch (op) {
    case Op::kIntConst:
    case Op::kIndex:
    case Op::kReal:
    case Op::kNegInf:
      return std::make_pair(0, Sort::kReal);
    case Op::kIntScale:
    case Op::kIntDiv:
    case Op::kIntMod:
    case Op::kPosition:
      return std::make_pair(1, Sort::kInt);
    case Op::kIntAdd:
    case Op::kIntLess:
    case Op::kIntLessEq:
    case Op::kIntEq:
      return std::make_pair(2, Sort::kInt);
    case Op::kIndicator:
    case Op::kNot:
      return std::make_pair(1, Sort::kBool);
    case Op::kAnd:
    case Op::kOr:
      return std::make_pair(2, Sort::kBool);
    case Op::kWhole:
    case Op::kNeg:
    case Op::kPow:
    case Op::kExp:
    case Op::kLog:
    case Op::kErf:
    case Op::kSin:
    case Op::kCos:
    case Op::kAbs:
    case Op::kSum:
    case Op::kReduceMax:
    case Op::kReduceMin:
      return std::make_pair(1, Sort::kReal);
    case Op::kAdd:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMax:
    case Op::kMin:
    case Op::kRealLess:
    case Op::kRealLessEq:
    case Op::kRealEq:
      return std::make_pair(2, Sort::kReal);
    case Op::kElement:
    case Op::kIntElement:
    case Op::kSelect:
    case Op::kOpaque:
    case Op::kNonzero:
      return std::nullopt;
  }
  return std::nullopt;
}

class IndexFunctionChecker {
 public:
  explicit IndexFunctionChecker(const IndexFunction& function) : f_(function) {}

  absl::Status Run() {
    if (absl::Status status = CheckSignature(); !status.ok()) return status;
    binder_.assign(f_.vars.size(), kNoExpr);
    for (ExprId id = 0; id < static_cast<ExprId>(f_.nodes.size()); ++id) {
      if (absl::Status status = CheckNode(id); !status.ok()) return status;
    }
    if (absl::Status status = CheckScopes(); !status.ok()) return status;
    return CheckAccesses();
  }

 private:
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat("operator ", f_.operator_name, ": ", what));
  }
  absl::Status NodeError(ExprId id, const std::string& what) const {
    return Error(absl::StrCat("expression ", id, ": ", what));
  }

  absl::Status CheckSignature() {
    for (const FunctionInput& input : f_.inputs) {
      for (int64_t extent : input.shape) {
        if (extent < 0) return Error(absl::StrCat("input ", input.name, " has extent ", extent));
      }
    }
    for (const IndexVariable& var : f_.vars) {
      if (var.extent < 0)
        return Error(absl::StrCat("index ", var.name, " has extent ", var.extent));
      if (var.extent > kMaxExtent) {
        return BeyondLimit(
            absl::StrCat("operator ", f_.operator_name, ": extent of index ", var.name), var.extent,
            "2^60");
      }
    }
    owner_.assign(f_.vars.size(), -1);
    for (size_t o = 0; o < f_.outputs.size(); ++o) {
      for (VarId var : f_.outputs[o].dims) {
        if (var < 0 || var >= static_cast<VarId>(f_.vars.size())) {
          return Error(absl::StrCat("output ", f_.outputs[o].name, " uses an unknown index"));
        }
        if (owner_[var] != -1) {
          return Error(absl::StrCat("index ", f_.vars[var].name, " is two output dimensions"));
        }
        owner_[var] = static_cast<int>(o);
      }
      if (!ValidExpr(f_.outputs[o].body)) {
        return Error(absl::StrCat("output ", f_.outputs[o].name, " has no body"));
      }
    }
    return absl::OkStatus();
  }

  bool ValidExpr(ExprId id) const { return id >= 0 && id < static_cast<ExprId>(f_.nodes.size()); }
  bool ValidVar(VarId var) const { return var >= 0 && var < static_cast<VarId>(f_.vars.size()); }

  absl::Status CheckNode(ExprId id) {
    const Node& node = f_.nodes[id];
    for (ExprId arg : node.args) {
      if (arg < 0 || arg >= id) return NodeError(id, "an argument does not precede it");
    }
    if (absl::Status status = CheckArguments(id, node); !status.ok()) return status;
    sorts_.push_back(ResultSort(node, sorts_));
    whole_.push_back(IsWholeNode(f_, id, whole_));
    if (node.op == Op::kWhole && !whole_[node.args[0]]) {
      return NodeError(id, "a real number that may have a fraction is read as an integer");
    }
    if (absl::Status status = CheckVariables(id, node); !status.ok()) return status;
    return ComputeRange(id, node);
  }

  absl::Status CheckArguments(ExprId id, const Node& node) const {
    const auto has_sort = [this, &node](size_t i, Sort sort) {
      return sorts_[node.args[i]] == sort;
    };
    if (const auto rule = ArgumentSorts(node.op)) {
      if (node.args.size() != rule->first) return NodeError(id, "wrong number of arguments");
      for (size_t i = 0; i < node.args.size(); ++i) {
        if (!has_sort(i, rule->second)) return NodeError(id, "an argument has the wrong sort");
      }
    } else if (node.op == Op::kSelect) {
      if (node.args.size() != 3) return NodeError(id, "select needs three arguments");
      if (!has_sort(0, Sort::kBool) || has_sort(1, Sort::kBool) ||
          sorts_[node.args[1]] != sorts_[node.args[2]]) {
        return NodeError(id, "select needs a condition and two numbers of one sort");
      }
    } else if (node.op == Op::kNonzero) {
      if (node.args.size() != 1) return NodeError(id, "wrong number of arguments");
      if (has_sort(0, Sort::kBool)) return NodeError(id, "an argument has the wrong sort");
    } else if (node.op == Op::kOpaque) {
      if (node.name.empty()) return NodeError(id, "an opaque function has no name");
      if (node.var >= 0 && node.args.empty()) return NodeError(id, "an opaque row has no body");
      for (size_t i = 0; i < node.args.size(); ++i) {
        if (has_sort(i, Sort::kBool)) return NodeError(id, "an argument has the wrong sort");
      }
    } else {  // kElement, kIntElement
      if (node.input < 0 || node.input >= static_cast<int32_t>(f_.inputs.size())) {
        return NodeError(id, "reads an unknown input");
      }
      const FunctionInput& input = f_.inputs[node.input];
      if (node.args.size() != input.shape.size()) {
        return NodeError(
            id, absl::StrCat("reads input ", input.name, " of rank ", input.shape.size(), " with ",
                             node.args.size(), " indices"));
      }
      for (size_t i = 0; i < node.args.size(); ++i) {
        if (!has_sort(i, Sort::kInt)) return NodeError(id, "an index is not an integer");
      }
      if (node.op == Op::kIntElement && IsFloating(input.dtype)) {
        return NodeError(id, absl::StrCat("reads input ", input.name, " of type ",
                                          DTypeName(input.dtype), " as an integer"));
      }
    }
    if ((node.op == Op::kIntDiv || node.op == Op::kIntMod) && node.value <= 0) {
      return NodeError(id, absl::StrCat("division by ", node.value));
    }
    return absl::OkStatus();
  }

  absl::Status CheckVariables(ExprId id, const Node& node) {
    VarSet free;
    bool empty = false;  // depends on an index without values: never evaluated
    for (ExprId arg : node.args) {
      free = Union(free, free_[arg]);
      empty = empty || empty_[arg];
    }
    if (node.op == Op::kIndex) {
      if (!ValidVar(node.var)) return NodeError(id, "unknown index");
      free.push_back(node.var);
      empty = f_.vars[node.var].extent == 0;
    } else if (BindsVariable(node)) {
      if (!ValidVar(node.var)) return NodeError(id, "unknown index");
      const IndexVariable& var = f_.vars[node.var];
      if (owner_[node.var] != -1) {
        return NodeError(id, absl::StrCat("binds the output dimension ", var.name));
      }
      if (binder_[node.var] != kNoExpr) {
        return NodeError(id, absl::StrCat("binds ", var.name, ", which is bound elsewhere"));
      }
      if (node.op != Op::kSum && var.extent == 0) {
        return NodeError(id, absl::StrCat("reduces over ", var.name, " of extent 0"));
      }
      binder_[node.var] = id;
      // Only the row body is in the scope of an opaque function's variable.
      free.clear();
      for (size_t i = 0; i < node.args.size(); ++i) {
        VarSet inner = free_[node.args[i]];
        if (i == 0) inner.erase(std::remove(inner.begin(), inner.end(), node.var), inner.end());
        free = Union(free, inner);
      }
    }
    free_.push_back(std::move(free));
    empty_.push_back(empty);
    return absl::OkStatus();
  }

  absl::Status ComputeRange(ExprId id, const Node& node) {
    std::optional<IndexRange> range;
    if (!IntRangeOf(node, f_.vars, ranges_, &range)) {
      return absl::ResourceExhaustedError(
          absl::StrCat("operator ", f_.operator_name, ": expression ", id,
                       ": an index has values beyond 2^63 (a limit of this program)"));
    }
    ranges_.push_back(range);
    exact_.push_back(IsExact(node));
    return absl::OkStatus();
  }

  // Are both ends of the node's range attained? Intervals forget that two terms share a variable,
  // and that a selection's condition restricts its branches.
  bool IsExact(const Node& node) const {
    switch (node.op) {
      case Op::kIntConst:
      case Op::kIndex:
        return true;
      case Op::kIntAdd:
        return exact_[node.args[0]] && exact_[node.args[1]] &&
               !Intersects(free_[node.args[0]], free_[node.args[1]]);
      case Op::kIntScale:
      case Op::kIntDiv:
        return exact_[node.args[0]];
      case Op::kIntMod: {
        const std::optional<IndexRange>& range = ranges_[node.args[0]];
        if (!range || !exact_[node.args[0]]) return false;
        if (FloorDiv(range->low, node.value) == FloorDiv(range->high, node.value)) return true;
        return f_.nodes[node.args[0]].op == Op::kIndex;
      }
      default:
        return false;
    }
  }

  absl::Status CheckScope(ExprId id, int output, const std::string& what) const {
    VarSet dims(f_.outputs[output].dims.begin(), f_.outputs[output].dims.end());
    std::sort(dims.begin(), dims.end());
    if (Includes(dims, free_[id])) return absl::OkStatus();
    for (VarId var : free_[id]) {
      if (!std::binary_search(dims.begin(), dims.end(), var)) {
        return Error(absl::StrCat(what, " of output ", f_.outputs[output].name, " uses ",
                                  f_.vars[var].name, " outside its scope"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckScopes() const {
    for (size_t o = 0; o < f_.outputs.size(); ++o) {
      if (sorts_[f_.outputs[o].body] == Sort::kBool) {
        return Error(absl::StrCat("output ", f_.outputs[o].name, " is not a number"));
      }
      if (absl::Status status = CheckScope(f_.outputs[o].body, static_cast<int>(o), "the body");
          !status.ok()) {
        return status;
      }
    }
    for (const FunctionPremise& premise : f_.premises) {
      if (premise.output < 0 || premise.output >= static_cast<int>(f_.outputs.size()) ||
          !ValidExpr(premise.condition) || sorts_[premise.condition] != Sort::kBool) {
        return Error(absl::StrCat("malformed premise: ", premise.text));
      }
      if (absl::Status status = CheckScope(premise.condition, premise.output, "a premise");
          !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  // Marks what is evaluated without a guard, from the outputs down; then checks those accesses.
  absl::Status CheckAccesses() const {
    std::vector<bool> unguarded(f_.nodes.size(), false);
    for (const FunctionOutput& output : f_.outputs) unguarded[output.body] = true;
    for (const FunctionPremise& premise : f_.premises) unguarded[premise.condition] = true;
    for (ExprId id = static_cast<ExprId>(f_.nodes.size()) - 1; id >= 0; --id) {
      if (!unguarded[id]) continue;
      const Node& node = f_.nodes[id];
      const size_t count = node.op == Op::kSelect ? 1 : node.args.size();
      for (size_t i = 0; i < count; ++i) unguarded[node.args[i]] = true;
      if (node.op != Op::kElement && node.op != Op::kIntElement) continue;
      if (empty_[id]) continue;
      const FunctionInput& input = f_.inputs[node.input];
      for (size_t i = 0; i < node.args.size(); ++i) {
        const std::optional<IndexRange>& range = ranges_[node.args[i]];
        if (!range || (range->low >= 0 && range->high < input.shape[i])) continue;
        const bool outside = range->high < 0 || range->low >= input.shape[i];
        if (!outside && !exact_[node.args[i]]) continue;
        return Error(absl::StrCat("reads input ", input.name, " at indices ", range->low, " to ",
                                  range->high, " of dimension ", i, ", whose extent is ",
                                  input.shape[i]));
      }
    }
    if (const auto outside = FindGuardedReadOutside(f_, ranges_)) return Error(*outside);
    return absl::OkStatus();
  }

  const IndexFunction& f_;
  std::vector<Sort> sorts_;
  std::vector<bool> whole_;
  std::vector<VarSet> free_;
  std::vector<bool> empty_;
  std::vector<std::optional<IndexRange>> ranges_;
  std::vector<bool> exact_;
  std::vector<int> owner_;      // output that has the variable as a dimension, or -1
  std::vector<ExprId> binder_;  // node that binds the variable
};

}  // namespace

std::vector<Sort> SortsOf(const IndexFunction& function) {
  std::vector<Sort> sorts;
  sorts.reserve(function.nodes.size());
  for (const Node& node : function.nodes) sorts.push_back(ResultSort(node, sorts));
  return sorts;
}

absl::Status CheckIndexFunction(const IndexFunction& function) {
  return IndexFunctionChecker(function).Run();
}

}  // namespace planproof::sdfg
