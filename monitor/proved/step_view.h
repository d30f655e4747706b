// Shows one step of a run to proof-derived monitors, and takes what they say about it.
#ifndef PLANPROOF_MONITOR_PROVED_STEP_VIEW_H_
#define PLANPROOF_MONITOR_PROVED_STEP_VIEW_H_

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "monitor/findings.h"
#include "monitor/judge.h"
#include "monitor/laws/facts.h"
#include "monitor/proved/monitors.h"
#include "monitor/proved/run_layout.h"

namespace planproof::monitor {

// In which a step makes what is compared: what fails first is what the rest follows from.
enum class StepStage : uint8_t {
  kBegin,     // parameters and states before the step
  kGradient,  // gradients as backward leaves them
  kNorm,      // the norm that clipping reports
  kClipped,   // gradients that the optimizer gets
  kState,
  kUpdated,
  kCalls,  // that a step lacks: what values show comes first
};

struct Failure {
  StepStage stage = StepStage::kBegin;
  int64_t order = 0;  // within the stage, as the proof has it
  Alarm alarm;
};

// What one step gives.
struct StepFindings {
  std::vector<Failure> failures;
  std::vector<Notice> notices;  // may repeat those of earlier steps
  int64_t checked[4] = {};

  std::set<std::string> compared;  // tensors of which values were

  void Checked(Tier tier) { ++checked[static_cast<size_t>(tier)]; }
  void Compared(const MonitoredTensor& tensor) {
    Checked(tensor.tier);
    compared.insert(tensor.name);
  }
};

// Looks facts up by rank, moment, set and tensor.
class StepView {
 public:
  StepView(const Run& run, const StepOfRun& step, const RunLayout& layout,
           const ProvedMonitors& monitors)
      : run(run), step(step), layout(layout), monitors(monitors) {}

  const TensorFact* Find(int rank, Moment moment, const SetMonitor& set, const std::string& name);
  const ElementFact* FindNumber(int rank, Moment moment, const SetMonitor& set,
                                const std::string& name);
  // The run's CPU kernels and collectives do the same in all groups of one size.
  bool OnCpu() const;
  // What the optimizer that steps has is not all that becomes of parameters and gradients.
  bool IsWrapped() const;

  const Run& run;
  const StepOfRun& step;
  const RunLayout& layout;
  const ProvedMonitors& monitors;
  // What is called after optimizers have stepped is in the next step: it is there in those that
  // follow an iteration.
  bool follows_iteration = false;
  bool loss_is_scaled = false;  // backward gives multiples of gradients, in this step or earlier

 private:
  using Key = std::tuple<int, Moment, std::string>;  // rank, moment, set
  std::map<Key, SetFacts> facts_;
  std::map<Key, ElementFacts> numbers_;
};

// The set of a tensor of this kind, null if the proof has none.
const SetMonitor* FindSet(const TensorMonitor& monitor, SetKind kind);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_STEP_VIEW_H_
