// Finds out which monitors of a proof apply to a run: by names, shapes, and what ranks say they
// hold.
#ifndef PLANPROOF_MONITOR_PROVED_RUN_LAYOUT_H_
#define PLANPROOF_MONITOR_PROVED_RUN_LAYOUT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "monitor/findings.h"
#include "monitor/judge.h"
#include "monitor/proved/monitors.h"

namespace planproof::monitor {

// A tensor of the run that a monitor is about.
struct MonitoredTensor {
  const TensorMonitor* monitor = nullptr;
  Tier tier = Tier::kDerived;
  std::string name;
  std::vector<int64_t> of;
  std::vector<std::vector<int>> groups;  // ranks that hold one part; the parts are the whole
};

struct RunLayout {
  std::vector<ProvedAxis> axes;  // with the run's extents
  std::vector<MonitoredTensor> tensors;
  // Parameters of the run without one, and why.
  std::vector<std::pair<std::string, std::string>> without;
  bool contradicted = false;  // some that the file names lie otherwise, or none is there
};

// Tensors of a proof by name, and by name without numbers where all that differ in numbers alone
// have the same relations (layers).
class MonitorNames {
 public:
  explicit MonitorNames(const ProvedMonitors& monitors);
  struct Found {
    const TensorMonitor* monitor = nullptr;
    bool by_name = false;  // false: a layer like those of the proof
  };
  Found Find(const std::string& name) const;

 private:
  std::map<std::string, const TensorMonitor*> by_name_;
  std::map<std::string, const TensorMonitor*> by_pattern_;
};

// The ranks that differ from this one along these axes only, itself among them.
std::vector<int> LineOf(const std::vector<ProvedAxis>& axes, const std::vector<int32_t>& along,
                        int rank);

// `tables`: by rank, all ranks of the run.
RunLayout LayoutOfRun(const ProvedMonitors& monitors, const MonitorNames& names,
                      const std::map<int, const TensorTable*>& tables);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_RUN_LAYOUT_H_
