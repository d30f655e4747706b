#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "frontend/plan/index_function_proto.h"
#include "frontend/plan/raw_form.h"
#include "frontend/plan/raw_schedule.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using lineage::LineageKind;
using lineage::Problem;
using PremiseKind = Problem::InputPremise::Kind;

const char* KindText(LineageKind kind) {
  switch (kind) {
    case LineageKind::kNone:
      return "";
    case LineageKind::kFull:
      return "full";
    case LineageKind::kPartialSum:
      return "partial_sum";
    case LineageKind::kPartialMax:
      return "partial_max";
  }
  return "";
}

class Writer {
 public:
  explicit Writer(RawProblem* out) : out_(*out) {}

  absl::Status Run(const Problem& problem) {
    PLAN_RETURN_IF_ERROR(WriteGraph(problem.logical, out_.mutable_logical()));
    PLAN_RETURN_IF_ERROR(WriteGraph(problem.parallel, out_.mutable_parallel()));
    for (const lineage::Lineage& lineage : problem.lineage) {
      WriteLineage(lineage, out_.add_lineage());
    }
    for (const lineage::RequiredRelation& required : problem.required) {
      RawRequired* to = out_.add_required();
      to->set_parallel(required.parallel);
      to->set_what(required.what);
      WriteLineage(required.lineage, to->mutable_lineage());
    }
    for (const Problem::InputPremise& premise : problem.premises) {
      RawPremise* to = out_.add_premises();
      to->set_tensor(premise.tensor);
      to->set_low(premise.low);
      to->set_high(premise.high);
      switch (premise.kind) {
        case PremiseKind::kPositive:
          to->set_kind(Premise::POSITIVE);
          break;
        case PremiseKind::kNonNegative:
          to->set_kind(Premise::NON_NEGATIVE);
          break;
        case PremiseKind::kNonZero:
          to->set_kind(Premise::NON_ZERO);
          break;
        case PremiseKind::kIntegerRange:
          to->set_kind(Premise::INTEGER_RANGE);
          break;
        case PremiseKind::kNoTie:
          to->set_kind(Premise::NO_TIE);
          break;
        case PremiseKind::kRowUnmasked:
          to->set_kind(Premise::ROW_UNMASKED);
          break;
        default:
          return absl::UnimplementedError("a premise that the plan format cannot say");
      }
    }
    for (const auto& [tensor, values] : problem.recorded) {
      RawRecorded* to = out_.add_recorded();
      to->set_tensor(tensor);
      for (const solver::Rational& value : values) to->add_values(value.ToString());
    }
    for (const std::string& text : problem.assumptions) out_.add_assumptions(text);
    for (const std::string& text : problem.warnings) out_.add_warnings(text);
    if (!problem.schedule.programs.empty()) {
      WriteRawSchedule(problem.schedule, out_.mutable_schedule());
    }
    return absl::OkStatus();
  }

