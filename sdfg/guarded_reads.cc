#include "sdfg/guarded_reads.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planproof::sdfg {
namespace {

constexpr int kMaxVisits = 2000;
constexpr int64_t kMaxAssignments = 1024;
constexpr int64_t kShortExtent = 16;  // all indices are tried

class GuardedReads {
 public:
  GuardedReads(const IndexFunction& function, const std::vector<std::optional<IndexRange>>& ranges)
      : f_(function), ranges_(ranges) {}

  std::optional<std::string> Find() {
    for (const FunctionOutput& output : f_.outputs) {
      const bool empty = std::any_of(output.dims.begin(), output.dims.end(),
                                     [this](VarId v) { return f_.vars[v].extent == 0; });
      if (!empty) Visit(output.body);
    }
    return found_;
  }

 private:
  struct Guard {
    ExprId condition;
    bool holds;
  };
  // What an expression over indices is made of.
  struct Parts {
    std::set<VarId> vars;
    std::set<int64_t> constants;
    bool data = false;
  };

  void Visit(ExprId id) {
    if (found_ || ++visits_ > kMaxVisits) return;
    const Node& node = f_.nodes[id];
    const bool binds = node.op != Op::kIndex && node.var >= 0;
    if (binds && f_.vars[node.var].extent == 0) return;
    if (node.op == Op::kSelect || node.op == Op::kAnd || node.op == Op::kOr) {
      Visit(node.args[0]);
      guards_.push_back({node.args[0], node.op != Op::kOr});
      Visit(node.args[1]);
      guards_.back().holds = false;
      if (node.op == Op::kSelect) Visit(node.args[2]);
      guards_.pop_back();
      return;
    }
    if (node.op == Op::kElement || node.op == Op::kIntElement) {
      for (size_t i = 0; i < node.args.size(); ++i) TryDimension(node, i);
    }
    for (const ExprId arg : node.args) Visit(arg);
  }

  void TryDimension(const Node& node, size_t i) {
    const FunctionInput& input = f_.inputs[node.input];
    const std::optional<IndexRange>& range = ranges_[node.args[i]];
    if (!range || (range->low >= 0 && range->high < input.shape[i])) return;
    Parts parts;
    Collect(node.args[i], &parts);
    parts.constants.insert(input.shape[i]);
    for (const Guard& guard : guards_) Collect(guard.condition, &parts);
    if (parts.data) return;
    std::vector<std::pair<VarId, std::vector<int64_t>>> choices;
    int64_t assignments = 1;
    for (const VarId v : parts.vars) {
      choices.emplace_back(v, ValuesToTry(f_.vars[v].extent, parts.constants));
      assignments *= static_cast<int64_t>(choices.back().second.size());
      if (assignments > kMaxAssignments) return;
    }
    for (int64_t a = 0; a < assignments && !found_; ++a) {
      int64_t rest = a;
      for (const auto& [v, values] : choices) {
        value_[v] = values[rest % static_cast<int64_t>(values.size())];
        rest /= static_cast<int64_t>(values.size());
      }
      const bool reached = std::all_of(guards_.begin(), guards_.end(), [this](const Guard& guard) {
        return (At(guard.condition) != 0) == guard.holds;
      });
      if (!reached) continue;
      const int64_t index = At(node.args[i]);
      if (index >= 0 && index < input.shape[i]) continue;
      std::string where;
      for (const auto& [v, values] : choices)
        absl::StrAppend(&where, where.empty() ? "at " : ", ", f_.vars[v].name, " = ", value_[v]);
      found_ =
          absl::StrCat(where, where.empty() ? "" : " ", "reads input ", input.name, " at index ",
                       index, " of dimension ", i, ", whose extent is ", input.shape[i]);
    }
  }

  static std::vector<int64_t> ValuesToTry(int64_t extent, const std::set<int64_t>& constants) {
    std::set<int64_t> values;
    const auto add = [&](int64_t value) {
      if (value >= 0 && value < extent) values.insert(value);
    };
    if (extent <= kShortExtent) {
      for (int64_t value = 0; value < extent; ++value) add(value);
      return {values.begin(), values.end()};
    }
    for (const int64_t end : {int64_t{0}, extent - 1}) add(end);
    for (const int64_t c : constants) {
      for (int64_t near = -1; near <= 1; ++near) {
        int64_t value;
        if (!__builtin_add_overflow(c, near, &value)) add(value);
        if (!__builtin_sub_overflow(near, c, &value)) add(value);
      }
    }
    return {values.begin(), values.end()};
  }

  void Collect(ExprId id, Parts* parts) const {
    const Node& node = f_.nodes[id];
    switch (node.op) {
      case Op::kIndex:
        parts->vars.insert(node.var);
        return;
      case Op::kIntConst:
        parts->constants.insert(node.value);
        return;
      case Op::kSelect:
      case Op::kIntAdd:
      case Op::kIntScale:
      case Op::kIntDiv:
      case Op::kIntMod:
      case Op::kIntLess:
      case Op::kIntLessEq:
      case Op::kIntEq:
      case Op::kAnd:
      case Op::kOr:
      case Op::kNot:
        if (++visits_ > kMaxVisits) break;
        for (const ExprId arg : node.args) Collect(arg, parts);
        return;
      default:
        break;
    }
    parts->data = true;
  }

  // The value of an expression over indices, conditions as 0 and 1. Its range fits 64 bits.
  int64_t At(ExprId id) const {
    const Node& node = f_.nodes[id];
    const auto arg = [&](size_t i) { return At(node.args[i]); };
    switch (node.op) {
      case Op::kIndex:
        return value_.at(node.var);
      case Op::kIntAdd:
        return arg(0) + arg(1);
      case Op::kIntScale:
        return arg(0) * node.value;
      case Op::kIntDiv:
        return FloorDiv(arg(0), node.value);
      case Op::kIntMod: {
        const int64_t dividend = arg(0);
        return dividend - FloorDiv(dividend, node.value) * node.value;
      }
      case Op::kSelect:
        return arg(0) != 0 ? arg(1) : arg(2);
      case Op::kIntLess:
        return arg(0) < arg(1);
      case Op::kIntLessEq:
        return arg(0) <= arg(1);
      case Op::kIntEq:
        return arg(0) == arg(1);
      case Op::kAnd:
        return arg(0) != 0 && arg(1) != 0;
      case Op::kOr:
        return arg(0) != 0 || arg(1) != 0;
      case Op::kNot:
        return arg(0) == 0;
      default:  // kIntConst
        return node.value;
    }
  }

  const IndexFunction& f_;
  const std::vector<std::optional<IndexRange>>& ranges_;
  std::vector<Guard> guards_;
  std::map<VarId, int64_t> value_;
  mutable int visits_ = 0;
  std::optional<std::string> found_;
};

}  // namespace

std::optional<std::string> FindGuardedReadOutside(
    const IndexFunction& function, const std::vector<std::optional<IndexRange>>& ranges) {
  return GuardedReads(function, ranges).Find();
}

}  // namespace planproof::sdfg
