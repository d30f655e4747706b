// Backward operators of a program, derived from the forward operator that they name.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "frontend/plan/program_builder.h"
#include "frontend/plan/remedies.h"
#include "sdfg/coordinate_functions.h"
#include "sdfg/narrow_types.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {

using sdfg::TensorId;

namespace {

bool IsReal(const sdfg::Tensor& tensor) {
  return !sdfg::IsInteger(tensor.dtype) && tensor.dtype != sdfg::DType::kBool;
}

// Operands that `key` means: all that carry the name, or the one of that number.
std::vector<int> OperandsNamed(const ForwardRecord& forward, const std::string& key) {
  std::vector<int> found;
  for (size_t i = 0; i < forward.input_names.size(); ++i) {
    if (forward.input_names[i] == key) found.push_back(static_cast<int>(i));
  }
  if (found.empty() && !key.empty() && key.size() < 5 &&
      key.find_first_not_of("0123456789") == std::string::npos) {
    const int number = std::stoi(key);
    if (number < static_cast<int>(forward.input_names.size())) found.push_back(number);
  }
  return found;
}

}  // namespace

absl::StatusOr<sdfg::FunctionPointer> PlanBuilder::Sum(TensorId like, int count) {
  const sdfg::Shape local = Local(like);
  const sdfg::DType dtype = problem_.parallel.tensors[like].dtype;
  sdfg::FunctionKey key("add");
  key.List(local).Number(static_cast<int64_t>(dtype)).Number(count);
  return functions_.Get(key.Take(), [&] { return sdfg::AddAll(local, dtype, count); });
}