 private:
  int32_t StringNumber(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, added] = strings_.emplace(text, out_.strings_size() + 1);
    if (added) out_.add_strings(text);
    return at->second;
  }
  void WriteSource(const sdfg::SourceLocation& source, RawSource* to) {
    to->set_file(StringNumber(source.file));
    to->set_line(source.line);
    to->set_text(StringNumber(source.text));
  }
  int32_t FunctionNumber(const std::shared_ptr<const sdfg::IndexFunction>& function) {
    const auto [at, added] = functions_.emplace(function.get(), out_.functions_size());
    if (added) FunctionToProto(*function, out_.add_functions());
    return at->second;
  }

  absl::Status WriteGraph(const sdfg::Graph& graph, RawGraph* out) {
    for (size_t i = 0; i < graph.axes.size(); ++i) {
      RawAxis* to = out->add_axes();
      to->set_name(graph.axes[i].name);
      to->set_extent(graph.axes[i].extent);
      to->set_kind(static_cast<RawAxisKind>(static_cast<int>(graph.axes[i].kind) + 1));
      if (i < graph.axis_device_stride.size()) {
        to->set_device_stride(graph.axis_device_stride[i]);
      }
    }
    for (const sdfg::Tensor& tensor : graph.tensors) {
      RawTensor* to = out->add_tensors();
      to->set_name(tensor.name);
      for (int64_t extent : tensor.shape) to->add_shape(extent);
      for (sdfg::AxisId axis : tensor.axes) to->add_axes(axis);
      to->set_dtype(sdfg::DTypeName(tensor.dtype));
      switch (tensor.role) {
        case sdfg::TensorRole::kIntermediate:
          to->set_role(ROLE_INTERMEDIATE);
          break;
        case sdfg::TensorRole::kInput:
          to->set_role(ROLE_INPUT);
          break;
        case sdfg::TensorRole::kParameter:
          to->set_role(ROLE_PARAMETER);
          break;
        case sdfg::TensorRole::kBuffer:
          to->set_role(ROLE_BUFFER);
          break;
        case sdfg::TensorRole::kOne:
          to->set_role(ROLE_ONE);
          break;
        case sdfg::TensorRole::kZero:
          to->set_role(ROLE_ZERO);
          break;
      }
      to->set_device(tensor.device + 1);
      WriteSource(tensor.source, to->mutable_source());
    }
    for (const sdfg::Operator& op : graph.operators) {
      if (!op.function) return absl::InvalidArgumentError("an operator has no function");
      RawOperator* to = out->add_operators();
      to->set_name(op.name);
      to->set_function(FunctionNumber(op.function));
      to->set_not_lifted(!op.lifted);
      for (sdfg::TensorId input : op.inputs) to->add_inputs(input);
      for (sdfg::TensorId output : op.outputs) to->add_outputs(output);
      for (sdfg::Device device : op.devices) to->add_devices(device);
      for (const auto& [key, value] : op.attributes) {
        Binding* binding = to->add_attributes();
        binding->set_key(key);
        binding->set_value(value);
      }
      WriteSource(op.source, to->mutable_source());
      to->set_label(op.label);
      to->set_overwrites(op.memory.overwrites + 1);
      to->set_view(op.memory.view);
      to->set_one_pass(op.memory.one_pass);
      to->set_kind(static_cast<RawOperatorKind>(static_cast<int>(op.kind) + 1));
      for (sdfg::Device rank : op.group) to->add_group(rank);
      for (const sdfg::AxisCoordinates& at : op.override_at) {
        RawAxisCoordinates* part = to->add_override_at();
        part->set_axis(at.axis);
        for (int64_t coordinate : at.coordinates) part->add_coordinates(coordinate);
      }
    }
    return absl::OkStatus();
  }

  void WriteLineage(const lineage::Lineage& lineage, RawLineage* to) {
    to->set_kind(KindText(lineage.kind));
    if (lineage.kind == LineageKind::kNone) return;
    to->set_logical(lineage.logical);
    to->set_term(lineage.term);
    to->set_terms(lineage.terms);
    for (const lineage::IndexMap& map : lineage.map) {
      RawIndexMap* out = to->add_map();
      out->set_constant(map.constant);
      for (const lineage::IndexTerm& term : map.terms) {
        RawIndexTerm* part = out->add_terms();
        part->set_dim(term.dim);
        part->set_scale(term.scale);
        part->set_div(term.div);
        part->set_mod(term.mod);
        part->set_offset(term.offset);
        if (!term.gated()) continue;
        RawIndexDigit* gate = part->mutable_gate();
        gate->set_dim(term.gate.dim);
        gate->set_div(term.gate.div);
        gate->set_mod(term.gate.mod);
        gate->set_offset(term.gate.offset);
      }
    }
  }

  RawProblem& out_;
  std::unordered_map<std::string, int32_t> strings_;
  std::unordered_map<const sdfg::IndexFunction*, int32_t> functions_;
};

}  // namespace

absl::Status WriteRawProblem(const Problem& problem, RawProblem* out) {
  return Writer(out).Run(problem);
}

}  // namespace planproof::plan
