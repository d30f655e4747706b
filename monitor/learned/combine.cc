#include "monitor/learned/combine.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planproof::monitor::learned {
namespace {

constexpr int kAlarmWindowLimit = 64;  // facts that need more steps in a row are too weak to alarm
constexpr int kAnchorsOfCall = 4;      // facts `within` of one missing call: those seen most often

using FactKey = std::tuple<Form, std::string, std::string, std::string, std::string>;

FactKey KeyOf(const Fact& fact) {
  return {fact.form, fact.phase, fact.subject, fact.other_phase, fact.other};
}

struct Evidence {
  Fact fact;
  int runs = 0;
  int against = 0;             // runs that contradict it themselves
  bool values_differ = false;  // each run has one value, not all the same
};

std::map<FactKey, Evidence> Gather(const std::vector<LearnedRun>& runs) {
  std::map<FactKey, Evidence> all;
  for (const LearnedRun& run : runs) {
    for (const Hypothesis& hypothesis : run.hypotheses) {
      auto [at, fresh] = all.try_emplace(KeyOf(hypothesis.fact));
      Evidence& evidence = at->second;
      if (fresh) {
        evidence.fact = hypothesis.fact;
      } else {
        evidence.fact.support += hypothesis.fact.support;
        evidence.fact.after_first |= hypothesis.fact.after_first;
        evidence.values_differ |= evidence.fact.value != hypothesis.fact.value;
        if (hypothesis.fact.kind == ValueKind::kNumber) evidence.fact.kind = ValueKind::kNumber;
      }
      ++evidence.runs;
      evidence.against += hypothesis.contradicted;
    }
  }
  return all;
}

bool Holds(const Evidence& evidence, int runs) {
  return evidence.runs == runs && evidence.against == 0 && !evidence.values_differ;
}

// All runs but one hold it, which a fact of fewer references would have asserted.
bool SingleContradiction(const Evidence& evidence, int runs) {
  if (runs < 2 || evidence.fact.kind == ValueKind::kNumber || evidence.runs != runs) return false;
  if (evidence.values_differ && evidence.against == 0) return true;
  return !evidence.values_differ && evidence.against == 1;
}

int64_t LeastSupport(Form form) {
  if (form == Form::kAtEnd) return kLeastEnds;
  const bool of_contents = form == Form::kSame || form == Form::kReplica || form == Form::kChanges;
  return of_contents ? kLeastContentSupport : kLeastSupport;
}

const std::string& PackageSubject(const Fact& fact) {
  return fact.form == Form::kWithin || fact.form == Form::kBefore ? fact.other : fact.subject;
}

using StratumKey = std::pair<Form, std::string>;

StratumKey StratumOf(const Fact& fact) {
  return {fact.form, PackageOf(fact.form, PackageSubject(fact))};
}

std::map<StratumKey, Stratum> Strata(const std::map<FactKey, Evidence>& all, int runs) {
  std::map<StratumKey, Stratum> strata;
  for (const auto& [key, evidence] : all) {
    if (evidence.fact.support < LeastSupport(evidence.fact.form)) continue;
    const StratumKey stratum_key = StratumOf(evidence.fact);
    Stratum& stratum = strata[stratum_key];
    stratum.form = stratum_key.first;
    stratum.package = stratum_key.second;
    stratum.observations += evidence.fact.support;
    if (evidence.fact.kind == ValueKind::kNumber) continue;
    stratum.facts += Holds(evidence, runs);
    stratum.contradicted += SingleContradiction(evidence, runs);
  }
  return strata;
}

// Of one missing call, only the conditions that were seen most often.
void KeepStrongestConditions(std::vector<Fact>* facts) {
  std::stable_sort(facts->begin(), facts->end(),
                   [](const Fact& a, const Fact& b) { return a.support > b.support; });
  std::map<std::tuple<Form, std::string, std::string>, int> kept;
  std::erase_if(*facts, [&kept](const Fact& fact) {
    return fact.form == Form::kWithin &&
           ++kept[{fact.form, fact.other_phase, fact.other}] > kAnchorsOfCall;
  });
  std::sort(facts->begin(), facts->end(),
            [](const Fact& a, const Fact& b) { return KeyOf(a) < KeyOf(b); });
}

// A value that is the same in all phases that references have needs no phase.
void JoinPhases(const std::map<FactKey, Evidence>& all, int runs, std::vector<Fact>* facts) {
  std::map<std::pair<std::string, std::string>, std::pair<std::string, bool>>
      one_value;  // by subject and attribute
  for (const auto& [key, evidence] : all) {
    if (evidence.fact.form != Form::kEquals) continue;
    auto [at, fresh] = one_value.try_emplace({evidence.fact.subject, evidence.fact.other},
                                             evidence.fact.value, true);
    at->second.second &= Holds(evidence, runs) && at->second.first == evidence.fact.value;
  }
  std::map<std::pair<std::string, std::string>, Fact> joined;
  std::erase_if(*facts, [&](const Fact& fact) {
    if (fact.form != Form::kEquals || !one_value.at({fact.subject, fact.other}).second)
      return false;
    auto [at, fresh] = joined.try_emplace({fact.subject, fact.other}, fact);
    at->second.phase.clear();
    if (!fresh) at->second.support += fact.support;
    return true;
  });
  for (auto& [key, fact] : joined) facts->push_back(std::move(fact));
}

bool IsOfValues(const Fact& fact) { return fact.form == Form::kChanges; }

void SetWindows(const std::map<StratumKey, Stratum>& strata, FactSet* set) {
  int64_t of_values = 0;
  for (const Fact& fact : set->facts) of_values += IsOfValues(fact);
  const int64_t steps = std::max<int64_t>(1, set->steps / std::max(1, set->references));
  for (Fact& fact : set->facts) {
    if (fact.kind == ValueKind::kNumber || strata.at(StratumOf(fact)).contradicted > 0) {
      fact.windows = 0;
    } else if (IsOfValues(fact)) {
      fact.windows =
          WindowsForAlarm(fact.support, steps, kFalseAlarmBudget / static_cast<double>(of_values));
      if (fact.windows > 0)
        set->expected_false_alarms += kFalseAlarmBudget / static_cast<double>(of_values);
    }
  }
}

void Unite(const std::set<std::string>& from, std::set<std::string>* to) {
  to->insert(from.begin(), from.end());
}

absl::Status CheckOneProgram(const std::vector<LearnedRun>& runs) {
  if (runs.empty()) return absl::InvalidArgumentError("no reference run: name at least one");
  for (size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].source != runs[0].source) {
      return absl::InvalidArgumentError("references are journals and traces: learn from one kind");
    }
    if (runs[i].program != runs[0].program || runs[i].optimizers != runs[0].optimizers) {
      return absl::InvalidArgumentError(absl::StrCat(
          "reference ", i + 1,
          " runs another program than the first (parameters or optimizers differ): learn "
          "from each program on its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int WindowsForAlarm(int64_t support, int64_t steps, double budget) {
  if (support <= 0 || budget <= 0) return 0;
  const double rate = 1 - std::pow(0.05, 1.0 / static_cast<double>(support));
  double probability = static_cast<double>(std::max<int64_t>(1, steps));
  for (int m = 1; m <= kAlarmWindowLimit; ++m) {
    probability *= rate;
    if (probability <= budget) return m;
  }
  return 0;
}

absl::StatusOr<FactSet> Combine(const std::vector<LearnedRun>& runs) {
  if (absl::Status status = CheckOneProgram(runs); !status.ok()) return status;
  FactSet set;
  set.source = runs[0].source;
  set.references = static_cast<int>(runs.size());
  std::set<std::string> phases, functions;
  for (const LearnedRun& run : runs) {
    set.steps += run.steps;
    Unite(run.phases, &phases);
    Unite(run.functions, &functions);
  }
  set.program.assign(runs[0].program.begin(), runs[0].program.end());
  set.optimizers.assign(runs[0].optimizers.begin(), runs[0].optimizers.end());
  set.phases.assign(phases.begin(), phases.end());
  set.functions.assign(functions.begin(), functions.end());
  const std::map<FactKey, Evidence> all = Gather(runs);
  const std::map<StratumKey, Stratum> strata = Strata(all, set.references);
  for (const auto& [key, stratum] : strata) set.strata.push_back(stratum);
  for (const auto& [key, evidence] : all) {
    if (Holds(evidence, set.references) &&
        evidence.fact.support >= LeastSupport(evidence.fact.form)) {
      set.facts.push_back(evidence.fact);
    }
  }
  JoinPhases(all, set.references, &set.facts);
  KeepStrongestConditions(&set.facts);
  SetWindows(strata, &set);
  return set;
}

}  // namespace planproof::monitor::learned
