#include "monitor/learned/learner.h"

#include <algorithm>

namespace planproof::monitor::learned {
namespace {
constexpr size_t kHypothesisLimit = size_t{1} << 18;
constexpr size_t kCallItemLimit = 256;
constexpr size_t kPairLimit = 1024;  // tensors that may be tied
constexpr size_t kPartLimit = size_t{1} << 17;
}  // namespace

void Learner::Part(Symbol part, bool optimizer) {
  std::set<Symbol>& parts = optimizer ? optimizers_ : program_;
  if (part != kNoSymbol && parts.size() < kPartLimit) parts.insert(part);
}

int Learner::ItemNumber(const CallItem& item, Role role) {
  const auto found = item_numbers_.find(item);
  if (found != item_numbers_.end()) return found->second;
  if (items_.size() >= kCallItemLimit) {
    ++left_out_;
    return -1;
  }
  const int number = static_cast<int>(items_.size());
  item_numbers_.emplace(item, number);
  items_.emplace_back(item, role);
  windows_of_.push_back(0);
  first_windows_of_.push_back(0);
  for (auto& row : pair_counts_) row.resize(items_.size());
  pair_counts_.emplace_back(items_.size());
  if (item.phase != kNoSymbol) phases_.insert(item.phase);
  functions_.insert(item.function);
  return number;
}

void Learner::OnWindow(const Window& window) {
  std::vector<int> numbers;
  for (const auto& [item, role] : window.calls) {
    const int number = ItemNumber(item, role);
    if (number >= 0) numbers.push_back(number);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    ++windows_of_[numbers[i]];
    first_windows_of_[numbers[i]] += window.first;
    std::vector<PairCount>& row = pair_counts_[numbers[i]];
    for (size_t j = 0; j < numbers.size(); ++j) {
      ++row[numbers[j]].together;
      row[numbers[j]].in_order += i < j;
      row[numbers[j]].together_in_first += window.first;
    }
  }
}

void Learner::OnInstance(const Instance& instance) {
  const Key key{instance.form, instance.phase, instance.subject, instance.other};
  auto found = counts_.find(key);
  if (found == counts_.end()) {
    if (counts_.size() >= kHypothesisLimit) {
      ++left_out_;
      return;
    }
    const Symbol value = HasValue(instance.form) ? instance.value : yes();
    found = counts_.emplace(key, Count{value, instance.kind}).first;
    if (instance.phase != kNoSymbol) phases_.insert(instance.phase);
    if (instance.form == Form::kEquals) functions_.insert(instance.subject);
  }
  Count& count = found->second;
  if (count.value != instance.value) count.contradicted = true;
  if (instance.kind == ValueKind::kNumber) count.kind = ValueKind::kNumber;
  ++count.support;
}

void Learner::OnGiven(int64_t /*process*/, int64_t /*step*/, Symbol function,
                      absl::Span<const Symbol> subjects) {
  ++calls_of_[function];
  for (const Symbol subject : subjects) {
    if (subject == kNoSymbol) continue;
    const std::pair<Symbol, Symbol> key(function, subject);
    if (given_.size() >= kHypothesisLimit && !given_.contains(key)) {
      ++left_out_;
      continue;
    }
    ++given_[key];
  }
}

void Learner::OnContents(const std::vector<std::pair<Symbol, uint64_t>>& contents) {
  if (pairs_known_) return;
  pairs_known_ = true;
  std::vector<std::pair<uint64_t, Symbol>> by_hash;
  for (const auto& [subject, hash] : contents) by_hash.emplace_back(hash, subject);
  std::sort(by_hash.begin(), by_hash.end());
  for (size_t i = 1; i < by_hash.size() && pairs_.size() < kPairLimit; ++i) {
    if (by_hash[i].first == by_hash[i - 1].first)
      pairs_.emplace_back(by_hash[i - 1].second, by_hash[i].second);
  }
}

std::string Learner::TextOf(Symbol symbol) const {
  return symbol == kNoSymbol ? std::string() : symbols()->Text(symbol);
}

void Learner::AddInstances(LearnedRun* run) const {
  for (const auto& [key, count] : counts_) {
    Hypothesis hypothesis;
    Fact& fact = hypothesis.fact;
    fact.form = key.form;
    fact.phase = TextOf(key.phase);
    fact.subject = TextOf(key.subject);
    fact.other = TextOf(key.other);
    if (HasValue(key.form)) fact.value = TextOf(count.value);
    if (key.form == Form::kSame && fact.other < fact.subject) std::swap(fact.subject, fact.other);
    fact.kind = count.kind;
    fact.support = count.support;
    hypothesis.contradicted = count.contradicted;
    run->hypotheses.push_back(std::move(hypothesis));
  }
}

void Learner::AddGiven(LearnedRun* run) const {
  for (const auto& [key, count] : given_) {
    Hypothesis hypothesis;
    hypothesis.fact.form = Form::kGiven;
    hypothesis.fact.subject = TextOf(key.first);
    hypothesis.fact.other = TextOf(key.second);
    hypothesis.fact.support = count;
    hypothesis.contradicted = count != calls_of_.at(key.first);
    run->hypotheses.push_back(std::move(hypothesis));
  }
}

void Learner::AddCalls(LearnedRun* run) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    for (size_t j = 0; j < items_.size(); ++j) {
      if (i == j || pair_counts_[i][j].together == 0) continue;
      Hypothesis hypothesis;
      Fact& fact = hypothesis.fact;
      fact.form = Form::kWithin;
      fact.phase = TextOf(items_[i].first.phase);
      fact.subject = TextOf(items_[i].first.function);
      fact.other_phase = TextOf(items_[j].first.phase);
      fact.other = TextOf(items_[j].first.function);
      fact.role = items_[j].second;
      fact.support = windows_of_[i];
      const PairCount& count = pair_counts_[i][j];
      const int64_t missing = windows_of_[i] - count.together;
      const int64_t missing_in_first = first_windows_of_[i] - count.together_in_first;
      hypothesis.contradicted = missing != missing_in_first;
      fact.after_first = missing > 0;
      run->hypotheses.push_back(hypothesis);
      fact.form = Form::kBefore;
      fact.after_first = false;
      fact.support = pair_counts_[i][j].together;
      hypothesis.contradicted = pair_counts_[i][j].in_order != pair_counts_[i][j].together;
      if (pair_counts_[i][j].in_order > 0) run->hypotheses.push_back(std::move(hypothesis));
    }
  }
}

LearnedRun Learner::Result(SourceKind source) const {
  LearnedRun run;
  run.source = source;
  run.steps = steps();
  for (const Symbol part : program_) run.program.insert(TextOf(part));
  for (const Symbol part : optimizers_) run.optimizers.insert(TextOf(part));
  for (const Symbol phase : phases_) run.phases.insert(TextOf(phase));
  for (const Symbol function : functions_) run.functions.insert(TextOf(function));
  AddInstances(&run);
  AddGiven(&run);
  AddCalls(&run);
  run.left_out = left_out_ + symbols()->left_out();
  return run;
}

}  // namespace planproof::monitor::learned
