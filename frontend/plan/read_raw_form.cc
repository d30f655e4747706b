#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "frontend/plan/index_function_proto.h"
#include "frontend/plan/operator_call.h"
#include "frontend/plan/raw_form.h"
#include "frontend/plan/raw_kinds.h"
#include "frontend/plan/raw_schedule.h"
#include "lineage/map_range.h"
#include "lineage/problem_builder.h"
#include "sdfg/index_function_check.h"
#include "sdfg/limit.h"
#include "sdfg/narrow_types.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using lineage::LineageKind;
using lineage::Problem;
using PremiseKind = Problem::InputPremise::Kind;

constexpr int64_t kMaxEntry = int64_t{1} << 50;

class RawFormReader {
 public:
  explicit RawFormReader(const RawProblem& raw) : raw_(raw) {}

  absl::StatusOr<Problem> Run() {
    for (const RawFunction& function : raw_.functions()) {
      PLAN_ASSIGN_OR_RETURN(sdfg::IndexFunction read, FunctionFromProto(function));
      functions_.push_back(std::move(read));
    }
    PLAN_RETURN_IF_ERROR(ReadGraph(raw_.logical(), &out_.logical));
    PLAN_RETURN_IF_ERROR(ReadGraph(raw_.parallel(), &out_.parallel));
    if (raw_.lineage_size() > raw_.parallel().tensors_size()) {
      return absl::InvalidArgumentError("more lineage entries than parallel tensors");
    }
    for (int i = 0; i < raw_.lineage_size(); ++i) {
      PLAN_ASSIGN_OR_RETURN(lineage::Lineage lineage, ReadLineage(raw_.lineage(i), i));
      out_.Claim(i, std::move(lineage));
    }
    const lineage::ProblemBuilder::Holding holding = {"the plan"};
    for (size_t i = 0; i < out_.parallel.tensors.size(); ++i) {
      if (out_.parallel.tensors[i].producer != sdfg::kNone) continue;
      const auto id = static_cast<sdfg::TensorId>(i);
      PLAN_RETURN_IF_ERROR(out_.RelateInput(id, out_.LineageOf(id), holding));
    }
    for (const RawRequired& required : raw_.required()) {
      if (required.parallel() < 0 ||
          required.parallel() >= static_cast<int>(out_.parallel.tensors.size())) {
        return absl::InvalidArgumentError("a required relation names no tensor");
      }
      PLAN_ASSIGN_OR_RETURN(lineage::Lineage lineage,
                            ReadLineage(required.lineage(), required.parallel()));
      if (lineage.kind != LineageKind::kFull) {
        return absl::InvalidArgumentError(
            absl::StrCat("required relation \"", required.what(), "\" is not full"));
      }
      PLAN_RETURN_IF_ERROR(
          out_.RequireOutput(required.parallel(), std::move(lineage), required.what(), holding));
    }
    PLAN_RETURN_IF_ERROR(ReadPremises());
    PLAN_RETURN_IF_ERROR(ReadRecorded());
    out_.assumptions.assign(raw_.assumptions().begin(), raw_.assumptions().end());
    out_.warnings.assign(raw_.warnings().begin(), raw_.warnings().end());
    if (raw_.has_schedule()) {
      PLAN_ASSIGN_OR_RETURN(out_.schedule, ReadRawSchedule(raw_.schedule(), out_.parallel));
    }
    return out_.Rebuild();
  }

 private:
  absl::StatusOr<sdfg::SourceLocation> ReadSource(const RawSource& from) const {
    sdfg::SourceLocation source;
    for (int number : {from.file(), from.text()}) {
      if (number < 0 || number > raw_.strings_size()) {
        return absl::InvalidArgumentError("a source location names no string");
      }
    }
    if (from.file() > 0) source.file = raw_.strings(from.file() - 1);
    if (from.text() > 0) source.text = raw_.strings(from.text() - 1);
    source.line = from.line();
    return source;
  }

