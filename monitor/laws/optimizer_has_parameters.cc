// Rule "optimizer_has_parameters".
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "monitor/laws/facts.h"
#include "monitor/laws/law_of_each_rank.h"
#include "monitor/laws/laws.h"

namespace planproof::monitor {
namespace {

constexpr char kParametersRule[] = "optimizer_has_parameters";

class OptimizerHasParameters : public LawOfEachRank {
 private:
  struct RankState {
    std::set<std::string, std::less<>> assigned;  // parameters that were put in place of others
    // Of parameters with a gradient that no optimizer has: their bits at the last sampled step.
    std::map<std::string, uint64_t> waiting;
  };

  void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) override;

  std::map<int, RankState> ranks_;
};

// Shapes of tensors that optimizers have and the model does not.
std::set<std::vector<int64_t>> ShapesElsewhere(const StepOfRank& step) {
  std::set<std::vector<int64_t>> shapes;
  for (const OptimizerOptions& options : step.options) {
    for (const ParameterGroup& group : options.groups)
      shapes.insert(group.others.begin(), group.others.end());
  }
  return shapes;
}

void OptimizerHasParameters::ObserveRank(const Header& header, const StepOfRank& step,
                                         Findings* findings) {
  RankState& rank = ranks_[header.rank];
  for (const Event& event : step.events) {
    if (event.type == EventType::kParameterChanged && event.subject != nullptr)
      rank.assigned.insert(*event.subject);
  }
  if (step.table == nullptr || !HasEvent(step, EventType::kOptimizerEnds)) return;
  const std::set<std::vector<int64_t>> elsewhere = ShapesElsewhere(step);
  const SetFacts parameters(step, Moment::kBefore, TensorSet::kParameter);
  const SetFacts gradients(step, Moment::kBefore, TensorSet::kGradient);
  std::map<std::string, uint64_t> waiting;
  for (const HeldTensor& tensor : *step.table) {
    if (tensor.buffer || !tensor.trainable || tensor.shared_with.has_value()) continue;
    ++findings->checked[static_cast<int>(Tier::kLaw)];
    if (!tensor.optimizers.empty()) continue;
    if (!elsewhere.contains(tensor.of) && !rank.assigned.contains(tensor.name)) {
      findings->notices.push_back(
          {.kind = NoticeKind::kEvent,
           .rule = kParametersRule,
           .subject = tensor.name,
           .statement = "requires a gradient, and no optimizer has it: it is not trained"});
      continue;
    }
    const TensorFact* fact = parameters.Find(tensor.name);
    const TensorFact* gradient = gradients.Find(tensor.name);
    if (fact == nullptr) continue;
    // It has a gradient and stays as it is: no copy elsewhere is trained in its place.
    const auto before = rank.waiting.find(tensor.name);
    if (before != rank.waiting.end() && before->second == fact->fingerprint) {
      findings->alarms.push_back(LawAlarm(
          kParametersRule, step.step, header, tensor.name,
          "an optimizer has every parameter that was put in place of another one; this one has a "
          "gradient and is in none, and the optimizer has a tensor of its shape that is not the "
          "model's (was the layer replaced after the optimizer was made?)"));
    }
    if (gradient != nullptr && gradient->norm > 0) waiting[tensor.name] = fact->fingerprint;
  }
  if (step.sampled) rank.waiting = std::move(waiting);
}

}  // namespace

std::unique_ptr<Judge> OptimizerHasParametersLaw() {
  return std::make_unique<OptimizerHasParameters>();
}

}  // namespace planproof::monitor
