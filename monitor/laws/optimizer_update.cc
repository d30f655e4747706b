// Rule "optimizer_update".
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"
#include "monitor/laws/update_formulas.h"

namespace planproof::monitor {
namespace {

constexpr char kUpdateRule[] = "optimizer_update";
// Kernels (single, foreach, fused) round in different places: the bound for one order of operations
// is allowed so many times.
constexpr double kOrdersOfOperations = 4;

// Elements of a step, by set.
struct UpdateFacts {
  ElementFacts parameter, gradient, parameter_after;
  ElementFacts buffer, mean, square, max_square;
  ElementFacts buffer_after, mean_after, square_after, max_square_after, count_after;
};

UpdateFacts FactsOfUpdate(const StepOfRank& step) {
  const auto before = [&](TensorSet set) { return ElementsOf(step, Moment::kBefore, set); };
  const auto after = [&](TensorSet set) { return ElementsOf(step, Moment::kAfter, set); };
  return {.parameter = before(TensorSet::kParameter),
          .gradient = before(TensorSet::kGradient),
          .parameter_after = after(TensorSet::kParameter),
          .buffer = before(TensorSet::kMomentumBuffer),
          .mean = before(TensorSet::kExpAvg),
          .square = before(TensorSet::kExpAvgSq),
          .max_square = before(TensorSet::kMaxExpAvgSq),
          .buffer_after = after(TensorSet::kMomentumBuffer),
          .mean_after = after(TensorSet::kExpAvg),
          .square_after = after(TensorSet::kExpAvgSq),
          .max_square_after = after(TensorSet::kMaxExpAvgSq),
          .count_after = after(TensorSet::kStepCount)};
}

// The value at the position; none if it was not recorded there.
std::optional<double> At(const ElementFacts& facts, const std::string& name, uint64_t position) {
  const auto found = facts.find(name);
  if (found == facts.end() || found->second.ambiguous || found->second.position != position)
    return std::nullopt;
  return found->second.value;
}

struct Difference {
  absl::string_view what;  // the set
  double expected = 0, found = 0, tolerance = 0;
};

class OptimizerUpdate : public LawOfEachRank {
 public:
  void Begin(const Run& run, Findings* findings) override { NoteUnknown(run, findings); }

 private:
  static void NoteUnknown(const Run& run, Findings* findings);
  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;
  // The first thing that is not as documented, for the gradient divided by `scale`.
  static std::optional<Difference> Compare(const UpdateOptions& options, const UpdateFacts& facts,
                                           const HeldTensor& tensor, uint64_t position,
                                           double scale, bool* compared);

