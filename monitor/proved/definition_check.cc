#include "monitor/proved/definition_check.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "monitor/journal/words.h"
#include "monitor/laws/rounding.h"

namespace planproof::monitor {
namespace {

constexpr char kDefinition[] = "definition";
constexpr double kSameFactor = 1e-6;  // relative; options are decimals

class DefinitionComparison {
 public:
  DefinitionComparison(StepView* view, StepFindings* findings) : view_(view), findings_(findings) {}

  void Run() {
    for (const MonitoredTensor& tensor : view_->layout.tensors) {
      for (const SetMonitor& set : tensor.monitor->sets) {
        if (!set.definition) continue;
        for (const auto& [rank, step] : view_->step.ranks) {
          if (step->left_out) continue;
          if (set.kind == SetKind::kNumberState) {
            CompareNumber(tensor, set, rank);
          } else if (set.kind == SetKind::kState) {
            Compare(tensor, set, rank, *step);
          }
        }
      }
    }
  }

 private:
  void CompareNumber(const MonitoredTensor& tensor, const SetMonitor& set, int rank) {
    const LinearDefinition& definition = *set.definition;
    if (definition.terms.size() != 1 || definition.terms[0].set != set.set) return;
    const ElementFact* before = view_->FindNumber(rank, Moment::kBefore, set, tensor.name);
    const ElementFact* after = view_->FindNumber(rank, Moment::kAfter, set, tensor.name);
    if (before == nullptr || after == nullptr) return;
    findings_->Compared(tensor);
    const double expected = definition.terms[0].factor * before->value + definition.constant;
    if (std::abs(after->value - expected) <= kSameFactor * std::abs(expected)) return;
    Fail(tensor, set, rank, expected, after->value, kSameFactor * std::abs(expected));
  }

  void Compare(const MonitoredTensor& tensor, const SetMonitor& set, int rank,
               const StepOfRank& step) {
    const TensorFact* after = view_->Find(rank, Moment::kAfter, set, tensor.name);
    if (after == nullptr || !after->finite) return;
    double expected[kSketches] = {};
    double magnitude = after->norm;
    int bits = after->tensor->significand_bits;
    for (const LinearTerm& term : set.definition->terms) {
      const SetMonitor* of = SetNamed(*tensor.monitor, term.set);
      const TensorFact* fact =
          of == nullptr ? nullptr : view_->Find(rank, Moment::kBefore, *of, tensor.name);
      if (fact == nullptr || !fact->finite) return;
      for (int k = 0; k < kSketches; ++k) expected[k] += term.factor * fact->sketches[k];
      magnitude += std::abs(term.factor) * fact->norm;
      bits = std::min(bits, fact->tensor->significand_bits);
    }
    if (!OptionsAgree(tensor, set, step)) return;
    findings_->Compared(tensor);
    // Each product and sum rounds once; numbers below the smallest normal one lose more.
    const double u = 2 * UnitRoundoff(bits);
    const double lost = SmallestNormal(bits) * std::sqrt(SketchSquare(tensor.of.size())) *
                        static_cast<double>(std::max<int64_t>(after->tensor->local, 1));
    const double tolerance = SketchError(*after->tensor, magnitude, u) + lost;
    for (int k = 0; k < kSketches; ++k) {
      if (std::abs(after->sketches[k] - expected[k]) <= tolerance) continue;
      Fail(tensor, set, rank, expected[k], after->sketches[k], tolerance);
      return;
    }
  }

  static const SetMonitor* SetNamed(const TensorMonitor& monitor, const std::string& name) {
    for (const SetMonitor& set : monitor.sets) {
      if (set.set == name) return &set;
    }
    return nullptr;
  }

  static double FactorOf(const SetMonitor& set, SetKind kind, const TensorMonitor& monitor) {
    for (const LinearTerm& term : set.definition->terms) {
      const SetMonitor* of = SetNamed(monitor, term.set);
      if (of != nullptr && of->kind == kind) return term.factor;
    }
    return 0;
  }