absl::StatusOr<Definitions> PlanBuilder::BuildBackward(ProgramState* state, const Operator& op,
                                                       const Position& position) {
  const auto record = state->forward.find(op.backward());
  if (record == state->forward.end()) {
    for (const Operator& other : state->program->operators()) {
      if (NameOf(other) != op.backward() || !IsCollective(other)) continue;
      return At(
          position,
          absl::StrCat("\"", op.backward(), "\" comes from ", other.op(),
                       ": the backward of a collective is not derived; write the collective ",
                       "that it runs, or none where all ranks use \"", op.backward(), "\" alike"));
    }
    return At(position, absl::StrCat("\"backward\": program \"", state->name,
                                     "\" has run no local operator named \"", op.backward(), "\"",
                                     DidYouMean(op.backward(), NamesOf(state->forward))));
  }
  const ForwardRecord& forward = record->second;
  std::vector<TensorId> inputs = forward.inputs;
  if (op.inputs_size() > 0) {  // recomputed or moved activations in place of the forward's
    if (op.inputs_size() != static_cast<int>(inputs.size())) {
      return At(position, absl::StrCat("\"in\" has ", op.inputs_size(), " tensors, ",
                                       forward.call->op, " reads ", inputs.size()));
    }
    for (int i = 0; i < op.inputs_size(); ++i) {
      if (op.inputs(i).kind_case() != Operand::kTensor) {
        return At(position, "\"in\" of a backward operator lists tensors");
      }
      absl::StatusOr<TensorId> input = Lookup(state, op.inputs(i).tensor(), false);
      if (!input.ok()) return At(position, input.status());
      if (Local(*input) != Local(inputs[i])) {
        return At(position, absl::StrCat("shape mismatch: ", op.inputs(i).tensor(), " has shape ",
                                         ShapeText(Local(*input)), ", ", forward.input_names[i],
                                         " of the forward operator ", ShapeText(Local(inputs[i]))));
      }
      const sdfg::DType given = problem_.parallel.tensors[*input].dtype;
      const sdfg::DType wanted = problem_.parallel.tensors[inputs[i]].dtype;
      if (!sdfg::SameArithmetic(given, wanted)) {
        return At(position, absl::StrCat("element types differ: ", op.inputs(i).tensor(), " holds ",
                                         sdfg::DTypeName(given), ", ", forward.input_names[i],
                                         " of the forward operator ", sdfg::DTypeName(wanted)));
      }
      inputs[i] = *input;
    }
  }
  for (const Binding& binding : op.gradients()) {
    if (std::find(forward.output_names.begin(), forward.output_names.end(), binding.key()) ==
        forward.output_names.end()) {
      return At(position, absl::StrCat("\"grad\": ", op.backward(), " has no output \"",
                                       binding.key(), "\""));
    }
  }
  std::vector<int> output_gradients;
  std::vector<TensorId> operands = inputs;
  const sdfg::IndexFunction& model = forward.call->variants[0];
  for (size_t o = 0; o < forward.output_names.size(); ++o) {
    std::string name;
    for (const Binding& binding : op.gradients()) {
      if (binding.key() == forward.output_names[o]) name = binding.value();
    }
    if (name.empty()) {
      name = absl::StrCat("grad.", forward.output_names[o]);
      if (forward.output_names.size() > 1 && state->scope.count(name) == 0) continue;
    }
    absl::StatusOr<TensorId> gradient = Lookup(state, name, false);
    if (!gradient.ok()) {
      // A gradient of another name, unless the one of this name is only missing or late.
      const auto model_has = logical_.names.find(name);
      const bool seed = model_has != logical_.names.end() &&
                        problem_.logical.tensors[model_has->second].producer == sdfg::kNone;
      const bool other = name == absl::StrCat("grad.", forward.output_names[o]) && !seed &&
                         state->all_names.count(name) == 0 && MadeLater(*state, name).empty();
      return At(position,
                absl::StrCat("backward of ", op.backward(), ": ",
                             std::string(gradient.status().message()),
                             other ? absl::StrCat("; another is named by \"grad\": {\"",
                                                  forward.output_names[o], "\": \"NAME\"}")
                                   : ""));
    }
    const sdfg::Shape wanted = model.outputs[o].shape(model.vars);
    if (Local(*gradient) != wanted) {
      return At(position, absl::StrCat("shape mismatch: gradient ", name, " has shape ",
                                       ShapeText(Local(*gradient)), ", ", forward.output_names[o],
                                       " has ", ShapeText(wanted)));
    }
    output_gradients.push_back(static_cast<int>(o));
    operands.push_back(*gradient);
  }
  if (output_gradients.empty()) {
    return At(position, absl::StrCat("no gradient of an output of ", op.backward(), " is known"));
  }

  // What to produce: (name, operands of the forward operator).
  std::vector<std::pair<std::string, std::vector<int>>> wanted;
  const auto want = [&](const std::string& name, const std::vector<int>& operand) {
    for (auto& [known, list] : wanted) {
      if (known != name) continue;
      list.insert(list.end(), operand.begin(), operand.end());
      return;
    }
    wanted.emplace_back(name, operand);
  };
  for (const Binding& binding : op.produces()) {
    const std::vector<int> found = OperandsNamed(forward, binding.key());
    if (found.empty()) {
      return At(position,
                absl::StrCat("\"out\": ", op.backward(), " reads no \"", binding.key(), "\""));
    }
    want(binding.value(), found);
  }
  if (op.produces_size() == 0) {
    for (size_t i = 0; i < forward.inputs.size(); ++i) {
      const sdfg::Tensor& tensor = problem_.parallel.tensors[forward.inputs[i]];
      const bool wants = tensor.role == sdfg::TensorRole::kIntermediate ||
                         tensor.role == sdfg::TensorRole::kParameter;
      if (wants && IsReal(tensor)) {
        want(absl::StrCat("grad.", forward.input_names[i]), {static_cast<int>(i)});
      }
    }
  }
  std::vector<int> wrt;
  for (const auto& [name, list] : wanted) {
    for (int operand : list) {
      if (!IsReal(problem_.parallel.tensors[forward.inputs[operand]])) {
        return At(position, absl::StrCat(forward.input_names[operand],
                                         " holds integers and has no gradient"));
      }
      wrt.push_back(operand);
    }
  }
  if (wrt.empty()) return At(position, absl::StrCat(op.backward(), " has no operand to derive by"));

  std::vector<AxisList> operand_axes;
  for (TensorId operand : operands) {
    operand_axes.push_back(problem_.parallel.tensors[operand].axes);
  }
  AxisList axes = UnionOfAxes(operands);
  const AxisList& special = forward.call->special;
  axes.insert(axes.end(), special.begin(), special.end());
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  absl::StatusOr<const LocalDerivative*> derivative =
      calls_.DerivativeOf(forward.call, wrt, output_gradients, operand_axes, axes);
  if (!derivative.ok()) return At(position, derivative.status());
  std::vector<std::string> names;
  for (const auto& [name, list] : wanted) {
    for (size_t i = 0; i < list.size(); ++i) {
      names.push_back(list.size() == 1 ? name : absl::StrCat(name, ".", i + 1));
    }
  }
  const sdfg::SourceLocation source = SourceOf(op, position);
  const std::string label = absl::StrCat(op.backward(), ".backward");
  const std::vector<TensorId> ids = AddOperator(
      *state, absl::StrCat(forward.call->op, ".backward"), label, (*derivative)->function,
      special.empty(), axes, operands, names, source, AttributeTexts(op), {});
  problem_.parallel.operators.back().memory.view = (*derivative)->may_be_view;
  Definitions definitions;
  size_t next = 0;
  for (const auto& [name, list] : wanted) {
    TensorId id = ids[next];
    if (list.size() > 1) {
      const std::vector<TensorId> parts(ids.begin() + next, ids.begin() + next + list.size());
      absl::StatusOr<sdfg::FunctionPointer> sum = Sum(id, static_cast<int>(list.size()));
      if (!sum.ok()) return At(position, sum.status());
      id = AddOperator(*state, "add", name, *std::move(sum), true, UnionOfAxes(parts), parts,
                       {name}, source, {}, {})[0];
    }
    next += list.size();
    definitions.emplace_back(name, id);
  }
  return definitions;
}

}  // namespace planproof::plan
