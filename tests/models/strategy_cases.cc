#include "tests/models/strategy_cases.h"

#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "frontend/plan/read_plan.h"
#include "generator/generate.h"
#include "sdfg/operator_library.h"
#include "sdfg/status_macros.h"

namespace planproof::generator {
namespace {

struct Feature {
  std::string name;
  // What it chooses; features of which both choose one thing cannot be combined.
  std::string choice;
  bool experts = false;  // needs a model with experts
  std::function<void(StrategyCase*)> add;
};

void Data(StrategyCase* made) { made->strategy.data_parallel = 2; }
void Tensor(StrategyCase* made) { made->strategy.tensor_parallel = 2; }
void Zero(StrategyCase* made, int stage) {
  Data(made);
  made->strategy.zero = stage;
}

const std::vector<Feature>& Features() {
  static const auto* const features = new std::vector<Feature>{
      {"dp", "dp", false, Data},
      {"microbatches", "microbatches", false,
       [](StrategyCase* made) { made->strategy.microbatches = 2; }},
      {"tp", "tp", false, Tensor},
      {"sp", "sp", false,
       [](StrategyCase* made) {
         Tensor(made);
         made->strategy.sequence_parallel = true;
       }},
      {"uneven_tp", "tp", false,
       [](StrategyCase* made) {
         Tensor(made);
         made->key_value_heads = 4;
         made->strategy.tensor_shares = {3, 1};
       }},
      {"pp", "pp", false, [](StrategyCase* made) { made->strategy.pipeline_parallel = 2; }},
      {"uneven", "pp", false,
       [](StrategyCase* made) {
         made->layers = 3;
         made->strategy.pipeline_parallel = 2;
         made->strategy.stage_layers = {1, 2};
       }},
      {"cp_gather", "cp", false, [](StrategyCase* made) { made->strategy.context_parallel = 2; }},
      {"cp_ring", "cp", false,
       [](StrategyCase* made) {
         made->strategy.context_parallel = 2;
         made->strategy.ring = true;
       }},
      {"cp_zigzag", "cp", false,
       [](StrategyCase* made) {
         made->strategy.context_parallel = 2;
         made->strategy.zigzag = true;
       }},
      {"cp_zigzag_ring", "cp", false,
       [](StrategyCase* made) {
         made->strategy.context_parallel = 2;
         made->strategy.zigzag = made->strategy.ring = true;
       }},
      {"ep_mask", "ep", true, Tensor},
      {"ep_dispatch", "ep", true,
       [](StrategyCase* made) {
         made->strategy.expert_parallel = 2;
         made->strategy.dispatch = true;
       }},
      {"zero1", "zero", false, [](StrategyCase* made) { Zero(made, 1); }},
      {"zero2", "zero", false, [](StrategyCase* made) { Zero(made, 2); }},
      {"zero3", "zero", false, [](StrategyCase* made) { Zero(made, 3); }},
      {"recompute", "recompute", false,
       [](StrategyCase* made) { made->strategy.recompute = true; }},
  };
  return *features;
}

StrategyCase Made(const std::string& model, const std::vector<const Feature*>& features) {
  StrategyCase made;
  made.name = model;
  for (const Feature* feature : features) {
    absl::StrAppend(&made.name, "_", feature->name);
    feature->add(&made);
  }
  made.model = model + "-tiny";
  return made;
}

StrategyCase Everything(const std::string& model, bool ring, bool dispatch, bool uneven = false) {
  StrategyCase made;
  made.name = absl::StrCat(model, "_everything", ring ? "_ring" : "", dispatch ? "_dispatch" : "",
                           uneven ? "_uneven" : "");
  made.model = model + "-tiny";
  Zero(&made, 3);
  Strategy& strategy = made.strategy;
  strategy.tensor_parallel = strategy.context_parallel = 2;
  strategy.pipeline_parallel = strategy.microbatches = 2;
  strategy.sequence_parallel = strategy.recompute = true;
  strategy.ring = ring;
  strategy.dispatch = dispatch;
  if (dispatch) strategy.expert_parallel = 2;
  if (uneven) {
    made.key_value_heads = 4;
    strategy.tensor_shares = {3, 1};
    strategy.zigzag = true;
  }
  return made;
}

}  // namespace

std::vector<StrategyCase> StrategyCases() {
  std::vector<StrategyCase> cases;
  const std::vector<std::string> models = {"llama", "deepseek", "gpt", "qwen"};
  for (const std::string& model : models) cases.push_back(Made(model, {}));
  const std::vector<Feature>& features = Features();
  for (size_t i = 0; i < features.size(); ++i) {
    for (const std::string& model : models) {
      if (features[i].experts && model != "deepseek") continue;
      cases.push_back(Made(model, {&features[i]}));
    }
    for (size_t j = i + 1; j < features.size(); ++j) {
      if (features[i].choice == features[j].choice) continue;
      const bool experts = features[i].experts || features[j].experts;
      cases.push_back(Made(experts ? "deepseek" : "llama", {&features[i], &features[j]}));
    }
  }
  for (const std::string& model : models) {
    cases.push_back(Everything(model, false, false));
    cases.push_back(Everything(model, true, false));
  }
  cases.push_back(Everything("deepseek", false, true));
  cases.push_back(Everything("deepseek", true, true));
  cases.push_back(Everything("llama", true, false, true));
  cases.push_back(Everything("deepseek", false, true, true));
  return cases;
}

absl::StatusOr<lineage::Problem> ProblemOf(const StrategyCase& made) {
  PLAN_ASSIGN_OR_RETURN(ModelConfig model, NamedModel(made.model));
  model.layers = made.layers;
  if (made.key_value_heads > 0) model.key_value_heads = made.key_value_heads;
  PLAN_ASSIGN_OR_RETURN(const GeneratedPlans plans,
                        Generate(model, TrainingConfig(), made.strategy));
  return plan::BuildProblemFromFiles(
      {{"logical.plan", plans.logical}, {"parallel.plan", plans.parallel}},
      sdfg::OperatorLibrary::BuiltIn());
}

}  // namespace planproof::generator
