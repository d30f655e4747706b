// A small training run in memory: two ranks or one, SGD or AdamW in float32, with the facts that a
// journal would have. Tests change what happens in it.
#ifndef PLANPROOF_TESTS_MONITOR_SIMULATED_RUN_H_
#define PLANPROOF_TESTS_MONITOR_SIMULATED_RUN_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "monitor/judge.h"

namespace planproof::monitor {

// One parameter of one rank with all that belongs to it.
struct SimulatedTensor {
  std::string name;
  std::vector<int64_t> of;
  std::vector<float> parameter, gradient, contribution, exp_avg, exp_avg_sq, momentum_buffer;
  bool trainable = true;
  std::vector<int32_t> optimizers = {0};
};

struct SimulatedRank {
  std::vector<SimulatedTensor> tensors;
  std::mt19937_64 random;  // of its data
  double step_count = 0;
};

class SimulatedRun {
 public:
  explicit SimulatedRun(OptimizerKind kind, int world = 1);

  // What tests may change. Functions get the step and the rank.
  double lr = 0.01, weight_decay = 0.1, loss_factor = 1, contribution_factor = 1;
  bool reduce = true;  // gradients over ranks
  bool update = true;  // the optimizer writes to the model
  std::function<bool(int64_t, int)> clears = [](int64_t, int) { return true; };
  std::function<bool(int64_t, int)> clips = [](int64_t, int) { return true; };
  std::function<void(int64_t, int, SimulatedRank*)> between = [](int64_t, int, SimulatedRank*) {};
  std::function<void(int64_t, int, SimulatedRank*)> in_update = [](int64_t, int, SimulatedRank*) {};
  std::vector<Event> extra_events;           // of the next step, at its begin
  std::vector<std::vector<int64_t>> others;  // shapes of the optimizer's tensors elsewhere
  bool same_batch = false;
  bool say_loss = true;
  int backwards = 1;

  Run run;
  SimulatedRank& rank(int number) { return ranks_.at(number); }
  // The next step of all ranks.
  StepOfRun Step();

 private:
  void Backward();
  void Clip(int number, StepOfRank* step);
  void Update(SimulatedRank* rank);
  std::shared_ptr<const TensorTable> TableOf(const SimulatedRank& rank) const;
  OptimizerOptions OptionsOf(const std::shared_ptr<const TensorTable>& table) const;
  void Take(const SimulatedRank& rank, Moment moment, bool states, StepOfRank* step) const;
  void TakeElements(const SimulatedRank& rank, Moment moment, StepOfRank* step) const;

  OptimizerKind kind_;
  int world_;
  int64_t step_ = 0;
  std::map<int, SimulatedRank> ranks_;
};

// Hands `steps` steps to a judge; its findings.
Findings Judged(Judge* judge, SimulatedRun* run, int steps);

}  // namespace planproof::monitor

#endif  // PLANPROOF_TESTS_MONITOR_SIMULATED_RUN_H_
