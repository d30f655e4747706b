#include "monitor/run_comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "monitor/journal/words.h"
#include "monitor/laws/facts.h"

namespace planproof::monitor {
namespace {

constexpr size_t kMostDifferences = 10'000;

std::string EventInWords(const Event& event) {
  return absl::StrCat(EventName(event.type), event.subject == nullptr ? "" : " ",
                      event.subject == nullptr ? "" : *event.subject,
                      event.flags == 0 ? "" : absl::StrCat(" (flags ", event.flags, ")"));
}

bool SameCall(const Event& a, const Event& b) {
  const bool subjects = (a.subject == nullptr) == (b.subject == nullptr) &&
                        (a.subject == nullptr || *a.subject == *b.subject);
  return a.type == b.type && a.flags == b.flags && subjects;
}

double RelativeDifference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::abs(a - b) / std::max(std::abs(a), std::abs(b));
}

std::string OptionInWords(const Option& option) {
  switch (option.kind) {
    case Option::Kind::kNone:
      return "none";
    case Option::Kind::kText:
      return option.text;
    case Option::Kind::kBool:
      return option.number != 0 ? "true" : "false";
    case Option::Kind::kNumber:
      return absl::StrFormat("%.9g", option.number);
    case Option::Kind::kNumbers: {
      std::string text = "[";
      for (const double number : option.numbers)
        absl::StrAppend(&text, text.size() > 1 ? ", " : "", number);
      return text + "]";
    }
  }
  return "";
}

}  // namespace

void RunComparison::Add(int64_t step, const std::string& what, const std::string& statement,
                        double size) {
  const auto [known, inserted] = known_.emplace(what, differences_.size());
  if (inserted) {
    if (differences_.size() >= kMostDifferences) {
      known_.erase(known);
      return;
    }
    differences_.push_back({.first_step = step, .what = what, .statement = statement});
  }
  RunDifference& difference = differences_[known->second];
  difference.largest = std::max(difference.largest, size);
  if (counted_.emplace(what, step).second) ++difference.steps;
}

void RunComparison::CompareHeaders(const Run& reference, const Run& run) {
  if (reference.headers.empty() || run.headers.empty()) return;
  const Header& a = reference.headers.begin()->second;
  const Header& b = run.headers.begin()->second;
  if (a.program != b.program)
    Add(0, "program", "names or shapes of parameters, modules or optimizers differ");
  if (a.world != b.world) Add(0, "ranks", absl::StrCat(a.world, " and ", b.world));
  if (a.torch != b.torch) Add(0, "torch", absl::StrCat(a.torch, " and ", b.torch));
  if (a.device != b.device) Add(0, "device", absl::StrCat(a.device, " and ", b.device));
}

void RunComparison::CompareEvents(int rank, const StepOfRank& reference, const StepOfRank& run) {
  const auto [a, b] = std::mismatch(reference.events.begin(), reference.events.end(),
                                    run.events.begin(), run.events.end(), SameCall);
  const bool more = a != reference.events.end(), less = b != run.events.end();
  if (more || less) {
    Add(run.step, "calls",
        absl::StrCat("rank ", rank, ", call ", a - reference.events.begin(), ": ",
                     more ? EventInWords(*a) : "no more", "; now ",
                     less ? EventInWords(*b) : "no more"));
    return;
  }
  for (size_t i = 0; i < run.events.size(); ++i) {
    const Event& before = reference.events[i];
    const Event& now = run.events[i];
    const double size =
        std::max(RelativeDifference(before.a, now.a), RelativeDifference(before.b, now.b));
    if (size == 0) continue;
    Add(run.step, absl::StrCat("numbers of ", EventName(now.type)),
        absl::StrFormat("%.9g, %.9g; now %.9g, %.9g", before.a, before.b, now.a, now.b), size);
  }
}

void RunComparison::CompareOptions(const StepOfRank& reference, const StepOfRank& run) {
  for (size_t i = 0; i < std::min(reference.options.size(), run.options.size()); ++i) {
    const auto& a = reference.options[i].groups;
    const auto& b = run.options[i].groups;
    if (a.size() != b.size())
      Add(run.step, absl::StrCat("groups of optimizer ", i),
          absl::StrCat(a.size(), "; now ", b.size()));
    for (size_t g = 0; g < std::min(a.size(), b.size()); ++g) {
      const std::map<std::string, Option> before(a[g].options.begin(), a[g].options.end());
      for (const auto& [name, option] : b[g].options) {
        const auto found = before.find(name);
        if (found != before.end() && found->second == option) continue;
        Add(run.step, absl::StrCat(name, " of optimizer ", i, ", group ", g),
            absl::StrCat(found == before.end() ? "not there" : OptionInWords(found->second),
                         "; now ", OptionInWords(option)));
      }
    }
  }
}

void RunComparison::CompareValues(const StepOfRank& reference, const StepOfRank& run) {
  for (const Values& values : run.values) {
    const SetFacts before(reference, values.moment, values.kind, values.set);
    for (size_t i = 0; i < values.tensors.size(); ++i) {
      const std::string& name = (*values.table)[static_cast<size_t>(values.tensors[i])].name;
      const TensorFact* fact = before.Find(name);
      if (fact == nullptr || fact->fingerprint == values.fingerprints[i]) continue;
      Add(run.step, absl::StrCat(values.set, " ", MomentName(values.moment)),
          absl::StrFormat("first %s: norm %.9g; now %.9g", name, fact->norm, values.norms[i]),
          RelativeDifference(fact->norm, values.norms[i]));
    }
  }
}

void RunComparison::CompareSteps(const StepOfRun& reference, const StepOfRun& run) {
  ++steps_;
  counted_.clear();
  for (const auto& [rank, facts] : run.ranks) {
    const auto other = reference.ranks.find(rank);
    if (other == reference.ranks.end()) continue;
    CompareEvents(rank, *other->second, *facts);
    CompareOptions(*other->second, *facts);
    CompareValues(*other->second, *facts);
  }
}

}  // namespace planproof::monitor
