#include "frontend/torch/graph_writer.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "sdfg/status_macros.h"

namespace planproof::frontend::torch {
namespace {

std::string AttributeText(const sdfg::AttributeValue& value) {
  struct Text {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t i) const { return absl::StrCat(i); }
    std::string operator()(const solver::Rational& r) const { return r.ToString(); }
    std::string operator()(const std::string& s) const { return absl::StrCat("\"", s, "\""); }
    std::string operator()(const std::vector<int64_t>& list) const {
      return absl::StrCat("(", absl::StrJoin(list, ","), ")");
    }
  };
  return std::visit(Text(), value);
}

// "train.py:12: loss = model(x)".
sdfg::SourceLocation SourceOf(const std::string& text) {
  sdfg::SourceLocation source;
  const size_t colon = text.find(':');
  const size_t end = colon == std::string::npos ? colon : text.find(':', colon + 1);
  const std::string line =
      colon == std::string::npos ? "" : text.substr(colon + 1, end - colon - 1);
  if (absl::SimpleAtoi(line, &source.line)) {
    source.file = text.substr(0, colon);
    const size_t rest = end == std::string::npos ? end : text.find_first_not_of(' ', end + 1);
    if (rest != std::string::npos) source.text = text.substr(rest);
  } else {
    source.text = text;
  }
  return source;
}

bool ReadsIntegers(const sdfg::IndexFunction& function, int input) {
  return std::any_of(function.nodes.begin(), function.nodes.end(), [&](const sdfg::Node& node) {
    return node.op == sdfg::Op::kIntElement && node.input == input;
  });
}

}  // namespace

absl::StatusOr<Function> FunctionTable::Get(
    const std::string& key, sdfg::Graph* graph,
    const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make) {
  const auto found = functions_.find(key);
  if (found != functions_.end()) return found->second;
  PLAN_ASSIGN_OR_RETURN(sdfg::IndexFunction function, make());
  Function interned = graph->Intern(std::move(function));
  functions_.emplace(key, interned);
  return interned;
}

void GraphWriter::StandAt(const Executed& executed) {
  op_ = executed.op;
  module_ = executed.module;
  phase_ = executed.phase;
  source_ = SourceOf(executed.source);
}

std::string GraphWriter::Place() const {
  std::string place = device_ < 0 ? "reference: " : absl::StrCat("rank ", device_, ": ");
  if (!module_.empty()) absl::StrAppend(&place, module_, ": ");
  absl::StrAppend(&place, op_.empty() ? "the end" : op_);
  if (source_.line > 0) absl::StrAppend(&place, ", at ", source_.file, ":", source_.line);
  return place;
}

std::string GraphWriter::Label() const {
  return module_.empty() ? op_ : absl::StrCat(module_, ": ", op_);
}

std::string GraphWriter::FreshName(const std::string& what) {
  std::string name = module_;
  if (!name.empty()) name += ".";
  name += what;
  if (phase_ == "backward") name += ".backward";
  const int number = names_[name]++;
  if (number > 0) absl::StrAppend(&name, "#", number);
  return name;
}

sdfg::TensorId GraphWriter::AddTensor(std::string name, sdfg::Shape shape, sdfg::DType dtype,
                                      sdfg::TensorRole role) {
  sdfg::Tensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  tensor.dtype = dtype;
  tensor.role = role;
  tensor.device = device_;
  tensor.source = source_;
  return graph_->AddTensor(std::move(tensor));
}

absl::Status GraphWriter::WithoutMeaning(const std::string& name, const std::string& why) const {
  return absl::UnimplementedError(absl::StrCat(Place(), ": ", name,
                                               " of these operands has no declared meaning: ", why,
                                               "; see docs/torch-operators.md"));
}

absl::StatusOr<std::vector<sdfg::TensorId>> GraphWriter::AddOperator(
    const std::string& name, Function function, const std::vector<sdfg::TensorId>& inputs,
    sdfg::OperatorKind kind, const std::vector<sdfg::Device>& group) {
  bool fits = inputs.size() == function->inputs.size();
  for (size_t i = 0; fits && i < inputs.size(); ++i) {
    const sdfg::Tensor& input = tensor(inputs[i]);
    fits = input.shape == function->inputs[i].shape &&
           !(sdfg::IsFloating(input.dtype) && ReadsIntegers(*function, static_cast<int>(i)));
  }
  if (!fits) return WithoutMeaning(name, "they have other shapes or types than it reads");
  sdfg::Operator op;
  op.name = name;
  op.kind = kind;
  op.inputs = inputs;
  op.source = source_;
  op.label = Label();
  op.group = group;
  if (device_ >= 0) op.devices = {device_};
  for (const std::string& text : function->assumptions) assumptions_.insert(text);
  const std::string base = FreshName(name);
  for (size_t o = 0; o < function->outputs.size(); ++o) {
    const sdfg::FunctionOutput& output = function->outputs[o];
    op.outputs.push_back(AddTensor(o == 0 ? base : absl::StrCat(base, ".", output.name),
                                   output.shape(function->vars), output.dtype));
  }
  op.function = std::move(function);
  std::vector<sdfg::TensorId> outputs = op.outputs;
  graph_->AddOperator(std::move(op));
  return outputs;
}

