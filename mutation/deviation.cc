#include "mutation/deviation.h"

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mutation/random.h"
#include "mutation/whole_plan.h"
#include "solver/rational.h"

namespace planproof::mutation {
namespace {

using plan::Operand;
using plan::Operator;
using sdfg::TensorId;
using solver::Rational;

constexpr int kMaxDraws = 20000;
constexpr char kRaw[] = ".before";  // temporary tensors of an exception

// The operator that deviates, and what makes its output elsewhere.
struct DeviationPlace {
  const plan::Program* program;
  const Operator* op;
  std::string output;
  TensorId tensor;
};

class Deviator {
 public:
  Deviator(plan::PlanFile* file, const lineage::Problem& problem, uint64_t seed)
      : file_(*file), problem_(problem), graph_(problem.parallel), random_(seed) {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      by_name_[graph_.tensors[t].name] = static_cast<TensorId>(t);
    }
    needed_.assign(graph_.tensors.size(), false);
    for (const auto& relation : problem.required) needed_[relation.parallel] = true;
    for (size_t o = graph_.operators.size(); o-- > 0;) {
      const sdfg::Operator& op = graph_.operators[o];
      if (!std::any_of(op.outputs.begin(), op.outputs.end(),
                       [&](TensorId id) { return id >= 0 && needed_[id]; })) {
        continue;
      }
      for (TensorId id : op.inputs) needed_[id] = true;
    }
  }

  absl::StatusOr<Deviation> Run(const std::string& kind);

 private:
  // What runs instead, appended to `with`, and how to say it; nothing if the kind does not fit.
  using Change = std::optional<std::string> (Deviator::*)(const DeviationPlace&,
                                                          std::vector<Operator>*);
  struct Kind {
    const char* name;
    Change change;
  };
  static const std::vector<Kind>& Kinds();

  std::optional<DeviationPlace> Draw();
  TensorId Find(const std::string& program, const std::string& name) const {
    const bool alone = file_.plan().programs_size() == 1 || name.find(':') != std::string::npos;
    const auto at = by_name_.find(alone ? name : absl::StrCat(program, ":", name));
    return at == by_name_.end() ? sdfg::kNone : at->second;
  }
  bool IsReal(TensorId id) const {
    const sdfg::DType type = graph_.tensors[id].dtype;
    return !sdfg::IsInteger(type) && type != sdfg::DType::kBool;
  }
  sdfg::Shape Local(TensorId id) const {
    const sdfg::Tensor& tensor = graph_.tensors[id];
    return {tensor.shape.begin() + static_cast<int64_t>(tensor.axes.size()), tensor.shape.end()};
  }
  // Two names for one value.
  bool SameLineage(TensorId a, TensorId b) const;
  // The operator with the output of the place under another name and its other outputs, if any,
  // under names of no use.
  Operator Renamed(const DeviationPlace& place) const;
  // A product with a number.
  static Operator Scaled(const std::string& from, const std::string& to, const std::string& by);
  std::string Pick(const std::vector<std::string>& from) {
    return from[random_.Below(from.size())];
  }

