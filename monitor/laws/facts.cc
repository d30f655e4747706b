#include "monitor/laws/facts.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace planproof::monitor {
namespace {

constexpr int64_t kElementsOfMatrix = 64;

}  // namespace

SetFacts::SetFacts() {
  static const auto* const kEmpty =
      new std::shared_ptr<const Content>(std::make_shared<const Content>());
  content_ = *kEmpty;
}

SetFacts::SetFacts(const StepOfRank& step, Moment moment, TensorSet set, absl::string_view name) {
  if (set != TensorSet::kOther) name = "";
  if (step.found == nullptr) step.found = std::make_shared<FoundFacts>();
  for (const FoundFacts::Set& found : step.found->sets) {
    if (found.moment != moment || found.set != set || found.name != name) continue;
    content_ = found.content;
    return;
  }
  content_ = Read(step, moment, set, name);
  step.found->sets.push_back({moment, set, std::string(name), content_});
}

std::shared_ptr<const SetFacts::Content> SetFacts::Read(const StepOfRank& step, Moment moment,
                                                        TensorSet set, absl::string_view name) {
  auto content = std::make_shared<Content>();
  auto& [facts, by_name] = *content;
  for (const Values& values : step.values) {
    if (values.moment != moment || values.kind != set) continue;
    if (set == TensorSet::kOther && values.set != name) continue;
    facts.reserve(facts.size() + values.tensors.size());
    by_name.reserve(facts.size() + values.tensors.size());
    for (size_t i = 0; i < values.tensors.size(); ++i) Add(values, i, content.get());
  }
  if (std::erase_if(facts, [](const TensorFact& fact) { return fact.tensor == nullptr; }) > 0) {
    by_name.clear();
    for (size_t i = 0; i < facts.size(); ++i) by_name.emplace(facts[i].tensor->name, i);
  }
  return content;
}

void SetFacts::Add(const Values& values, size_t i, Content* content) {
  const HeldTensor& tensor = (*values.table)[static_cast<size_t>(values.tensors[i])];
  const auto [known, inserted] = content->by_name.emplace(tensor.name, content->facts.size());
  if (!inserted) {
    TensorFact& other = content->facts[known->second];
    if (other.fingerprint != values.fingerprints[i]) other.tensor = nullptr;
    return;
  }
  TensorFact fact{.tensor = &tensor,
                  .norm = values.norms[i],
                  .fingerprint = values.fingerprints[i],
                  .finite = std::isfinite(values.norms[i])};
  for (int k = 0; k < kSketches; ++k) {
    fact.sketches[k] = values.sketches[k][i];
    fact.finite = fact.finite && std::isfinite(fact.sketches[k]);
  }
  content->facts.push_back(fact);
}

const TensorFact* SetFacts::Find(absl::string_view name) const {
  const auto& [facts, by_name] = *content_;
  if (next_ >= facts.size() || facts[next_].tensor->name != name) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) return nullptr;
    next_ = found->second;
  }
  return &facts[next_++];
}

ElementFacts ElementsOf(const StepOfRank& step, Moment moment, TensorSet set) {
  ElementFacts facts;
  for (const Elements& elements : step.elements) {
    if (elements.moment != moment || elements.kind != set) continue;
    for (size_t i = 0; i < elements.tensors.size(); ++i) {
      const HeldTensor& tensor = (*elements.table)[static_cast<size_t>(elements.tensors[i])];
      const ElementFact fact{.position = elements.positions[i], .value = elements.values[i]};
      const auto [known, inserted] = facts.emplace(tensor.name, fact);
      if (!inserted &&
          (known->second.value != fact.value || known->second.position != fact.position)) {
        known->second.ambiguous = true;
      }
    }
  }
  return facts;
}

std::vector<std::string> StatesOf(const StepOfRank& step, Moment moment) {
  std::set<std::string> names;
  for (const Values& values : step.values) {
    if (values.moment == moment && values.kind != TensorSet::kParameter &&
        values.kind != TensorSet::kGradient && values.kind != TensorSet::kContribution) {
      names.insert(values.set);
    }
  }
  return {names.begin(), names.end()};
}

int64_t CountEvents(const StepOfRank& step, EventType type) {
  return std::count_if(step.events.begin(), step.events.end(),
                       [type](const Event& event) { return event.type == type; });
}

bool HasEvent(const StepOfRank& step, EventType type) { return CountEvents(step, type) > 0; }

bool HasClosure(const StepOfRank& step) {
  int begun = 0;
  for (const Event& event : step.events) {
    if (event.type == EventType::kOptimizerBegins) ++begun;
    if (event.type == EventType::kOptimizerEnds) --begun;
    if (event.type == EventType::kBackward && begun > 0) return true;
  }
  return false;
}

bool StateIsReplaced(const StepOfRank& step) {
  return HasEvent(step, EventType::kStateLoaded) || HasEvent(step, EventType::kAveraged) ||
         HasEvent(step, EventType::kParameterChanged);
}

bool IsMatrix(const HeldTensor& tensor) {
  return !tensor.buffer && tensor.of.size() >= 2 && tensor.local >= kElementsOfMatrix;
}

bool IsWhole(const HeldTensor& tensor) {
  int64_t elements = 1;
  for (const int64_t extent : tensor.of) {
    if (extent == 0) return true;
    if (elements > tensor.local / extent) return false;
    elements *= extent;
  }
  return tensor.local == elements;
}

Alarm LawAlarm(const char* rule, int64_t step, const Header& header, absl::string_view subject,
               std::string statement) {
  Alarm alarm{.tier = Tier::kLaw, .rule = rule, .step = step};
  if (header.world > 1) alarm.ranks = {header.rank};
  alarm.subject = std::string(subject);
  alarm.statement = std::move(statement);
  return alarm;
}

}  // namespace planproof::monitor
