#include "monitor/learned/journal_observer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace planproof::monitor::learned {
namespace {

constexpr size_t kObservedTensorLimit = 20000;  // of one rank; flags of more are not observed
constexpr size_t kObservedCallLimit = 4096;
constexpr size_t kObservedTextLength = 128;
constexpr const char* kTrainingPhase = "with gradients";
constexpr const char* kEvaluationPhase = "without gradients";
constexpr const char* kModelForward = "forward";

const char* YesNo(bool value) { return value ? "yes" : "no"; }

std::string SubjectText(const Event& event) {
  return event.subject == nullptr ? std::string() : *event.subject;
}

const char* PhaseOf(const Event& event) {
  return (event.flags & kGradientsEnabled) != 0 && (event.flags & kInferenceMode) == 0
             ? kTrainingPhase
             : kEvaluationPhase;
}

std::string ValueText(const Option& option) {
  switch (option.kind) {
    case Option::Kind::kNone:
      return "None";
    case Option::Kind::kBool:
      return YesNo(option.number != 0);
    case Option::Kind::kNumber:
      return absl::StrCat(option.number);
    case Option::Kind::kText:
      return option.text;
    case Option::Kind::kNumbers:
      return absl::StrJoin(option.numbers, ", ");
  }
  return "";
}

bool IsNumeric(const Option& option) {
  return option.kind == Option::Kind::kNumber || option.kind == Option::Kind::kNumbers;
}

std::string OptimizerClass(const Run& run, int rank, int32_t optimizer) {
  const auto header = run.headers.find(rank);
  if (header == run.headers.end() || optimizer < 0 || optimizer >= header->second.optimizers.size())
    return "optimizer";
  return header->second.optimizers[optimizer].name;
}

}  // namespace

void JournalObserver::Call(const std::string& phase, const std::string& name, Role role,
                           Rank* rank) {
  to_->Call(rank->stream, phase.empty() ? kNoSymbol : symbols_->Of(phase), symbols_->Of(name),
            role);
  rank->last_call = phase.empty() ? name : absl::StrCat(name, " ", phase);
  if (rank->calls_before.size() < kObservedCallLimit) rank->calls.insert(rank->last_call);
}

void JournalObserver::Attribute(const std::string& phase, const std::string& subject,
                                const std::string& attribute, const std::string& value,
                                ValueKind kind, const Rank& rank) {
  if (value.size() > kObservedTextLength) return;
  to_->Attribute(rank.stream, phase.empty() ? kNoSymbol : symbols_->Of(phase),
                 symbols_->Of(subject), symbols_->Of(attribute), symbols_->Of(value), kind);
}

void JournalObserver::Observe(const Run& run, const StepOfRun& step) {
  for (const auto& [number, of_rank] : step.ranks) ObserveRank(run, number, *of_rank);
}

void JournalObserver::ObserveRank(const Run& run, int number, const StepOfRank& step) {
  Rank& rank = ranks_[number];
  if (!rank.known) {
    rank.known = true;
    rank.stream = static_cast<int>(ranks_.size()) - 1;
    if (const auto header = run.headers.find(number); header != run.headers.end()) {
      to_->Part(symbols_->Of(header->second.program), false);
      for (const OptimizerOfRun& optimizer : header->second.optimizers) {
        to_->Part(symbols_->Of(optimizer.class_name), true);
      }
    }
  }
  to_->Step(rank.stream, number, step.step);
  for (const Event& event : step.events) ObserveEvent(event, step, &rank);
  if (!step.complete) {  // nothing but what comes after the last step
    to_->CloseStep(rank.stream, true);
    return;
  }
  ObserveTensors(step, &rank);
  ObserveOptions(run, number, step, &rank);
  ObserveBatch(step, &rank);
  rank.calls_before.merge(rank.calls);
  rank.calls.clear();
  to_->CloseStep(rank.stream, step.left_out);
}

void JournalObserver::ObserveEvent(const Event& event, const StepOfRank& step, Rank* rank) {
  const std::string subject = SubjectText(event);
  switch (event.type) {
    case EventType::kZeroGrad:
      return Call("", absl::StrCat("zero_grad of ", subject), Role::kClear, rank);
    case EventType::kForwardBegins:
      return ObserveForward(event, rank);
    case EventType::kBackward:
      Attribute("", "backward", "root's grad_fn", subject, ValueKind::kCode, *rank);
      return Call("", "backward", Role::kBackward, rank);
    case EventType::kLossFunction:
      return Call(PhaseOf(event), subject, Role::kLoss, rank);
    case EventType::kClipByNorm:
      return Call("", "clip_grad_norm_", Role::kClip, rank);
    case EventType::kClipByValue:
      return Call("", "clip_grad_value_", Role::kClip, rank);
    case EventType::kOptimizerBegins:
      return Call("", absl::StrCat("step of ", subject), Role::kUpdate, rank);
    case EventType::kSchedulerStep:
      return Call("", absl::StrCat("step of ", subject), Role::kSchedule, rank);
    case EventType::kCollective:
      if (step.sampled) return Call("", subject, Role::kSynchronise, rank);
      return;
    case EventType::kStateRead:
      return Call("", absl::StrCat("state_dict of ", subject), Role::kOther, rank);
    case EventType::kAveraged:
      return Call("", subject, Role::kOther, rank);
    default:
      return;  // numbers, and what has no order
  }
}