  absl::Status ReadGraph(const RawGraph& from, sdfg::Graph* graph) {
    for (const RawAxis& axis : from.axes()) {
      if (axis.extent() < 1 || axis.device_stride() < 0) {
        return absl::InvalidArgumentError(absl::StrCat("axis ", axis.name(), " is out of range"));
      }
      const int64_t largest = std::max<int64_t>(axis.extent(), axis.device_stride());
      if (largest > (1 << 24)) {
        return sdfg::BeyondLimit(absl::StrCat("devices along axis ", axis.name()), largest, "2^24");
      }
      PLAN_ASSIGN_OR_RETURN(const sdfg::AxisKind kind, ReadAxisKind(axis));
      graph->axes.push_back({axis.name(), axis.extent(), kind});
      graph->axis_device_stride.push_back(axis.device_stride());
    }
    for (const RawTensor& tensor : from.tensors()) {
      sdfg::Tensor to;
      to.name = tensor.name();
      to.shape.assign(tensor.shape().begin(), tensor.shape().end());
      PLAN_RETURN_IF_ERROR(CheckExtents(to.shape));
      to.axes.assign(tensor.axes().begin(), tensor.axes().end());
      PLAN_ASSIGN_OR_RETURN(to.dtype, DTypeFromField(tensor.dtype()));
      if (to.dtype == sdfg::DType::kComplex64 || to.dtype == sdfg::DType::kComplex128) {
        return absl::InvalidArgumentError(
            absl::StrCat("tensor ", to.name, " has complex elements; only real ones are known"));
      }
      switch (tensor.role()) {
        case ROLE_INTERMEDIATE:
          to.role = sdfg::TensorRole::kIntermediate;
          break;
        case ROLE_INPUT:
          to.role = sdfg::TensorRole::kInput;
          break;
        case ROLE_PARAMETER:
          to.role = sdfg::TensorRole::kParameter;
          break;
        case ROLE_BUFFER:
          to.role = sdfg::TensorRole::kBuffer;
          break;
        case ROLE_ONE:
          to.role = sdfg::TensorRole::kOne;
          break;
        case ROLE_ZERO:
          to.role = sdfg::TensorRole::kZero;
          break;
        default:
          return absl::InvalidArgumentError("a tensor has an unknown role");
      }
      if (tensor.device() < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("tensor ", to.name, " is on a device that does not exist"));
      }
      to.device = tensor.device() - 1;
      PLAN_ASSIGN_OR_RETURN(to.source, ReadSource(tensor.source()));
      graph->AddTensor(std::move(to));
    }
    std::vector<std::shared_ptr<const sdfg::IndexFunction>> interned(functions_.size());
    for (const RawOperator& op : from.operators()) {
      sdfg::Operator to;
      to.name = op.name();
      if (op.function() < 0 || op.function() >= static_cast<int>(functions_.size())) {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", op.name(), " names no function"));
      }
      if (!interned[op.function()]) {
        interned[op.function()] = graph->Intern(functions_[op.function()]);
      }
      to.function = interned[op.function()];
      to.lifted = !op.not_lifted();
      to.inputs.assign(op.inputs().begin(), op.inputs().end());
      to.outputs.assign(op.outputs().begin(), op.outputs().end());
      to.devices.assign(op.devices().begin(), op.devices().end());
      for (const Binding& binding : op.attributes()) {
        to.attributes.emplace_back(binding.key(), binding.value());
      }
      PLAN_ASSIGN_OR_RETURN(to.source, ReadSource(op.source()));
      to.label = op.label();
      if (op.overwrites() < 0 || op.overwrites() > op.inputs_size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", op.name(), " overwrites an operand that it does not have"));
      }
      PLAN_RETURN_IF_ERROR(ReadOperatorKind(op, *graph, &to));
      to.memory = {op.overwrites() - 1, op.view(), op.one_pass()};
      for (sdfg::TensorId output : to.outputs) {
        if (output == sdfg::kNone) continue;
        if (output < 0 || output >= static_cast<int>(graph->tensors.size())) {
          return absl::InvalidArgumentError(
              absl::StrCat("operator ", op.name(), " writes a tensor that does not exist"));
        }
      }
      graph->AddOperator(std::move(to));
    }
    PLAN_RETURN_IF_ERROR(graph->Check());
    for (const sdfg::Operator& op : graph->operators) PLAN_RETURN_IF_ERROR(CheckTypes(*graph, op));
    return absl::OkStatus();
  }

  // As in a specification, nothing is computed in a type that wraps around, or in truth values, and
  // integers are computed as such.
  static absl::Status CheckTypes(const sdfg::Graph& graph, const sdfg::Operator& op) {
    for (size_t k = 0; k < op.inputs.size(); ++k) {
      const sdfg::Tensor& tensor = graph.tensors[op.inputs[k]];
      const sdfg::DType expected = op.function->inputs[k].dtype;
      const bool of_integers = sdfg::IsInteger(expected) || expected == sdfg::DType::kBool;
      if (of_integers && sdfg::IsFloating(tensor.dtype)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "operator ", op.name, " takes the elements of tensor ", tensor.name, " for ",
            sdfg::DTypeName(expected), ", its type is ", sdfg::DTypeName(tensor.dtype)));
      }
    }
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      const sdfg::TensorId output = op.outputs[k];
      if (output == sdfg::kNone) continue;
      const sdfg::DType dtype = graph.tensors[output].dtype;
      if (sdfg::IsInteger(dtype) &&
          sdfg::SortsOf(*op.function)[op.function->outputs[k].body] != sdfg::Sort::kInt) {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", op.name, " gives tensor ", graph.tensors[output].name,
                         " real numbers, its type is ", sdfg::DTypeName(dtype)));
      }
      if (sdfg::IsNarrow(dtype) &&
          !sdfg::KeepsNarrow(*op.function, op.function->outputs[k].body, dtype,
                             [&](int input) { return graph.tensors[op.inputs[input]].dtype; })) {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", op.name, " would compute tensor ", graph.tensors[output].name,
                         " in ", sdfg::DTypeName(dtype), "; give it a type that holds its values"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<lineage::Lineage> ReadLineage(const RawLineage& from, int tensor) const {
    lineage::Lineage to;
    if (from.kind().empty()) return to;
    const auto bad = [&](const std::string& what) {
      return absl::InvalidArgumentError(
          absl::StrCat("lineage of ", out_.parallel.tensors[tensor].name, ": ", what));
    };
    if (from.kind() == "full") {
      to.kind = LineageKind::kFull;
    } else if (from.kind() == "partial_sum") {
      to.kind = LineageKind::kPartialSum;
    } else if (from.kind() == "partial_max") {
      to.kind = LineageKind::kPartialMax;
    } else {
      return bad("unknown kind");
    }
    if (from.logical() < 0 || from.logical() >= static_cast<int>(out_.logical.tensors.size())) {
      return bad("names no logical tensor");
    }
    to.logical = from.logical();
    to.term = from.term();
    to.terms = from.terms();
    const sdfg::Shape& logical = out_.logical.tensors[to.logical].shape;
    const sdfg::Shape& local = out_.parallel.tensors[tensor].shape;
    if (from.map_size() != static_cast<int>(logical.size())) return bad("has the wrong rank");
    const bool empty = std::find(local.begin(), local.end(), 0) != local.end();
    for (int d = 0; d < from.map_size(); ++d) {
      lineage::IndexMap map;
      map.constant = from.map(d).constant();
      if (map.constant > kMaxEntry || map.constant < -kMaxEntry) {
        return bad("leaves the logical tensor");
      }
      __int128 low = map.constant;
      __int128 high = map.constant;
      for (const RawIndexTerm& term : from.map(d).terms()) {
        const auto sane = [&](const auto& digit) {
          return digit.dim() >= 0 && digit.dim() < static_cast<int>(local.size()) &&
                 digit.div() >= 1 && digit.div() <= kMaxEntry && digit.mod() >= 0 &&
                 digit.mod() <= kMaxEntry && digit.offset() >= 0 && digit.offset() <= kMaxEntry &&
                 (digit.offset() == 0 ||
                  (digit.mod() > 0 && digit.offset() / digit.div() < digit.mod()));
        };
        if (!sane(term) || term.scale() > kMaxEntry || term.scale() < -kMaxEntry ||
            (term.has_gate() && !sane(term.gate()))) {
          return bad("has a term out of range");
        }
        map.terms.push_back({term.dim(), term.scale(), term.div(), term.mod(), term.offset()});
        if (term.has_gate()) {
          sdfg::IndexDigit& gate = map.terms.back().gate;
          gate = {term.gate().dim(), term.gate().div(), term.gate().mod(), term.gate().offset()};
          if (!empty && gate.Most(local[gate.dim]) > 1) return bad("has a gate beside 0 and 1");
        }
        const int64_t most = empty ? 0 : map.terms.back().Most(local[term.dim()]);
        const __int128 reach = static_cast<__int128>(term.scale()) * most;
        (reach < 0 ? low : high) += reach;
      }
      // Where the sum of what the terms reach is too much: what they reach together.
      if (!empty && (low < 0 || high >= logical[d])) {
        PLAN_RETURN_IF_ERROR(lineage::RangeOfMap(map, local, &low, &high));
        if (low < 0 || high >= logical[d]) return bad("leaves the logical tensor");
      }
      to.map.push_back(std::move(map));
    }
    return to;
  }

  // A tensor that nothing produces is related to a logical one that nothing produces.

  absl::Status ReadPremises() {
    for (const RawPremise& premise : raw_.premises()) {
      if (premise.tensor() < 0 ||
          premise.tensor() >= static_cast<int>(out_.logical.tensors.size())) {
        return absl::InvalidArgumentError("a premise names no tensor");
      }
      const sdfg::Tensor& restricted = out_.logical.tensors[premise.tensor()];
      if (restricted.producer != sdfg::kNone) {  // what is computed has the value that it has
        return absl::InvalidArgumentError(absl::StrCat("a premise restricts ", restricted.name,
                                                       ", which is computed; only inputs may be"));
      }
      Problem::InputPremise to;
      to.tensor = premise.tensor();
      to.low = premise.low();
      to.high = premise.high();
      switch (premise.kind()) {
        case Premise::POSITIVE:
          to.kind = PremiseKind::kPositive;
          break;
        case Premise::NON_NEGATIVE:
          to.kind = PremiseKind::kNonNegative;
          break;
        case Premise::NON_ZERO:
          to.kind = PremiseKind::kNonZero;
          break;
        case Premise::INTEGER_RANGE:
          to.kind = PremiseKind::kIntegerRange;
          break;
        case Premise::NO_TIE:
          to.kind = PremiseKind::kNoTie;
          break;
        case Premise::ROW_UNMASKED:
          to.kind = PremiseKind::kRowUnmasked;
          break;
        default:
          return absl::InvalidArgumentError("an unknown kind of premise");
      }
      if (to.kind == PremiseKind::kIntegerRange && to.low >= to.high) {
        return absl::InvalidArgumentError(absl::StrCat("the range [", to.low, ", ", to.high,
                                                       ") of ", restricted.name, " is empty"));
      }
      out_.premises.push_back(to);
    }
    return absl::OkStatus();
  }

  absl::Status ReadRecorded() {
    for (const RawRecorded& recorded : raw_.recorded()) {
      const int tensor = recorded.tensor();
      if (tensor < 0 || tensor >= static_cast<int>(out_.logical.tensors.size()) ||
          out_.logical.tensors[tensor].producer != sdfg::kNone) {
        return absl::InvalidArgumentError("recorded values are those of no input of the model");
      }
      std::vector<solver::Rational> values(recorded.values_size());
      int64_t count = 1;
      for (int64_t extent : out_.logical.tensors[tensor].shape) {
        if (__builtin_mul_overflow(count, extent, &count)) count = -1;
      }
      bool read = count == recorded.values_size();
      for (int i = 0; i < recorded.values_size(); ++i) {
        read = read && solver::Rational::Parse(recorded.values(i), &values[i]);
      }
      if (!read) {
        return absl::InvalidArgumentError(absl::StrCat("recorded values of ",
                                                       out_.logical.tensors[tensor].name,
                                                       " are not one number for each element"));
      }
      out_.recorded[tensor] = std::move(values);
    }
    return absl::OkStatus();
  }

  const RawProblem& raw_;
  std::vector<sdfg::IndexFunction> functions_;
  lineage::ProblemBuilder out_;
};

}  // namespace

absl::StatusOr<Problem> ReadRawProblem(const RawProblem& raw) { return RawFormReader(raw).Run(); }

}  // namespace planproof::plan
