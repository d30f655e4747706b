// Reports what a replay found, for people and for machines.
#ifndef PLANPROOF_REPORT_REPLAY_REPORT_H_
#define PLANPROOF_REPORT_REPLAY_REPORT_H_

#include <string>
#include <vector>

#include "lineage/lineage.h"
#include "runtime_check/replay.h"

namespace planproof::report {

struct ReplayText {
  std::string inputs;    // "seed 0", "witness FILE"
  std::string device;    // the GPU that computed; empty: the CPU
  bool verbose = false;  // all tensors, not only those that alarm
  bool color = false;
};

// That of REFUTED if there is an alarm, else that of PROVED.
int ReplayExitCode(const runtime_check::ReplayReport& replay);

// The first line is the answer; then, if there is an alarm, where, and the tensors that alarm.
std::string TextReplayReport(const lineage::Problem& problem,
                             const runtime_check::ReplayReport& replay,
                             const runtime_check::ReplayOptions& options, const ReplayText& text);

// One JSON object (docs/replay.md). Keys are only ever added.
std::string JsonReplayReport(const lineage::Problem& problem,
                             const runtime_check::ReplayReport& replay,
                             const runtime_check::ReplayOptions& options, const ReplayText& text,
                             const std::vector<std::string>& files);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_REPLAY_REPORT_H_