void JournalObserver::ObserveForward(const Event& event, Rank* rank) {
  const std::string name = SubjectText(event);
  const std::string phase = PhaseOf(event);
  const std::string subject = name.empty() ? kModelForward : absl::StrCat("forward of ", name);
  Attribute(phase, subject, "training mode", YesNo((event.flags & kTraining) != 0),
            ValueKind::kCode, *rank);
  Attribute(phase, subject, "autocast", YesNo((event.flags & kAutocast) != 0), ValueKind::kCode,
            *rank);
  if (!name.empty()) return;
  Call(phase, subject, Role::kForward, rank);
  if (phase == kTrainingPhase) {
    rank->trained = true;
  } else {
    Attribute(phase, subject, "follows training", YesNo(rank->trained), ValueKind::kCode, *rank);
  }
}

void JournalObserver::ObserveTensors(const StepOfRank& step, Rank* rank) {
  if (step.table == nullptr) return;
  const TensorTable& table = *step.table;
  if (rank->table != step.table.get()) {
    rank->table = step.table.get();
    rank->tensor_names.clear();
    for (const HeldTensor& tensor : table) rank->tensor_names.push_back(symbols_->Of(tensor.name));
  }
  const Symbol trainable = symbols_->Of("requires_grad"), dtype = symbols_->Of("dtype");
  const Symbol memory = symbols_->Of("memory"), own = symbols_->Of("its own");
  for (size_t i = 0; i < table.size() && i < kObservedTensorLimit; ++i) {
    const HeldTensor& tensor = table[i];
    const Symbol name = rank->tensor_names[i];
    to_->Attribute(rank->stream, kNoSymbol, name, dtype, symbols_->Of(tensor.dtype),
                   ValueKind::kCode);
    if (tensor.buffer) continue;
    to_->Attribute(rank->stream, kNoSymbol, name, trainable, symbols_->Of(YesNo(tensor.trainable)),
                   ValueKind::kCode);
    const bool shared = tensor.shared_with.has_value() && *tensor.shared_with >= 0 &&
                        *tensor.shared_with < table.size();
    const Symbol held =
        shared ? symbols_->Of(absl::StrCat("that of ", table[*tensor.shared_with].name)) : own;
    to_->Attribute(rank->stream, kNoSymbol, name, memory, held, ValueKind::kCode);
  }
}

void JournalObserver::ObserveOptions(const Run& run, int number, const StepOfRank& step,
                                     Rank* rank) {
  for (const OptimizerOptions& options : step.options) {
    const std::string subject = OptimizerClass(run, number, options.optimizer);
    std::vector<Symbol> given;
    for (size_t group = 0; group < options.groups.size(); ++group) {
      for (const auto& [name, option] : options.groups[group].options) {
        Attribute("", subject, absl::StrCat("group ", group, " ", name), ValueText(option),
                  IsNumeric(option) ? ValueKind::kNumber : ValueKind::kCode, *rank);
      }
      for (const int32_t tensor : options.groups[group].tensors) {
        if (tensor >= 0 && tensor < rank->tensor_names.size())
          given.push_back(rank->tensor_names[tensor]);
      }
    }
    to_->Given(rank->stream, symbols_->Of(subject), given);
  }
}

void JournalObserver::ObserveBatch(const StepOfRank& step, Rank* rank) {
  std::map<std::string, Input> inputs;
  for (const BatchInput& input : step.batch) {
    const std::string subject = absl::StrCat("batch ", input.name);
    Attribute("", subject, "dtype", input.dtype, ValueKind::kCode, *rank);
    Attribute("", subject, "shape", absl::StrJoin(input.shape, "x"), ValueKind::kNumber, *rank);
    std::vector<std::string> shifts;
    for (const auto& [other, k] : input.shifts)
      shifts.push_back(absl::StrCat(other, " at t + ", k));
    Attribute("", subject, "equals", shifts.empty() ? "none" : absl::StrJoin(shifts, ", "),
              ValueKind::kCode, *rank);
    if (const auto before = rank->inputs.find(input.name); before != rank->inputs.end()) {
      Attribute("", subject, "shape is that of the step before",
                YesNo(before->second.shape == input.shape), ValueKind::kCode, *rank);
      Attribute("", subject, "content is that of the step before",
                YesNo(before->second.fingerprint == input.fingerprint), ValueKind::kCode, *rank);
    }
    inputs[input.name] = {input.fingerprint, input.shape};
  }
  if (!inputs.empty()) rank->inputs = std::move(inputs);
}

// How a run ends is a decision of its program if it ends with a call of its own: what is called
// every so many steps may be the last by accident.
void JournalObserver::End(const Run& run) {
  for (auto& [number, rank] : ranks_) {
    const auto closing = run.closings.find(number);
    if (closing != run.closings.end() && closing->second.as_planned) {
      const bool own = !rank.last_call.empty() && !rank.calls_before.contains(rank.last_call);
      to_->AtEnd(number, closing->second.steps, symbols_->Of("last call"),
                 symbols_->Of(own ? rank.last_call : "one of a step"),
                 own ? ValueKind::kCode : ValueKind::kNumber);
    }
    to_->End(rank.stream);
  }
}

}  // namespace planproof::monitor::learned
