#include "diagnosis/undefined_advice.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

namespace planproof::diagnosis {

using sdfg::ExprId;
using sdfg::IndexFunction;
using sdfg::kNone;
using sdfg::Node;
using sdfg::Op;
using sdfg::OperatorId;
using sdfg::TensorId;

namespace {

constexpr int kDeepestOnTheWay = 200;  // of nested expressions, through all operators on the way
constexpr int kMostNodesOnTheWay = 20'000;

// Follows an expression through what it reads to inputs of the plan.
class DivisorReader {
 public:
  explicit DivisorReader(const lineage::Problem& problem) : problem_(problem) {}

  DivisorForm Of(const sdfg::Operator& op, ExprId divisor) {
    const std::optional<Part> part = Read(op, divisor, 0);
    return part.has_value() && part->summed ? part->form : DivisorForm{};
  }

 private:
  struct Part {
    bool nothing = false;  // 0
    bool summed = false;   // several elements are added up
    DivisorForm form;
  };

  // Parts that are added up, or of which one is taken; nullopt if they are of different kinds.
  std::optional<Part> Both(const std::optional<Part>& a, const std::optional<Part>& b) const {
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    if (a->nothing) return b;
    if (b->nothing) return a;
    // Two ranks hold parts of one input of the model.
    const bool alike = a->form.kind == b->form.kind && a->form.ignored == b->form.ignored &&
                       Model(a->form.input) == Model(b->form.input);
    if (!alike) return std::nullopt;
    return Part{.summed = a->summed || b->summed, .form = a->form};
  }

  TensorId Model(TensorId input) const { return problem_.lineage[input].logical; }

  std::optional<Part> ReadTensor(TensorId tensor, int depth) {
    const sdfg::Tensor& t = problem_.parallel.tensors[tensor];
    if (t.producer == kNone) {
      if (Model(tensor) == kNone) return std::nullopt;
      return Part{.form = {.kind = DivisorForm::Kind::kSum, .input = tensor}};
    }
    const sdfg::Operator& op = problem_.parallel.operators[t.producer];
    const auto at = std::find(op.outputs.begin(), op.outputs.end(), tensor);
    return Read(op, op.function->outputs[at - op.outputs.begin()].body, depth + 1);
  }

  // [ids != number], also as a branch between 0 and 1.
  std::optional<Part> ReadComparison(const sdfg::Operator& op, ExprId condition, bool holds,
                                     int depth) {
    const IndexFunction& f = *op.function;
    const Node& n = f.nodes[condition];
    if (n.op == Op::kNot) return ReadComparison(op, n.args[0], !holds, depth + 1);
    if (n.op == Op::kNonzero && holds) return Read(op, n.args[0], depth + 1);
    if (n.op != Op::kIntEq || holds) return std::nullopt;
    for (size_t side = 0; side < 2; ++side) {
      const Node& element = f.nodes[n.args[side]];
      const Node& number = f.nodes[n.args[1 - side]];
      if (element.op != Op::kIntElement || number.op != Op::kIntConst) continue;
      const std::optional<TensorId> input = InputBehind(op.inputs[element.input], depth);
      if (!input.has_value()) return std::nullopt;
      return Part{.form = {DivisorForm::Kind::kCount, *input, number.value}};
    }
    return std::nullopt;
  }

  // The input whose elements these are, moved at most.
  std::optional<TensorId> InputBehind(TensorId tensor, int depth) {
    const std::optional<Part> part = ReadTensor(tensor, depth);
    if (!part.has_value() || part->summed || part->form.kind != DivisorForm::Kind::kSum) {
      return std::nullopt;
    }
    return part->form.input;
  }

  static bool IsNumber(const Node& n, int64_t value) {
    if (n.op == Op::kIntConst) return n.value == value;
    return n.op == Op::kReal && n.real == solver::Rational(value);
  }

