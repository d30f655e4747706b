// Judges each rank's steps by themselves: what most laws have in common.
#ifndef PLANPROOF_MONITOR_LAWS_LAW_OF_EACH_RANK_H_
#define PLANPROOF_MONITOR_LAWS_LAW_OF_EACH_RANK_H_

#include "monitor/judge.h"

namespace planproof::monitor {

class LawOfEachRank : public Judge {
 public:
  void Begin(const Run& /*run*/, Findings* /*findings*/) override {}
  void Observe(const Run& run, const StepOfRun& step, Findings* findings) override {
    for (const auto& [rank, facts] : step.ranks)
      ObserveRank(run.headers.at(rank), *facts, findings);
  }
  void End(const Run& /*run*/, Findings* /*findings*/) override {}

 private:
  virtual void ObserveRank(const Header& header, const StepOfRank& step, Findings* findings) = 0;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_LAW_OF_EACH_RANK_H_
