#include "monitor/laws/update_options.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace planproof::monitor {
namespace {

// Looks options of a group up by their names in PyTorch; remembers whether all were there.
class GroupReader {
 public:
  explicit GroupReader(const ParameterGroup& group) : group_(group) {}

  double Number(absl::string_view name) {
    const Option* option = Find(name);
    if (option != nullptr && option->kind == Option::Kind::kNumber &&
        std::isfinite(option->number)) {
      return option->number;
    }
    complete_ = false;
    return std::nan("");
  }
  // False where the option is not there: versions before it had no such thing.
  bool Truth(absl::string_view name) const {
    const Option* option = Find(name);
    return option != nullptr &&
           (option->kind == Option::Kind::kBool || option->kind == Option::Kind::kNumber) &&
           option->number != 0;
  }
  void Betas(UpdateOptions* options) {
    const Option* betas = Find("betas");
    if (betas == nullptr || betas->numbers.size() != 2) {
      complete_ = false;
      return;
    }
    options->beta1 = betas->numbers[0];
    options->beta2 = betas->numbers[1];
    complete_ = complete_ && std::isfinite(options->beta1) && std::isfinite(options->beta2);
  }
  bool complete() const { return complete_; }

 private:
  const Option* Find(absl::string_view name) const {
    const auto found = std::find_if(group_.options.begin(), group_.options.end(),
                                    [name](const auto& option) { return option.first == name; });
    return found == group_.options.end() ? nullptr : &found->second;
  }

  const ParameterGroup& group_;
  bool complete_ = true;
};

// Whether the optimizer stepped with the rates that the step ends with.
bool StepsWithLastRates(const std::string& name, const StepOfRank& step) {
  bool begun = false;
  for (const Event& event : step.events) {
    if (event.subject == nullptr || *event.subject != name) continue;
    if (event.type == EventType::kOptimizerBegins) begun = true;
    if (event.type == EventType::kLearningRate && begun) return false;
  }
  return begun;
}

}  // namespace

std::optional<UpdateOptions> ReadUpdateOptions(OptimizerKind kind, const ParameterGroup& group) {
  if (kind == OptimizerKind::kOther) return std::nullopt;
  GroupReader reader(group);
  UpdateOptions options{.kind = kind};
  options.lr = reader.Number("lr");
  options.weight_decay = reader.Number("weight_decay");
  options.maximize = reader.Truth("maximize");
  options.fused = reader.Truth("fused");
  if (kind == OptimizerKind::kSgd) {
    options.momentum = reader.Number("momentum");
    options.dampening = reader.Number("dampening");
    options.nesterov = reader.Truth("nesterov");
  } else {
    reader.Betas(&options);
    options.epsilon = reader.Number("eps");
    options.amsgrad = reader.Truth("amsgrad");
    options.decoupled = kind == OptimizerKind::kAdamW || reader.Truth("decoupled_weight_decay");
    options.correction_on_device = reader.Truth("capturable") || reader.Truth("differentiable");
  }
  if (!reader.complete()) return std::nullopt;
  return options;
}

absl::flat_hash_map<absl::string_view, UpdateOptions> UpdatesOfStep(const Header& header,
                                                                    const StepOfRank& step) {
  absl::flat_hash_map<absl::string_view, UpdateOptions> updates;
  std::set<absl::string_view> twice;
  for (const OptimizerOptions& options : step.options) {
    const auto number = static_cast<size_t>(options.optimizer);
    if (number >= header.optimizers.size() || options.table == nullptr) continue;
    const OptimizerOfRun& optimizer = header.optimizers[number];
    const bool steps = StepsWithLastRates(optimizer.name, step);
    for (const ParameterGroup& group : options.groups) {
      std::optional<UpdateOptions> update = ReadUpdateOptions(optimizer.kind, group);
      if (update.has_value()) update->optimizer = options.optimizer;
      for (const int32_t tensor : group.tensors) {
        const std::string& name = (*options.table)[static_cast<size_t>(tensor)].name;
        if (!updates.emplace(name, update.value_or(UpdateOptions{})).second) twice.insert(name);
        if (!update.has_value() || !steps) twice.insert(name);
      }
    }
  }
  for (const absl::string_view name : twice) updates.erase(name);
  return updates;
}

double LearningRate(const ParameterGroup& group) { return GroupReader(group).Number("lr"); }

}  // namespace planproof::monitor