  std::optional<Part> Read(const sdfg::Operator& op, ExprId expression, int depth) {
    if (depth > kDeepestOnTheWay || ++nodes_ > kMostNodesOnTheWay) return std::nullopt;
    const IndexFunction& f = *op.function;
    const Node& n = f.nodes[expression];
    switch (n.op) {
      case Op::kElement:
      case Op::kIntElement:
        return ReadTensor(op.inputs[n.input], depth);
      case Op::kPosition:
      case Op::kWhole:
        return Read(op, n.args[0], depth + 1);
      case Op::kSum: {
        std::optional<Part> part = Read(op, n.args[0], depth + 1);
        if (part.has_value() && !part->nothing) part->summed = true;
        return part;
      }
      case Op::kAdd:
      case Op::kIntAdd:
        return Both(Read(op, n.args[0], depth + 1), Read(op, n.args[1], depth + 1));
      case Op::kMul:
        for (size_t side = 0; side < 2; ++side) {
          const Node& factor = f.nodes[n.args[side]];
          if (factor.op == Op::kReal && !factor.real.IsZero())
            return Read(op, n.args[1 - side], depth + 1);
        }
        return std::nullopt;
      case Op::kDiv:  // an average
        return f.nodes[n.args[1]].op == Op::kReal ? Read(op, n.args[0], depth + 1) : std::nullopt;
      case Op::kIndicator:
        return ReadComparison(op, n.args[0], true, depth);
      case Op::kSelect: {
        const Node &yes = f.nodes[n.args[1]], &no = f.nodes[n.args[2]];
        if (IsNumber(yes, 1) && IsNumber(no, 0)) return ReadComparison(op, n.args[0], true, depth);
        if (IsNumber(yes, 0) && IsNumber(no, 1)) return ReadComparison(op, n.args[0], false, depth);
        return Both(Read(op, n.args[1], depth + 1), Read(op, n.args[2], depth + 1));
      }
      case Op::kReal:
      case Op::kIntConst:
        return IsNumber(n, 0) ? std::optional<Part>(Part{.nothing = true}) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  const lineage::Problem& problem_;
  int nodes_ = 0;
};

// Whether the range of the model's input is declared.
bool HasRange(const lineage::Problem& problem, TensorId logical) {
  return std::any_of(problem.premises.begin(), problem.premises.end(), [&](const auto& premise) {
    return premise.tensor == logical &&
           premise.kind == lineage::Problem::InputPremise::Kind::kIntegerRange;
  });
}

}  // namespace

DivisorForm FormOfDivisor(const lineage::Problem& problem,
                          const std::vector<OperatorId>& operators) {
  for (const OperatorId id : operators) {
    const sdfg::Operator& op = problem.parallel.operators[id];
    for (const Node& n : op.function->nodes) {
      const bool divides = n.op == Op::kDiv || (n.op == Op::kPow && n.real.Sign() < 0);
      if (!divides) continue;
      const DivisorForm form = DivisorReader(problem).Of(op, n.args[n.op == Op::kDiv ? 1 : 0]);
      if (form.kind != DivisorForm::Kind::kOther) return form;
    }
  }
  return {};
}

std::string AdviceForUndefined(const lineage::Problem& problem,
                               const std::vector<OperatorId>& operators) {
  const DivisorForm form = FormOfDivisor(problem, operators);
  const std::string accept = "; or --accept-restrictions, which lists the condition";
  if (form.kind == DivisorForm::Kind::kOther) {
    return absl::StrCat(
        "compute this from numbers for which it has a value wherever the model has one, such as "
        "sums over all ranks, or with a bound (clamp)",
        accept);
  }
  const TensorId logical = problem.lineage[form.input].logical;
  const std::string& name = problem.logical.tensors[logical].name;
  const std::string never_zero = "that is never 0: that of all ranks, or one with clamp(min=1)";
  if (form.kind == DivisorForm::Kind::kSum) {
    return absl::StrCat("a rank may have no element of ", name,
                        " that counts, so that its part adds up to 0: divide by a sum ", never_zero,
                        accept);
  }
  const std::string declared =
      HasRange(problem, logical)
          ? ""
          : absl::StrCat("bounded(", name, ", 0, vocabulary) says that all count; or ");
  return absl::StrCat("a rank may have no element of ", name, " that counts, all being ",
                      form.ignored, ": ", declared, "divide by a count ", never_zero, accept);
}

}  // namespace planproof::diagnosis
