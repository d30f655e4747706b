#include "monitor/watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace planproof::monitor {
namespace {

constexpr size_t kMostAlarms = 1000;  // that are told; more would not be read
constexpr size_t kMostNotices = 1000;
constexpr size_t kMostOthers = 100'000;  // subjects of one alarm
constexpr size_t kMostKnown = 1'000'000;

// `*` in the pattern stands for any characters.
bool Matches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0, t = 0, star = absl::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool IsRuleName(absl::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '*';
  });
}

}  // namespace

absl::StatusOr<MutedRules> MutedRules::Parse(const std::string& text) {
  MutedRules muted;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words[0][0] == '#') continue;
    if (words.size() > 2 || !IsRuleName(words[0])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ": expected RULE, or RULE and a pattern of subjects (layers.*)"));
    }
    muted.lines_.emplace_back(words[0], words.size() > 1 ? words[1] : "*");
  }
  return muted;
}

bool MutedRules::Mutes(const Alarm& alarm) const {
  return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) {
    return Matches(line.first, alarm.rule) && Matches(line.second, alarm.subject);
  });
}

Watch::Watch(std::vector<std::unique_ptr<Judge>> judges, MutedRules muted,
             std::function<void(const Alarm&)> on_alarm)
    : judges_(std::move(judges)), muted_(std::move(muted)), on_alarm_(std::move(on_alarm)) {}

void Watch::Observe(const Run& run, const StepOfRun& step) {
  Findings findings;
  for (const std::unique_ptr<Judge>& judge : judges_) {
    if (!begun_) judge->Begin(run, &findings);
  }
  begun_ = true;
  for (const std::unique_ptr<Judge>& judge : judges_) judge->Observe(run, step, &findings);
  ++steps_;
  Collect(std::move(findings));
}

void Watch::End(const Run& run) {
  if (!begun_) return;
  Findings findings;
  for (const std::unique_ptr<Judge>& judge : judges_) judge->End(run, &findings);
  Collect(std::move(findings));
}

void Watch::Note(std::vector<Notice> notices) {
  for (Notice& notice : notices) {
    const std::pair key(notice.rule, absl::StrCat(notice.subject, "\n", notice.statement));
    if (noted_.contains(key)) continue;
    if (notices_.size() >= kMostNotices) {
      ++notices_left_out_;
      continue;
    }
    noted_.insert(key);
    notices_.push_back(std::move(notice));
  }
}

void Watch::Take(Findings findings, int64_t steps) {
  steps_ += steps;
  Collect(std::move(findings));
}

int64_t Watch::checked() const {
  int64_t all = 0;
  for (const int64_t tier : checked_) all += tier;
  return all;
}

// Alarms of one tier, rule and step follow from one cause; the first in order tells them.
void Watch::Collect(Findings findings) {
  for (int tier = 0; tier < 4; ++tier) checked_[tier] += findings.checked[tier];
  other_program_ = other_program_ || findings.other_program;
  Note(std::move(findings.notices));
  std::vector<std::vector<Alarm>> groups;
  for (Alarm& alarm : findings.alarms) {
    if (muted_.Mutes(alarm)) {
      ++muted_alarms_;
      continue;
    }
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return group[0].tier == alarm.tier && group[0].rule == alarm.rule &&
             group[0].step == alarm.step;
    });
    if (same == groups.end()) {
      groups.emplace_back().push_back(std::move(alarm));
    } else {
      same->push_back(std::move(alarm));
    }
  }
  // Another rule about the same subject in the same step tells what follows from the first.
  std::set<std::pair<int64_t, std::string>> told;
  for (std::vector<Alarm>& group : groups) {
    if (told.emplace(group[0].step, group[0].subject).second) Raise(std::move(group));
  }
}

void Watch::Raise(std::vector<Alarm> group) {
  Alarm& first = group[0];
  for (size_t i = 1; i < group.size(); ++i) {
    for (std::string& other : group[i].others) first.others.push_back(std::move(other));
    if (group[i].subject == first.subject) {
      first.ranks.insert(first.ranks.end(), group[i].ranks.begin(), group[i].ranks.end());
    } else {
      first.others.push_back(group[i].subject);
    }
  }
  std::sort(first.ranks.begin(), first.ranks.end());
  first.ranks.erase(std::unique(first.ranks.begin(), first.ranks.end()), first.ranks.end());
  std::set<std::string> seen = {first.subject};
  std::erase_if(first.others, [&](const std::string& other) { return !seen.insert(other).second; });
  if (first.others.size() > kMostOthers) first.others.resize(kMostOthers);
  const std::string rule = absl::StrCat(TierName(first.tier), " ", first.rule);
  // The same rule about a subject that is told already, by the alarm's subject or among its others.
  for (const std::string& subject : seen) {
    const auto known = known_.find({rule, subject});
    if (known == known_.end()) continue;
    CountedAlarm& counted = alarms_[known->second];
    if (counted.last_step != first.step) ++counted.steps;
    counted.last_step = first.step;
    return;
  }
  if (alarms_.size() >= kMostAlarms) return;
  for (const std::string& subject : seen) {
    if (known_.size() < kMostKnown) known_.emplace(std::pair(rule, subject), alarms_.size());
  }
  alarms_.push_back({.alarm = std::move(first), .last_step = group[0].step});
  if (on_alarm_) on_alarm_(alarms_.back().alarm);
}

}  // namespace planproof::monitor
