#include "monitor/learned/checker.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/learned/statements.h"

namespace planproof::monitor::learned {
namespace {
constexpr size_t kNoticeLimit = 100;
constexpr size_t kProgramPartLimit = size_t{1} << 17;

// What is part of the program decides where a violation stands among those of its step: relations
// between contents follow from what the program did.
bool IsConsequence(Form form) {
  return form == Form::kSame || form == Form::kReplica || form == Form::kBefore ||
         form == Form::kChanges;
}
}  // namespace

Checker::Checker(const FactSet& facts, Symbols* symbols)
    : Windows(symbols), facts_(facts), states_(facts.facts.size()) {
  for (const std::string& phase : facts.phases) phases_.insert(symbols->Of(phase));
  for (const std::string& function : facts.functions) functions_.insert(symbols->Of(function));
  for (size_t i = 0; i < facts.facts.size(); ++i) AddFact(static_cast<int>(i), facts.facts[i]);
}

void Checker::AddFact(int number, const Fact& fact) {
  const Symbol phase = fact.phase.empty() ? kNoSymbol : symbols()->Of(fact.phase);
  const Symbol subject = symbols()->Of(fact.subject);
  const Symbol other = fact.other.empty() ? kNoSymbol : symbols()->Of(fact.other);
  const CallItem other_item{fact.other_phase.empty() ? kNoSymbol : symbols()->Of(fact.other_phase),
                            other};
  switch (fact.form) {
    case Form::kWithin:
      within_[{phase, subject}].push_back({number, other_item});
      return;
    case Form::kBefore:
      before_[{phase, subject}].push_back({number, other_item});
      return;
    case Form::kGiven:
      given_[subject].emplace_back(other, number);
      return;
    case Form::kSame:
      pairs_.emplace_back(subject, other);
      break;
    default:
      break;
  }
  values_.emplace(Key{fact.form, phase, subject, other}, number);
}

void Checker::SetRecorded(std::set<std::string> functions) {
  all_recorded_ = false;
  recorded_ = std::move(functions);
}

void Checker::Part(Symbol part, bool optimizer) {
  std::set<std::string>& parts = optimizer ? optimizers_ : program_;
  if (part != kNoSymbol && parts.size() < kProgramPartLimit) parts.insert(symbols()->Text(part));
}

void Checker::Call(int stream, Symbol phase, Symbol function, Role role) {
  if (role != Role::kOther && function != kNoSymbol && !functions_.contains(function) &&
      notices_.size() < kNoticeLimit && new_functions_.insert(function).second) {
    notices_.push_back({NoticeKind::kDifference, "learned.call", std::nullopt,
                        symbols()->Text(function), "is called, which no reference does"});
  }
  Windows::Call(stream, phase, function, role);
}

void Checker::AddNotice(Notice notice) {
  if (notices_.size() < kNoticeLimit) notices_.push_back(std::move(notice));
}

void Checker::Held(int fact) {
  ++checked_;
  ++states_[fact].held;
  states_[fact].in_a_row = 0;
}

void Checker::Violated(int fact, int64_t process, int64_t step, std::string_view found) {
  ++checked_;
  State& state = states_[fact];
  const Fact& what = facts_.facts[fact];
  if (++state.in_a_row < std::max(1, what.windows)) return;
  if (const auto at = violations_.find(fact); at != violations_.end()) {
    if (step < at->second.step) {
      at->second = Violation{fact, step, {}, std::string(found)};
    }
    if (step == at->second.step) at->second.processes.insert(process);
    return;
  }
  if (state.reported) return;
  state.reported = true;
  if (what.windows == 0) {
    if (notices_.size() < kNoticeLimit) {
      notices_.push_back({NoticeKind::kDifference, absl::StrCat("learned.", FormName(what.form)),
                          step, SubjectOf(what), StatementOf(what, facts_.references, found)});
    }
    return;
  }
  violations_.emplace(fact, Violation{fact, step, {process}, std::string(found)});
}

void Checker::OnWindow(const Window& window) {
  absl::flat_hash_map<CallItem, int> places;
  for (const auto& [item, role] : window.calls)
    places.emplace(item, static_cast<int>(places.size()));
  for (const auto& [item, place] : places) {
    if (const auto at = within_.find(item); at != within_.end()) {
      for (const CallFact& expected : at->second) {
        const bool recorded =
            all_recorded_ || recorded_.contains(facts_.facts[expected.fact].other);
        if (places.contains(expected.other)) {
          Held(expected.fact);
        } else if (!window.cut_off && recorded &&
                   !(window.first && facts_.facts[expected.fact].after_first)) {
          Violated(expected.fact, window.process, window.step, "");
        }
      }
    }
    if (const auto at = before_.find(item); at != before_.end()) {
      for (const CallFact& expected : at->second) {
        const auto other = places.find(expected.other);
        if (other == places.end()) continue;
        if (place < other->second) {
          Held(expected.fact);
        } else {
          Violated(expected.fact, window.process, window.step, "");
        }
      }
    }
  }
}

void Checker::OnInstance(const Instance& instance) {
  const auto compare = [&](Symbol phase) {
    const auto at = values_.find(Key{instance.form, phase, instance.subject, instance.other});
    if (at == values_.end()) return false;
    const Fact& fact = facts_.facts[at->second];
    const std::string& found = symbols()->Text(instance.value);
    const bool holds = HasValue(instance.form) ? found == fact.value : instance.value == yes();
    if (holds) {
      Held(at->second);
    } else {
      Violated(at->second, instance.process, instance.step, HasValue(instance.form) ? found : "");
    }
    return true;
  };
  if (instance.phase != kNoSymbol && compare(instance.phase)) return;
  // What holds in every phase of the references says nothing of phases that they do not have.
  if (instance.phase == kNoSymbol || phases_.contains(instance.phase)) compare(kNoSymbol);
}

void Checker::OnGiven(int64_t process, int64_t step, Symbol function,
                      absl::Span<const Symbol> subjects) {
  const auto at = given_.find(function);
  if (at == given_.end()) return;
  const absl::flat_hash_set<Symbol> given(subjects.begin(), subjects.end());
  for (const auto& [subject, fact] : at->second) {
    if (given.contains(subject)) {
      Held(fact);
    } else {
      Violated(fact, process, step, "");
    }
  }
}

bool Checker::IsSameProgram() const {
  if (!program_.empty() && !facts_.program.empty()) {
    size_t common = 0;
    for (const std::string& part : facts_.program) common += program_.contains(part);
    if (2 * common < std::max(program_.size(), facts_.program.size())) return false;
  }
  if (optimizers_.empty() || facts_.optimizers.empty()) return true;
  return std::any_of(facts_.optimizers.begin(), facts_.optimizers.end(),
                     [this](const std::string& one) { return optimizers_.contains(one); });
}

std::vector<Checker::Violation> Checker::TakeViolations() {
  std::vector<Violation> taken;
  for (auto& [fact, violation] : violations_) taken.push_back(std::move(violation));
  violations_.clear();
  const auto rank = [this](const Violation& violation) {
    const Fact& fact = facts_.facts[violation.fact];
    return std::tuple(violation.step, IsConsequence(fact.form), fact.form, fact.role,
                      -fact.support);
  };
  std::stable_sort(taken.begin(), taken.end(),
                   [&rank](const Violation& a, const Violation& b) { return rank(a) < rank(b); });
  return taken;
}

Alarm Checker::AlarmOf(const Violation& violation) const {
  const Fact& fact = facts_.facts[violation.fact];
  Alarm alarm;
  alarm.tier = Tier::kLearned;
  alarm.rule = absl::StrCat("learned.", FormName(fact.form));
  alarm.step = violation.step;
  alarm.subject = SubjectOf(fact);
  alarm.statement = StatementOf(fact, facts_.references, violation.found);
  return alarm;
}

// What differs in later steps follows from what differed first, or cannot be told from what does.
void Checker::Report(const std::map<int64_t, int>& ranks, Findings* findings) {
  std::optional<Alarm> first;
  for (const Violation& violation : TakeViolations()) {
    Alarm alarm = AlarmOf(violation);
    if (alarmed_at_.has_value() && (!first.has_value() || violation.step != *alarmed_at_)) {
      AddNotice({NoticeKind::kDifference, alarm.rule, alarm.step, alarm.subject,
                 absl::StrCat(alarm.statement, "; after the alarm of step ", *alarmed_at_)});
      continue;
    }
    for (const int64_t process : violation.processes) {
      const auto at = ranks.find(process);
      if (!first.has_value() && at != ranks.end()) alarm.ranks.push_back(at->second);
    }
    if (!first.has_value()) {
      alarmed_at_ = violation.step;
      first = std::move(alarm);
    } else if (first->subject != alarm.subject &&
               std::find(first->others.begin(), first->others.end(), alarm.subject) ==
                   first->others.end()) {
      first->others.push_back(std::move(alarm.subject));
    }
  }
  if (first.has_value()) findings->alarms.push_back(*std::move(first));
  for (Notice& notice : notices_) findings->notices.push_back(std::move(notice));
  notices_.clear();
  findings->checked[static_cast<int>(Tier::kLearned)] += checked_;
  checked_ = 0;
}

void Checker::ReportUnobserved(Findings* findings) const {
  int64_t unseen = 0;
  std::string example;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].held > 0 || states_[i].reported || states_[i].in_a_row > 0) continue;
    if (++unseen == 1) example = SubjectOf(facts_.facts[i]);
  }
  if (unseen == 0) return;
  findings->notices.push_back(
      {NoticeKind::kNotObserved, "learned", std::nullopt, example,
       absl::StrCat(unseen, " of ", states_.size(),
                    " learned facts are about what this run does not show")});
}

}  // namespace planproof::monitor::learned