absl::StatusOr<std::vector<sdfg::TensorId>> GraphWriter::Apply(
    const std::string& name, const std::vector<Argument>& arguments,
    const sdfg::Attributes& attributes) {
  std::string key = name;
  std::vector<sdfg::Operand> operands;
  std::vector<sdfg::TensorId> inputs;
  for (const Argument& argument : arguments) {
    sdfg::Operand operand;
    if (argument.tensor != sdfg::kNone) {
      operand.shape = tensor(argument.tensor).shape;
      operand.dtype = tensor(argument.tensor).dtype;
      inputs.push_back(argument.tensor);
      absl::StrAppend(&key, " ", sdfg::DTypeName(operand.dtype), "[",
                      absl::StrJoin(operand.shape, ","), "]");
    } else if (argument.literal) {
      operand.kind = sdfg::Operand::Kind::kLiteral;
      operand.literal = *argument.literal;
      absl::StrAppend(&key, " ", argument.literal->ToString());
    } else {
      operand.kind = sdfg::Operand::Kind::kAbsent;
      key += " -";
    }
    operands.push_back(std::move(operand));
  }
  for (const auto& [attribute, value] : attributes) {
    absl::StrAppend(&key, " ", attribute, "=", AttributeText(value));
  }
  absl::StatusOr<Function> function = functions_->Get(
      key, graph_, [&] { return operators_->Instantiate(name, operands, attributes); });
  // The operands are those of a program that ran: it is the declaration that does not fit them.
  if (absl::IsInvalidArgument(function.status())) {
    return WithoutMeaning(name, std::string(function.status().message()));
  }
  if (!function.ok()) {
    return absl::Status(function.status().code(),
                        absl::StrCat(Place(), ": ", function.status().message()));
  }
  return AddOperator(name, *std::move(function), inputs, sdfg::OperatorKind::kCompute, {});
}

absl::StatusOr<sdfg::TensorId> GraphWriter::Emit(
    const std::string& name, const std::string& key,
    const std::function<absl::StatusOr<sdfg::IndexFunction>()>& make,
    const std::vector<sdfg::TensorId>& inputs, sdfg::OperatorKind kind,
    const std::vector<sdfg::Device>& group) {
  absl::StatusOr<Function> function = functions_->Get(key, graph_, make);
  if (absl::IsInvalidArgument(function.status())) {
    return WithoutMeaning(name, std::string(function.status().message()));
  }
  if (!function.ok()) {
    return absl::Status(function.status().code(),
                        absl::StrCat(Place(), ": ", name, ": ", function.status().message()));
  }
  PLAN_ASSIGN_OR_RETURN(const std::vector<sdfg::TensorId> outputs,
                        AddOperator(name, *std::move(function), inputs, kind, group));
  return outputs[0];
}

absl::StatusOr<sdfg::TensorId> GraphWriter::View(sdfg::TensorId id, const Strided& source,
                                                 const Strided& view) {
  if (SamePositions(source, view)) return id;
  const sdfg::DType dtype = tensor(id).dtype;
  if (view.empty()) return Fill(view.shape, dtype, 0);
  Strided from = source, to = view;  // equal views at other offsets have one function
  to.offset -= from.offset;
  from.offset = 0;
  return Emit("view", absl::StrCat("view ", sdfg::DTypeName(dtype), TextOf(from), TextOf(to)),
              [&] { return ReadFunction(from, to, dtype); }, {id});
}

absl::StatusOr<sdfg::TensorId> GraphWriter::Reshape(sdfg::TensorId id, const sdfg::Shape& shape) {
  const sdfg::Shape from = tensor(id).shape;
  return View(id, Contiguous(0, from), Contiguous(0, shape));
}

absl::StatusOr<sdfg::TensorId> GraphWriter::Fill(const sdfg::Shape& shape, sdfg::DType dtype,
                                                 const solver::Rational& value) {
  const std::string key = absl::StrCat("fill ", sdfg::DTypeName(dtype), "[",
                                       absl::StrJoin(shape, ","), "] ", value.ToString());
  return Emit("full", key,
              [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                sdfg::IndexFunctionBuilder builder("full");
                const int output = builder.AddOutput("y", shape, dtype);
                int64_t whole = 0;
                if (!sdfg::IsFloating(dtype) && !HoldsExactly(dtype, value)) {
                  return absl::InternalError(absl::StrCat(
                      "a tensor of ", sdfg::DTypeName(dtype), " is filled with ", value.ToString(),
                      " without a conversion; this is a fault of the reader"));
                }
                if (sdfg::IsInteger(dtype)) value.ToInt64(&whole);
                builder.SetBody(output,
                                sdfg::IsInteger(dtype) ? builder.Int(whole) : builder.Real(value));
                sdfg::IndexFunction function;
                PLAN_RETURN_IF_ERROR(builder.Finish(&function));
                return function;
              },
              {});
}

absl::StatusOr<sdfg::TensorId> GraphWriter::Extreme(bool negative) {
  return Emit("full", negative ? "fill -inf" : "fill inf",
              [&]() -> absl::StatusOr<sdfg::IndexFunction> {
                sdfg::IndexFunctionBuilder builder("full");
                const int output = builder.AddOutput("y", sdfg::Shape{}, sdfg::DType::kFloat32);
                builder.SetBody(output, negative ? builder.NegInf()
                                                 : builder.Binary(sdfg::Op::kDiv, builder.Real(1),
                                                                  builder.Real(0)));
                sdfg::IndexFunction function;
                PLAN_RETURN_IF_ERROR(builder.Finish(&function));
                return function;
              },
              {});
}

absl::StatusOr<sdfg::TensorId> GraphWriter::MinusInfinity() { return Extreme(true); }

absl::StatusOr<sdfg::TensorId> GraphWriter::NoNumber() { return Extreme(false); }

Argument GraphWriter::Meant(const solver::Rational& literal, const solver::Rational& meant) {
  Assume(absl::StrFormat("the number %.17g stands for %s / %s", literal.ToDouble(),
                         meant.Numerator(), meant.Denominator()));
  Argument number = Argument::Number(meant);
  number.error = 1.001 * std::abs((meant - literal).ToDouble());
  return number;
}

}  // namespace planproof::frontend::torch
