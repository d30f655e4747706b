// Types what a monitor says about a run. `report` and `cli` make text of it: nothing decides by
// that.
#ifndef PLANPROOF_MONITOR_FINDINGS_H_
#define PLANPROOF_MONITOR_FINDINGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace planproof::monitor {

// Says where what is asserted comes from.
enum class Tier : uint8_t {
  kProved,   // proved at the sizes of the run
  kDerived,  // follows from what was proved at other sizes
  kLaw,      // a contract of PyTorch
  kLearned,  // what healthy runs have in common
};

// As reports and --json have it.
const char* TierName(Tier tier);

// Something does not hold.
struct Alarm {
  Tier tier = Tier::kLaw;
  std::string rule;        // a word of a closed list, as documentation and --mute have it
  int64_t step = 0;        // at which it was seen
  std::vector<int> ranks;  // that it was seen on; empty: on all
  std::string subject;     // the tensor, module, optimizer that it is about
  std::string statement;   // one sentence: what should hold, and what does not
  std::optional<double> expected, found;
  std::optional<double> tolerance;
  std::string place;  // "file:line" of the program, or of the proof; may be empty
  // These follow from the same cause and are not told apart: subjects of alarms of one rule and
  // step.
  std::vector<std::string> others;
};

// Something to know that is no alarm: what is not observed, not applicable, blind, a difference.
enum class NoticeKind : uint8_t { kNotObserved, kNotApplicable, kBlind, kDifference, kEvent };

struct Notice {
  NoticeKind kind = NoticeKind::kNotObserved;
  std::string rule;
  std::optional<int64_t> step;
  std::string subject;
  std::string statement;
};

struct Findings {
  std::vector<Alarm> alarms;
  std::vector<Notice> notices;
  // Facts that were compared, by tier: a check without any is no check.
  int64_t checked[4] = {};
  // Says that references, or monitors, are of another program: nothing was compared with them.
  bool other_program = false;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_FINDINGS_H_
