#include "report/journal_text.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "monitor/journal/words.h"
#include "report/text_layout.h"

namespace planproof::report {
namespace {

using monitor::Event;
using monitor::EventType;
using monitor::HeldTensor;

struct FlagWord {
  uint16_t bit;
  const char* word;
};

std::vector<FlagWord> FlagsOf(EventType type) {
  switch (type) {
    case EventType::kZeroGrad:
      return {{monitor::kSetToNone, "set to None"}};
    case EventType::kForwardBegins:
    case EventType::kForwardEnds:
    case EventType::kModuleOutput:
    case EventType::kLossFunction:
      return {{monitor::kTraining, "training"},
              {monitor::kGradientsEnabled, "gradients"},
              {monitor::kInferenceMode, "inference"},
              {monitor::kAutocast, "autocast"}};
    case EventType::kBackward:
      return {{monitor::kGradientGiven, "gradient given"}, {monitor::kScalarRoot, "scalar"}};
    case EventType::kCollective:
      return {{monitor::kWithinBackward, "within backward"}};
    default:
      return {};
  }
}

std::string EventText(const Event& event) {
  std::string line = absl::StrCat("    ", monitor::EventName(event.type));
  if (event.subject != nullptr && !event.subject->empty())
    absl::StrAppend(&line, " ", OneLine(*event.subject));
  std::vector<std::string> flags;
  for (const FlagWord& flag : FlagsOf(event.type)) {
    if ((event.flags & flag.bit) != 0) flags.push_back(flag.word);
  }
  if (!flags.empty()) absl::StrAppend(&line, " (", absl::StrJoin(flags, ", "), ")");
  if (event.a != 0) absl::StrAppend(&line, absl::StrFormat(" a %.9g", event.a));
  if (event.b != 0) absl::StrAppend(&line, absl::StrFormat(" b %.9g", event.b));
  if (event.c != 0) absl::StrAppend(&line, " c ", event.c);
  return line + "\n";
}

std::string OptionText(const monitor::Option& option) {
  switch (option.kind) {
    case monitor::Option::Kind::kNone:
      return "none";
    case monitor::Option::Kind::kBool:
      return option.number != 0 ? "true" : "false";
    case monitor::Option::Kind::kNumber:
      return absl::StrFormat("%.9g", option.number);
    case monitor::Option::Kind::kText:
      return OneLine(option.text, 60);
    case monitor::Option::Kind::kNumbers: {
      std::vector<std::string> numbers;
      for (const double number : option.numbers) numbers.push_back(absl::StrFormat("%.9g", number));
      return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]");
    }
  }
  return "";
}

std::string OptionsText(const monitor::OptimizerOptions& options) {
  std::string text;
  for (size_t i = 0; i < options.groups.size(); ++i) {
    const monitor::ParameterGroup& group = options.groups[i];
    std::vector<std::string> parts;
    for (const auto& [name, value] : group.options)
      parts.push_back(absl::StrCat(OneLine(name, 60), " ", OptionText(value)));
    absl::StrAppend(&text, "    optimizer ", options.optimizer, " group ", i, ": ",
                    group.tensors.size(), " tensors, ", absl::StrJoin(parts, ", "), "\n");
  }
  return text;
}

std::string ValuesText(const monitor::Values& values) {
  std::string text;
  for (size_t i = 0; i < values.tensors.size(); ++i) {
    const HeldTensor& tensor = (*values.table)[static_cast<size_t>(values.tensors[i])];
    absl::StrAppend(&text, "    ", monitor::MomentName(values.moment), " ", OneLine(values.set, 60),
                    " ", OneLine(tensor.name), absl::StrFormat(" norm %.9g", values.norms[i]),
                    absl::StrFormat(" sketch %.9g", values.sketches[0][i]),
                    absl::StrFormat(" bits %016x\n", values.fingerprints[i]));
  }
  return text;
}

std::string ElementsText(const monitor::Elements& elements) {
  std::string text;
  for (size_t i = 0; i < elements.tensors.size(); ++i) {
    const HeldTensor& tensor = (*elements.table)[static_cast<size_t>(elements.tensors[i])];
    const bool number = elements.positions[i] == monitor::kNumberOfOptimizer;
    absl::StrAppend(&text, "    ", monitor::MomentName(elements.moment), " ",
                    OneLine(elements.set, 60), " ", OneLine(tensor.name),
                    number ? " number" : absl::StrCat("[", elements.positions[i], "]"),
                    absl::StrFormat(" %.9g\n", elements.values[i]));
  }
  return text;
}

std::string InputText(const monitor::BatchInput& input) {
  std::vector<std::string> shifts;
  for (const auto& [other, k] : input.shifts)
    shifts.push_back(absl::StrCat(", is ", OneLine(other, 60), " at +", k));
  return absl::StrCat("    input ", OneLine(input.name, 60), " ", OneLine(input.dtype, 20), " [",
                      absl::StrJoin(input.shape, ", "), "] ",
                      absl::StrFormat("%016x", input.fingerprint), absl::StrJoin(shifts, ""), "\n");
}

}  // namespace

std::string JournalHeaderText(const monitor::Header& header) {
  std::string text =
      absl::StrCat("rank ", header.rank, " of ", header.world, ", every ", header.every, ", torch ",
                   OneLine(header.torch, 60), ", ", OneLine(header.device, 60), "\n");
  for (const monitor::OptimizerOfRun& optimizer : header.optimizers) {
    absl::StrAppend(&text, "  optimizer ", OneLine(optimizer.name), " ",
                    OneLine(optimizer.class_name), "\n");
  }
  absl::StrAppend(&text, "  ", header.modules.size(), " modules, program ",
                  OneLine(header.program, 80), "\n");
  return text;
}

std::string JournalTableText(const monitor::TensorTable& table) {
  std::string text;
  for (size_t i = 0; i < table.size(); ++i) {
    const HeldTensor& tensor = table[i];
    absl::StrAppend(&text, "  tensor ", i, " ", OneLine(tensor.name), " ",
                    OneLine(tensor.dtype, 20), " [", absl::StrJoin(tensor.of, ", "), "] here ",
                    tensor.local, tensor.buffer ? " buffer" : (tensor.trainable ? "" : " frozen"));
    if (tensor.shared_with.has_value()) absl::StrAppend(&text, " is tensor ", *tensor.shared_with);
    if (!tensor.replicas.empty()) absl::StrAppend(&text, " replicas ", Ranges(tensor.replicas));
    text += "\n";
  }
  return text;
}

std::string JournalStepText(const monitor::StepOfRank& step, bool values) {
  std::string text = absl::StrFormat("  step %d at %.6f s", step.step, 1e-9 * step.time);
  if (step.sampled) text += ", sampled";
  if (step.left_out) text += ", left out by the loss scaler";
  if (!step.complete) text += ", not complete";
  text += "\n";
  for (const Event& event : step.events) text += EventText(event);
  for (const monitor::BatchInput& input : step.batch) text += InputText(input);
  if (!values) return text;
  for (const monitor::OptimizerOptions& options : step.options) text += OptionsText(options);
  for (const monitor::Values& one : step.values) text += ValuesText(one);
  for (const monitor::Elements& one : step.elements) text += ElementsText(one);
  return text;
}

}  // namespace planproof::report