  std::map<int, double> loss_scales_;  // by rank
};

void OptimizerUpdate::NoteUnknown(const Run& run, Findings* findings) {
  for (const auto& [rank, header] : run.headers) {
    for (const OptimizerOfRun& optimizer : header.optimizers) {
      if (optimizer.kind != OptimizerKind::kOther) continue;
      findings->notices.push_back(
          {.kind = NoticeKind::kNotObserved,
           .rule = kUpdateRule,
           .subject = optimizer.name,
           .statement = absl::StrCat("the update of ", optimizer.class_name,
                                     " is not known: its results are not checked")});
    }
  }
}

std::optional<Difference> Apart(absl::string_view what, const Rounded& expected, double found,
                                int bits) {
  const double tolerance = kOrdersOfOperations * (expected.error + SmallestNormal(bits)) +
                           UnitRoundoff(bits) * std::abs(expected.value);
  if (!std::isfinite(expected.value) || !std::isfinite(found) || !std::isfinite(tolerance) ||
      std::abs(expected.value - found) <= tolerance) {
    return std::nullopt;
  }
  return Difference{what, expected.value, found, tolerance};
}

std::optional<Difference> OptimizerUpdate::Compare(const UpdateOptions& options,
                                                   const UpdateFacts& facts,
                                                   const HeldTensor& tensor, uint64_t position,
                                                   double scale, bool* compared) {
  const std::string& name = tensor.name;
  const auto parameter = At(facts.parameter, name, position);
  const auto gradient = At(facts.gradient, name, position);
  const auto found = At(facts.parameter_after, name, position);
  if (!parameter.has_value() || !gradient.has_value() || !found.has_value()) return std::nullopt;
  if (!std::isfinite(*gradient) || !std::isfinite(*parameter)) return std::nullopt;
  ElementBefore before{.parameter = *parameter,
                       .gradient = *gradient / scale,
                       .momentum_buffer = At(facts.buffer, name, position),
                       .exp_avg = At(facts.mean, name, position).value_or(0),
                       .exp_avg_sq = At(facts.square, name, position).value_or(0),
                       .max_exp_avg_sq = At(facts.max_square, name, position).value_or(0)};
  const RecordedMoments recorded{.momentum_buffer = At(facts.buffer_after, name, position),
                                 .exp_avg = At(facts.mean_after, name, position),
                                 .exp_avg_sq = At(facts.square_after, name, position),
                                 .max_exp_avg_sq = At(facts.max_square_after, name, position)};
  if (options.kind != OptimizerKind::kSgd) {
    const auto count = At(facts.count_after, name, kNumberOfOptimizer);
    if (!count.has_value() || !recorded.exp_avg.has_value() || !recorded.exp_avg_sq.has_value())
      return std::nullopt;
    before.step_count = *count;
    // Where states were not there before, this is the first step.
    if (*count > 1 && !At(facts.mean, name, position).has_value()) return std::nullopt;
  } else if (options.momentum != 0 && !recorded.momentum_buffer.has_value()) {
    return std::nullopt;
  }
  *compared = true;
  const int bits = tensor.significand_bits;
  const ElementAfter after =
      Updated(options, before, recorded, RoundedArithmetic(UnitRoundoff(bits)));
  const auto moment = [&](absl::string_view what, const std::optional<Rounded>& expected,
                          const std::optional<double>& is) -> std::optional<Difference> {
    if (!expected.has_value() || !is.has_value()) return std::nullopt;
    return Apart(what, *expected, *is, bits);
  };
  if (auto d = moment("momentum_buffer", after.momentum_buffer, recorded.momentum_buffer)) return d;
  if (auto d = moment("exp_avg", after.exp_avg, recorded.exp_avg)) return d;
  if (auto d = moment("exp_avg_sq", after.exp_avg_sq, recorded.exp_avg_sq)) return d;
  if (auto d = moment("max_exp_avg_sq", after.max_exp_avg_sq, recorded.max_exp_avg_sq)) return d;
  return Apart("parameter", after.parameter, *found, bits);
}

// A kernel that unscales by itself found an infinite gradient somewhere, and did nothing.
bool NothingChanged(const UpdateFacts& facts) {
  for (const auto& [name, before] : facts.parameter) {
    const auto after = facts.parameter_after.find(name);
    if (after != facts.parameter_after.end() && after->second.value != before.value) return false;
  }
  return true;
}

void OptimizerUpdate::ObserveRank(const Header& header, const StepOfRank& step,
                                  Findings* findings) {
  double& scale = loss_scales_.try_emplace(header.rank, 1.0).first->second;
  for (const Event& event : step.events) {
    if (event.type == EventType::kLossScale && std::isfinite(event.a) && event.a > 0)
      scale = event.a;
  }
  if (step.left_out || HasEvent(step, EventType::kStepLeftOut) || StateIsReplaced(step) ||
      HasClosure(step)) {
    return;
  }
  const UpdateFacts facts = FactsOfUpdate(step);
  if (facts.parameter.empty() || facts.parameter_after.empty() || step.table == nullptr) return;
  const auto updates = UpdatesOfStep(header, step);
  for (const HeldTensor& tensor : *step.table) {
    const auto update = updates.find(tensor.name);
    const auto element = facts.parameter.find(tensor.name);
    if (update == updates.end() || element == facts.parameter.end() || tensor.significand_bits < 8)
      continue;
    const uint64_t position = element->second.position;
    bool compared = false;
    std::optional<Difference> difference =
        Compare(update->second, facts, tensor, position, 1, &compared);
    if (difference.has_value() && update->second.fused && scale != 1) {
      if (NothingChanged(facts)) return;
      if (!Compare(update->second, facts, tensor, position, scale, &compared).has_value())
        difference.reset();
    }
    findings->checked[static_cast<int>(Tier::kLaw)] += compared;
    if (!difference.has_value()) continue;
    Alarm alarm = LawAlarm(
        kUpdateRule, step.step, header, tensor.name,
        absl::StrFormat("the step of %s makes element %d of %s %.9g, by its documentation and "
                        "options (lr %g); it is %.9g",
                        header.optimizers[static_cast<size_t>(update->second.optimizer)].class_name,
                        position, difference->what, difference->expected, update->second.lr,
                        difference->found));
    alarm.expected = difference->expected;
    alarm.found = difference->found;
    alarm.tolerance = difference->tolerance;
    findings->alarms.push_back(std::move(alarm));
  }
}

}  // namespace

std::unique_ptr<Judge> OptimizerUpdateLaw() { return std::make_unique<OptimizerUpdate>(); }

}  // namespace planproof::monitor
