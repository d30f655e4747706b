// Steps of four ranks, dp 2 by tp 2, written out for tests of proof-derived monitors: a matrix that
// both axes cut, and a vector that dp cuts and tp repeats.
#ifndef PLANPROOF_TESTS_MONITOR_PROVED_WRITTEN_STEP_H_
#define PLANPROOF_TESTS_MONITOR_PROVED_WRITTEN_STEP_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "monitor/judge.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

inline constexpr double kBoundOfTests = 0.5;
inline constexpr int kRowsOfTests = 8;

// A set's values by rank and tensor; each rank's part.
using PartsByRank = std::map<int, std::map<std::string, std::vector<float>>>;

class WrittenRun {
 public:
  // `rows`: of the matrix and the vector.
  explicit WrittenRun(int rows = kRowsOfTests, const std::string& device = "cpu");

  // Of the next step; a test may change them before Step.
  PartsByRank parameters, gradients, clipped, before, after;  // the last two: of exp_avg
  PartsByRank updated;
  // What ranks add to gradients, each backward's; none at first.
  std::map<int, std::vector<std::map<std::string, std::vector<float>>>> contributions;
  std::map<int, std::vector<Collective>> collectives;  // none at first
  std::map<int, std::vector<Event>> calls;             // before all others; none at first
  bool sampled = true;
  std::map<int, double> norms;   // that ranks clip by; ranks that are left out do not clip
  std::map<int, double> counts;  // of steps, after the step

  // Fills all of these as a right step has them.
  void Fill(int64_t seed);
  StepOfRun Step();
  Run run;
  std::map<int, std::shared_ptr<TensorTable>> tables;

  double NormOfWhole() const;

 private:
  int64_t step_ = 0;
};

// What a proof says of such a run, at `rows` rows.
ProvedMonitors MonitorsOfTests(int rows = kRowsOfTests);

}  // namespace planproof::monitor

#endif  // PLANPROOF_TESTS_MONITOR_PROVED_WRITTEN_STEP_H_
