// Faults of constants and factors: on one rank, on all, in the loss.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mutation/plan_faults.h"
#include "solver/rational.h"

namespace planproof::mutation {
namespace {

using solver::Rational;

// The text of the number at this place that the fault changes; null if there is none.
using FindNumber = std::string* (*)(plan::Operator* op);

std::string* Epsilon(plan::Operator* op) {
  if (!absl::StrContains(op->op(), "norm")) return nullptr;
  for (plan::Attribute& attribute : *op->mutable_attributes()) {
    if (attribute.name() == "eps" && attribute.value().kind_case() == plan::AttributeValue::kReal) {
      return attribute.mutable_value()->mutable_real();
    }
  }
  return nullptr;
}

// A tensor times, or divided by, a number.
std::string* Factor(plan::Operator* op) {
  if ((op->op() != "mul" && op->op() != "div") || op->inputs_size() != 2 ||
      op->inputs(0).kind_case() != plan::Operand::kTensor ||
      op->inputs(1).kind_case() != plan::Operand::kLiteral) {
    return nullptr;
  }
  return op->mutable_inputs(1)->mutable_literal();
}

// Changes the number on the first rank or on all.
Mutation ChangeNumber(PlanEditor& editor, const std::string& kind, Place at, FindNumber find,
                      const std::string& now, bool everywhere) {
  const std::string before = *find(&editor.op(at));
  const std::string change = absl::StrCat(before, " is now ", now);
  if (everywhere) {
    *find(&editor.op(at)) = now;
    return editor.Done(kind, {at}, absl::StrCat(change, ", on all ranks"));
  }
  plan::Operator changed = editor.op(at);
  changed.clear_phase();
  *find(&changed) = now;
  const std::string where = editor.OnFirstRank(at, {std::move(changed)});
  return editor.Done(kind, {at}, absl::StrCat(change, " at ", where));
}

// BR7, BR9: the eps of a norm is 2, on one rank or on all.
absl::StatusOr<Mutation> OtherEpsilon(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const bool everywhere = kind == "BR9";
  const auto at =
      editor.Choose(seed, everywhere ? "a norm with eps" : "a norm with eps, and several ranks",
                    [&](Place place) {
                      return Epsilon(&editor.op(place)) != nullptr &&
                             (everywhere || !editor.AxesOf(place.program).empty());
                    });
  if (!at.ok()) return at.status();
  return ChangeNumber(editor, kind, *at, Epsilon, "2", everywhere);
}

// BR12, BR13: attention scores are divided by twice as much as they should be.
absl::StatusOr<Mutation> OtherScoreScale(PlanEditor& editor, const std::string& kind,
                                         uint64_t seed) {
  const bool everywhere = kind == "BR13";
  const auto fits = [&](Place at) {
    if (Factor(&editor.op(at)) == nullptr || editor.IsBackward(at)) return false;
    const auto made = editor.Producer(at.program, editor.op(at).inputs(0).tensor());
    return made && (editor.op(*made).op() == "einsum" || editor.op(*made).op() == "matmul") &&
           (everywhere || !editor.AxesOf(at.program).empty());
  };
  const auto at = editor.Choose(seed, "attention scores that are multiplied by a number", fits);
  if (!at.ok()) return at.status();
  Rational factor;
  if (!Rational::Parse(*Factor(&editor.op(*at)), &factor)) {
    return absl::FailedPreconditionError("the factor of the scores is no number");
  }
  return ChangeNumber(editor, kind, *at, Factor, (factor / Rational(2)).ToString(), everywhere);
}

// BR8: on one rank the mean in a norm is of x, not of x^2.
absl::StatusOr<Mutation> OtherExponent(PlanEditor& editor, const std::string& kind, uint64_t seed) {
  const auto at =
      editor.Choose(seed, "an rms_norm with weight and eps, and several ranks", [&](Place place) {
        const plan::Operator& op = editor.op(place);
        return op.op() == "rms_norm" && op.inputs_size() == 2 &&
               Epsilon(&editor.op(place)) != nullptr && !editor.AxesOf(place.program).empty();
      });
  if (!at.ok()) return at.status();
  const plan::Operator& norm = editor.op(*at);
  const std::string x = norm.inputs(0).tensor(), out = norm.outputs(0);
  const std::string mean = absl::StrCat(out, ".mean"), shifted = absl::StrCat(out, ".shifted"),
                    inverse = absl::StrCat(out, ".inverse"), normed = absl::StrCat(out, ".normed");
  plan::Operator of_x = MakeOperator("mean", {x}, mean);
  const auto set = [&](const std::string& name) {
    plan::Attribute* attribute = of_x.add_attributes();
    attribute->set_name(name);
    return attribute->mutable_value();
  };
  set("dim")->set_integer(-1);
  set("keepdim")->set_boolean(true);
  plan::Operator sum = MakeOperator("add", {mean}, shifted);
  sum.add_inputs()->set_literal(*Epsilon(&editor.op(*at)));
  const std::string where = editor.OnFirstRank(
      *at, {std::move(of_x), std::move(sum), MakeOperator("rsqrt", {shifted}, inverse),
            MakeOperator("mul", {x, inverse}, normed),
            MakeOperator("mul", {normed, norm.inputs(1).tensor()}, out)});
  return editor.Done(kind, {*at}, absl::StrCat("the exponent 2 is now 1 at ", where));
}

// Whether the operator divides the sum of the losses by a number of tokens: a quotient of tensors
// that is claimed to be the loss.
bool DividesLoss(const PlanEditor& editor, Place at) {
  const plan::Operator& op = editor.op(at);
  const plan::Specification& specification = editor.file().specification();
  return op.op() == "div" && op.inputs_size() == 2 &&
         op.inputs(1).kind_case() == plan::Operand::kTensor && specification.gradients_size() > 0 &&
         editor.LogicalOf(at.program, op.outputs(0)) == specification.gradients(0).loss();
}

// TT3, TT4: the loss is divided once more by the number of ranks of cp, dp. GG6: the losses of
// microbatches are added without division by their number.
absl::StatusOr<Mutation> OtherLossScale(PlanEditor& editor, const std::string& kind,
                                        uint64_t seed) {
  const std::string axis = kind == "TT3" ? "cp" : kind == "TT4" ? "dp" : "microbatch";
  const int64_t extent = editor.Extent(axis);
  const auto at = editor.Choose(
      seed, absl::StrCat("a loss that is divided by a number of tokens, and the axis ", axis),
      [&](Place place) { return extent > 1 && DividesLoss(editor, place); });
  if (!at.ok()) return at.status();
  const std::string by = axis == "microbatch" ? absl::StrCat("1/", extent) : absl::StrCat(extent);
  const Mutation done =
      editor.Done(kind, {*at}, absl::StrCat("the number of tokens is multiplied by ", by));
  const std::string count = editor.op(*at).inputs(1).tensor();
  const std::string wrong = absl::StrCat(count, ".scaled");
  plan::Operator scaled = MakeOperator("mul", {count}, wrong);
  scaled.add_inputs()->set_literal(by);
  editor.op(*at).mutable_inputs(1)->set_tensor(wrong);
  editor.InsertBefore(*at, std::move(scaled));
  return done;
}

}  // namespace

void AddScaleFaults(PlanFaults* faults) {
  faults->insert({{"BR7", OtherEpsilon},
                  {"BR8", OtherExponent},
                  {"BR9", OtherEpsilon},
                  {"BR12", OtherScoreScale},
                  {"BR13", OtherScoreScale},
                  {"GG6", OtherLossScale},
                  {"TT3", OtherLossScale},
                  {"TT4", OtherLossScale}});
}

}  // namespace planproof::mutation
