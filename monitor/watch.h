// Hands the steps of a run to judges, and makes of what they say one alarm for each cause.
#ifndef PLANPROOF_MONITOR_WATCH_H_
#define PLANPROOF_MONITOR_WATCH_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "monitor/findings.h"
#include "monitor/judge.h"

namespace planproof::monitor {

// Alarms that are not to be raised: a rule, everywhere or for subjects that match a pattern in
// which * stands for any characters.
class MutedRules {
 public:
  // Lines "rule" or "rule pattern"; empty lines and those that begin with # say nothing.
  // InvalidArgument, with the line's number, for another line.
  static absl::StatusOr<MutedRules> Parse(const std::string& text);
  bool Mutes(const Alarm& alarm) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;  // rule, pattern
};

// An alarm, and how often the same was seen after it.
struct CountedAlarm {
  Alarm alarm;
  int64_t steps = 1;  // with this alarm
  int64_t last_step = 0;
};

class Watch {
 public:
  // `on_alarm`, if any, is called at once for each alarm that is new.
  Watch(std::vector<std::unique_ptr<Judge>> judges, MutedRules muted,
        std::function<void(const Alarm&)> on_alarm);

  // In order: the first call begins.
  void Observe(const Run& run, const StepOfRun& step);
  void End(const Run& run);
  void Note(std::vector<Notice> notices);
  // What was found out about a run that has no journal, over so many steps.
  void Take(Findings findings, int64_t steps);

  // In the order in which they were raised.
  const std::vector<CountedAlarm>& alarms() const { return alarms_; }
  const std::vector<Notice>& notices() const { return notices_; }
  int64_t notices_left_out() const { return notices_left_out_; }
  int64_t muted() const { return muted_alarms_; }
  int64_t checked(Tier tier) const { return checked_[static_cast<int>(tier)]; }
  int64_t checked() const;
  int64_t steps() const { return steps_; }
  bool other_program() const { return other_program_; }

 private:
  void Collect(Findings findings);
  void Raise(std::vector<Alarm> group);

  std::vector<std::unique_ptr<Judge>> judges_;
  MutedRules muted_;
  std::function<void(const Alarm&)> on_alarm_;
  std::vector<CountedAlarm> alarms_;
  // Which alarm a subject of a rule is told by.
  std::map<std::pair<std::string, std::string>, size_t> known_;
  std::vector<Notice> notices_;
  std::set<std::pair<std::string, std::string>> noted_;  // rule, subject with statement
  int64_t notices_left_out_ = 0, muted_alarms_ = 0, steps_ = 0;
  int64_t checked_[4] = {};
  bool begun_ = false, other_program_ = false;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_WATCH_H_