  std::optional<std::string> WrongFactor(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> WrongSign(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> Missed(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> LeftOut(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> WrongConstant(const DeviationPlace& place,
                                           std::vector<Operator>* with);
  std::optional<std::string> WrongOffset(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> WrongOperand(const DeviationPlace& place, std::vector<Operator>* with);
  std::optional<std::string> WrongReduction(const DeviationPlace& place,
                                            std::vector<Operator>* with);
  std::optional<std::string> WrongGroup(const DeviationPlace& place, std::vector<Operator>* with);

  plan::PlanFile& file_;
  const lineage::Problem& problem_;
  const sdfg::Graph& graph_;
  Random random_;
  std::map<std::string, TensorId> by_name_;
  std::vector<bool> needed_;
};

const std::vector<Deviator::Kind>& Deviator::Kinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"wrong factor", &Deviator::WrongFactor},     {"wrong sign", &Deviator::WrongSign},
      {"zero instead", &Deviator::Missed},          {"operator left out", &Deviator::LeftOut},
      {"wrong constant", &Deviator::WrongConstant}, {"wrong offset", &Deviator::WrongOffset},
      {"wrong operand", &Deviator::WrongOperand},   {"wrong reduction", &Deviator::WrongReduction},
      {"wrong group", &Deviator::WrongGroup},
  };
  return *kinds;
}

bool Deviator::SameLineage(TensorId a, TensorId b) const {
  const lineage::Lineage &x = problem_.lineage[a], &y = problem_.lineage[b];
  return x.kind == lineage::LineageKind::kFull && y.kind == lineage::LineageKind::kFull &&
         x.logical == y.logical;
}

Operator Deviator::Scaled(const std::string& from, const std::string& to, const std::string& by) {
  Operator scaled;
  scaled.set_op("mul");
  scaled.add_inputs()->set_tensor(from);
  scaled.add_inputs()->set_literal(by);
  scaled.add_outputs(to);
  return scaled;
}

Operator Deviator::Renamed(const DeviationPlace& place) const {
  Operator op = *place.op;
  for (std::string& output : *op.mutable_outputs()) {
    absl::StrAppend(&output, output == place.output ? kRaw : ".unused");
  }
  for (plan::Binding& binding : *op.mutable_produces()) {
    absl::StrAppend(binding.mutable_value(), binding.value() == place.output ? kRaw : ".unused");
  }
  return op;
}

std::optional<std::string> Deviator::WrongFactor(const DeviationPlace& place,
                                                 std::vector<Operator>* with) {
  const std::string factor = Pick({"2", "1/2", "3", "3/2", "3/4"});
  *with = {Renamed(place), Scaled(place.output + kRaw, place.output, factor)};
  return absl::StrCat("its result is multiplied by ", factor);
}

std::optional<std::string> Deviator::WrongSign(const DeviationPlace& place,
                                               std::vector<Operator>* with) {
  *with = {Renamed(place), Scaled(place.output + kRaw, place.output, "-1")};
  return "its result is negated";
}

std::optional<std::string> Deviator::Missed(const DeviationPlace& place,
                                            std::vector<Operator>* with) {
  *with = {Renamed(place), Scaled(place.output + kRaw, place.output, "0")};
  return "its result is zero: the contribution is missing";
}

std::optional<std::string> Deviator::LeftOut(const DeviationPlace& place,
                                             std::vector<Operator>* with) {
  for (const Operand& operand : place.op->inputs()) {
    if (operand.kind_case() != Operand::kTensor) continue;
    const TensorId input = Find(place.program->name(), operand.tensor());
    if (input == sdfg::kNone || !IsReal(input) || Local(input) != Local(place.tensor) ||
        graph_.tensors[input].device != graph_.tensors[place.tensor].device ||
        SameLineage(input, place.tensor)) {
      continue;
    }
    *with = {Scaled(operand.tensor(), place.output, "1")};
    return absl::StrCat("it gives back ", operand.tensor(), " as it is");
  }
  return std::nullopt;
}

std::optional<std::string> Deviator::WrongConstant(const DeviationPlace& place,
                                                   std::vector<Operator>* with) {
  Operator op = *place.op;
  std::vector<std::pair<std::string, std::string*>> constants;
  for (Operand& operand : *op.mutable_inputs()) {
    if (operand.kind_case() == Operand::kLiteral) {
      constants.push_back({"operand", operand.mutable_literal()});
    }
  }
  for (plan::Attribute& attribute : *op.mutable_attributes()) {
    if (attribute.value().kind_case() == plan::AttributeValue::kReal) {
      constants.push_back({attribute.name(), attribute.mutable_value()->mutable_real()});
    }
  }
  if (constants.empty()) return std::nullopt;
  const auto& [name, text] = constants[random_.Below(constants.size())];
  Rational old;
  if (!Rational::Parse(*text, &old) || old.IsZero()) return std::nullopt;
  // What is added to avoid a division by zero is small; elsewhere a half more shows.
  const bool small = old.ToDouble() < 1e-3 && old.ToDouble() > -1e-3;
  const std::string now = (old * (small ? Rational(1000) : Rational(3, 2))).ToString();
  std::string change = absl::StrCat(name, " is ", now, " instead of ", *text);
  *text = now;
  *with = {std::move(op)};
  return change;
}

std::optional<std::string> Deviator::WrongOffset(const DeviationPlace& place,
                                                 std::vector<Operator>* with) {
  Operator op = *place.op;
  bool changed = false;
  for (plan::Attribute& attribute : *op.mutable_attributes()) {
    plan::AttributeValue& value = *attribute.mutable_value();
    if (!absl::StrContains(attribute.name(), "start") &&
        !absl::StrContains(attribute.name(), "stop") &&
        !absl::StrContains(attribute.name(), "end")) {
      continue;
    }
    if (value.kind_case() == plan::AttributeValue::kExpression) {
      value.set_expression(absl::StrCat(value.expression(), " + 1"));
    } else if (value.kind_case() == plan::AttributeValue::kInteger) {
      value.set_integer(value.integer() + 1);
    } else {
      continue;
    }
    changed = true;
  }
  if (!changed) return std::nullopt;
  *with = {std::move(op)};
  return "its range is off by one";
}

std::optional<std::string> Deviator::WrongOperand(const DeviationPlace& place,
                                                  std::vector<Operator>* with) {
  // A root of what may be negative is outside of the specification's domain, not another value.
  if (!place.op->backward().empty() || place.op->op() == "adamw") return std::nullopt;
  std::vector<int> tensors;
  for (int i = 0; i < place.op->inputs_size(); ++i) {
    if (place.op->inputs(i).kind_case() == Operand::kTensor) tensors.push_back(i);
  }
  if (tensors.empty()) return std::nullopt;
  const int which = tensors[random_.Below(tensors.size())];
  const std::string right = place.op->inputs(which).tensor();
  const TensorId usual = Find(place.program->name(), right);
  if (usual == sdfg::kNone || !IsReal(usual)) return std::nullopt;
  std::vector<std::string> others;
  for (const Operator& earlier : place.program->operators()) {
    if (&earlier == place.op) break;
    std::vector<std::string> made(earlier.outputs().begin(), earlier.outputs().end());
    for (const plan::Binding& binding : earlier.produces()) made.push_back(binding.value());
    for (const std::string& name : made) {
      const TensorId other = Find(place.program->name(), name);
      if (other == sdfg::kNone || other == usual || !IsReal(other) ||
          Local(other) != Local(usual) ||
          graph_.tensors[other].axes != graph_.tensors[usual].axes || SameLineage(other, usual)) {
        continue;
      }
      others.push_back(name);
    }
  }
  if (others.empty()) return std::nullopt;
  Operator op = *place.op;
  const std::string wrong = Pick(others);
  op.mutable_inputs(which)->set_tensor(wrong);
  *with = {std::move(op)};
  return absl::StrCat("it reads ", wrong, " instead of ", right);
}

std::optional<std::string> Deviator::WrongReduction(const DeviationPlace& place,
                                                    std::vector<Operator>* with) {
  if (place.op->op() != "all_reduce" || place.op->collective().over_size() == 0) {
    return std::nullopt;
  }
  Operator op = *place.op;
  const std::string old = op.collective().reduce().empty() ? "sum" : op.collective().reduce();
  op.mutable_collective()->set_reduce(old == "sum" ? Pick({"max", "avg"}) : "min");
  const std::string now = op.collective().reduce();
  *with = {std::move(op)};
  return absl::StrCat("it reduces by ", now, " instead of ", old);
}

std::optional<std::string> Deviator::WrongGroup(const DeviationPlace& place,
                                                std::vector<Operator>* with) {
  if (place.op->op() != "all_reduce" || place.op->collective().over_size() != 1) {
    return std::nullopt;
  }
  const TensorId input = Find(place.program->name(), place.op->inputs(0).tensor());
  if (input == sdfg::kNone) return std::nullopt;
  std::vector<std::string> others;
  for (sdfg::AxisId axis : graph_.tensors[input].axes) {
    const std::string& name = graph_.axes[axis].name;
    if (name != place.op->collective().over(0) && name != "microbatch") others.push_back(name);
  }
  if (others.empty()) return std::nullopt;
  Operator op = *place.op;
  const std::string wrong = Pick(others);
  op.mutable_collective()->set_over(0, wrong);
  *with = {std::move(op)};
  return absl::StrCat("it reduces over ", wrong, " instead of ", place.op->collective().over(0));
}

std::optional<DeviationPlace> Deviator::Draw() {
  const auto& programs = file_.plan().programs();
  const plan::Program& program =
      programs[static_cast<int>(random_.Below(static_cast<uint64_t>(programs.size())))];
  if (program.operators_size() == 0) return std::nullopt;
  const Operator& op = program.operators(
      static_cast<int>(random_.Below(static_cast<uint64_t>(program.operators_size()))));
  // A count of at least 1 hides most of what is done to it.
  if (op.op() == "clamp") return std::nullopt;
  std::vector<std::string> outputs(op.outputs().begin(), op.outputs().end());
  for (const plan::Binding& binding : op.produces()) outputs.push_back(binding.value());
  if (outputs.empty()) return std::nullopt;
  DeviationPlace place{&program, &op, Pick(outputs), sdfg::kNone};
  place.tensor = Find(program.name(), place.output);
  if (place.tensor == sdfg::kNone || !IsReal(place.tensor) || !needed_[place.tensor]) {
    return std::nullopt;
  }
  return place;
}

absl::StatusOr<Deviation> Deviator::Run(const std::string& kind) {
  for (int draw = 0; draw < kMaxDraws; ++draw) {
    const Kind& drawn = Kinds()[random_.Below(Kinds().size())];
    if (!kind.empty() && kind != drawn.name) continue;
    const std::optional<DeviationPlace> place = Draw();
    if (!place) continue;
    std::vector<Operator> with;
    const std::optional<std::string> change = (this->*drawn.change)(*place, &with);
    if (!change) continue;
    Deviation result;
    result.kind = drawn.name;
    result.program = place->program->name();
    result.tensor = place->output;
    const sdfg::Tensor& tensor = graph_.tensors[place->tensor];
    const sdfg::Operator& producer = graph_.operators[tensor.producer];
    result.operator_name = absl::StrCat(producer.name, " (", producer.label, ")");
    result.device = tensor.device;
    plan::Exception exception;
    const auto add = [&](const std::string& axis, int64_t value) {
      plan::Coordinate* at = exception.add_at();
      at->set_axis(axis);
      at->add_values(value);
      result.at.push_back({axis, value});
    };
    // One rank: a value for each axis of the mesh that the program does not fix.
    for (size_t a = 0; a < graph_.axes.size(); ++a) {
      const sdfg::Axis& axis = graph_.axes[a];
      const auto& fixed = place->program->devices();
      const bool varies = std::find(tensor.axes.begin(), tensor.axes.end(),
                                    static_cast<sdfg::AxisId>(a)) != tensor.axes.end();
      if (axis.extent < 2 || (axis.kind == sdfg::AxisKind::kMicrobatch && !varies) ||
          std::any_of(fixed.begin(), fixed.end(),
                      [&](const plan::Coordinate& c) { return c.axis() == axis.name; })) {
        continue;
      }
      const int64_t value = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(axis.extent)));
      add(axis.name, value);
      if (axis.kind == sdfg::AxisKind::kMicrobatch) result.microbatch = value;
      if (a < graph_.axis_device_stride.size()) {
        result.device += static_cast<int>(graph_.axis_device_stride[a] * value);
      }
    }
    if (result.at.empty()) continue;  // a single device
    exception.set_replace(place->output);
    for (Operator& op : with) *exception.add_operators() = std::move(op);
    std::vector<std::string> where;
    for (const auto& [axis, value] : result.at) where.push_back(absl::StrCat(axis, " ", value));
    result.what = absl::StrCat(result.kind, ": ", result.operator_name, " of program ",
                               result.program, " on device ", result.device, " (",
                               absl::StrJoin(where, ", "), "): ", *change);
    for (plan::Program& program : *file_.mutable_plan()->mutable_programs()) {
      if (program.name() == result.program) *program.add_exceptions() = exception;
    }
    return result;
  }
  return absl::FailedPreconditionError("no deviation fits anywhere in this plan");
}

}  // namespace

std::vector<std::string> DeviationKinds() {
  return {"wrong factor", "wrong sign",    "zero instead",    "operator left out", "wrong constant",
          "wrong offset", "wrong operand", "wrong reduction", "wrong group"};
}

absl::StatusOr<Deviation> DeviateAtRandom(plan::PlanFile* file, const lineage::Problem& problem,
                                          uint64_t seed, const std::string& kind) {
  return Deviator(file, problem, seed).Run(kind);
}

absl::StatusOr<Deviation> DeviateFiles(const std::vector<std::string>& files,
                                       const lineage::Problem& problem, uint64_t seed,
                                       const std::string& output) {
  absl::StatusOr<plan::PlanFile> whole = ReadWholePlan(files);
  if (!whole.ok()) return whole.status();
  absl::StatusOr<Deviation> result = DeviateAtRandom(&*whole, problem, seed);
  if (!result.ok()) return result;
  const absl::Status written = WriteWholePlan(*whole, output);
  if (!written.ok()) return written;
  return result;
}

}  // namespace planproof::mutation