  // The run's options give the factors of the proof. Other options are another definition.
  bool OptionsAgree(const MonitoredTensor& tensor, const SetMonitor& set, const StepOfRank& step) {
    const ParameterGroup* group = GroupOf(tensor.name, step);
    if (group == nullptr) return true;
    const double own = FactorOf(set, SetKind::kState, *tensor.monitor);
    const double decay = FactorOf(set, SetKind::kParameter, *tensor.monitor);
    bool agree = true;
    for (const auto& [name, option] : group->options) {
      const OptionMeaning meaning = MeaningOf(name);
      if (SetFromWord(set.set) == TensorSet::kExpAvg && meaning == OptionMeaning::kBetas) {
        agree = agree && !option.numbers.empty() && Same(option.numbers[0], own);
      }
      if (SetFromWord(set.set) != TensorSet::kMomentumBuffer) continue;
      if (meaning == OptionMeaning::kMomentum) agree = agree && Same(option.number, own);
      if (meaning == OptionMeaning::kWeightDecay) agree = agree && Same(option.number, decay);
    }
    if (agree) return true;
    findings_->notices.push_back({NoticeKind::kDifference, kDefinition, std::nullopt,
                                  absl::StrCat(tensor.name, " ", set.set),
                                  "the optimizer's options are not those of the proof"});
    return false;
  }

  enum class OptionMeaning : uint8_t { kOther, kBetas, kMomentum, kWeightDecay };
  static OptionMeaning MeaningOf(const std::string& name) {
    static const auto* const kMeanings =
        new std::map<std::string, OptionMeaning>{{"betas", OptionMeaning::kBetas},
                                                 {"momentum", OptionMeaning::kMomentum},
                                                 {"weight_decay", OptionMeaning::kWeightDecay}};
    const auto at = kMeanings->find(name);
    return at == kMeanings->end() ? OptionMeaning::kOther : at->second;
  }

  static bool Same(double a, double b) {
    return std::abs(a - b) <= kSameFactor * std::max(std::abs(a), std::abs(b));
  }

  static const ParameterGroup* GroupOf(const std::string& name, const StepOfRank& step) {
    for (const OptimizerOptions& options : step.options) {
      const TensorTable* table = options.table ? options.table.get() : step.table.get();
      if (table == nullptr) continue;
      for (const ParameterGroup& group : options.groups) {
        for (const int32_t tensor : group.tensors) {
          const bool known = tensor >= 0 && tensor < static_cast<int32_t>(table->size());
          if (known && (*table)[static_cast<size_t>(tensor)].name == name) return &group;
        }
      }
    }
    return nullptr;
  }

  void Fail(const MonitoredTensor& tensor, const SetMonitor& set, int rank, double expected,
            double found, double tolerance) {
    std::vector<std::string> terms;
    for (const LinearTerm& term : set.definition->terms) {
      terms.push_back(absl::StrCat(term.factor, " ", term.set));
    }
    if (set.definition->constant != 0) terms.push_back(absl::StrCat(set.definition->constant));
    Alarm alarm;
    alarm.tier = tensor.tier;
    alarm.rule = kDefinition;
    alarm.step = view_->step.step;
    alarm.ranks = {rank};
    alarm.subject = tensor.name;
    alarm.statement =
        absl::StrCat(set.set, " of ", tensor.name, " becomes ", absl::StrJoin(terms, " + "),
                     "; rank ", rank, " has something else after the step");
    alarm.expected = expected;
    alarm.found = found;
    alarm.tolerance = tolerance;
    alarm.place = set.place;
    findings_->failures.push_back({StepStage::kState, set.order, std::move(alarm)});
  }

  StepView* view_;
  StepFindings* findings_;
};

}  // namespace

void CheckDefinitions(StepView* view, StepFindings* findings) {
  DefinitionComparison(view, findings).Run();
}

}  // namespace planproof::monitor
