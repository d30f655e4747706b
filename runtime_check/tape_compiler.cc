#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime_check/expression.h"
#include "runtime_check/placement.h"
#include "runtime_check/tape.h"
#include "sdfg/stack_room.h"

namespace planproof::runtime_check {
namespace {

using sdfg::Op;
using sdfg::VarId;

// What an instruction costs beside its lanes, in lanes.
constexpr double kDispatch = 4;

std::optional<Code> CodeOf(Op op, bool int_operand) {
  switch (op) {
    case Op::kIntAdd:
      return Code::kIntAdd;
    case Op::kIntScale:
      return Code::kIntScale;
    case Op::kIntDiv:
      return Code::kIntDiv;
    case Op::kIntMod:
      return Code::kIntMod;
    case Op::kWhole:
      return Code::kWhole;
    case Op::kPosition:
      return Code::kPosition;
    case Op::kIndicator:
      return Code::kIndicator;
    case Op::kAdd:
      return Code::kAdd;
    case Op::kMul:
      return Code::kMul;
    case Op::kNeg:
      return Code::kNeg;
    case Op::kDiv:
      return Code::kDiv;
    case Op::kPow:
      return Code::kPow;
    case Op::kExp:
      return Code::kExp;
    case Op::kLog:
      return Code::kLog;
    case Op::kErf:
      return Code::kErf;
    case Op::kSin:
      return Code::kSin;
    case Op::kCos:
      return Code::kCos;
    case Op::kAbs:
      return Code::kAbs;
    case Op::kMax:
      return Code::kMax;
    case Op::kMin:
      return Code::kMin;
    case Op::kIntLess:
      return Code::kIntLess;
    case Op::kIntLessEq:
      return Code::kIntLessEq;
    case Op::kIntEq:
      return Code::kIntEq;
    case Op::kRealLess:
      return Code::kRealLess;
    case Op::kRealLessEq:
      return Code::kRealLessEq;
    case Op::kRealEq:
      return Code::kRealEq;
    case Op::kNonzero:
      return int_operand ? Code::kIntNonzero : Code::kRealNonzero;
    case Op::kNot:
      return Code::kNot;
    default:
      return std::nullopt;
  }
}

absl::Status TooDeep(const sdfg::IndexFunction& function) {
  return absl::UnimplementedError(absl::StrCat("operator ", function.operator_name,
                                               ": its expression nests too deep to be run"));
}

absl::Status TooLarge(const sdfg::IndexFunction& function) {
  return absl::UnimplementedError(
      absl::StrCat("operator ", function.operator_name, ": its elements are beyond 64 bits"));
}

class Compiler {
 public:
  Compiler(const sdfg::IndexFunction& function, const sdfg::FunctionOutput& output, size_t rows,
           Expression expression, Placement placement)
      : f_(function),
        output_(output),
        rows_(rows),
        e_(std::move(expression)),
        p_(std::move(placement)) {}

  absl::StatusOr<Tape> Run() {
    tape_.operator_name = f_.operator_name;
    for (const sdfg::FunctionInput& input : f_.inputs) tape_.input_names.push_back(input.name);
    tape_.int_output = e_.nodes[e_.root()].sort == Sort::kInt;
    variables_.resize(f_.vars.size());
    for (int32_t& reg : variables_) reg = tape_.ints++;
    int64_t stride = 1;
    for (size_t d = output_.dims.size(); d-- > rows_;) {
      const VarId var = output_.dims[d];
      tape_.lane_dimensions.push_back({variables_[var], stride, f_.vars[var].extent});
      if (__builtin_mul_overflow(stride, f_.vars[var].extent, &stride)) return TooLarge(f_);
    }
    if (stride > std::numeric_limits<int64_t>::max() - kLanes) return TooLarge(f_);
    strip_elements_ = stride;
    registers_.assign(e_.nodes.size(), -1);
    if (!EmitRegion(0)) return TooDeep(f_);
    return std::move(tape_);
  }

 private:
  double LanesOf(bool lanes) const {
    return lanes ? static_cast<double>(std::min<int64_t>(strip_elements_, kLanes)) : 1;
  }
  Instruction& Emit(Code code, bool lanes, int32_t out) {
    tape_.work += times_ * (LanesOf(lanes) + kDispatch);
    Instruction& instruction = tape_.code.emplace_back();
    instruction.code = code;
    instruction.lanes = lanes;
    instruction.out = out;
    return instruction;
  }
  int32_t Here() const { return static_cast<int32_t>(tape_.code.size()); }

  int32_t NewRegister(Sort sort) {
    return sort == Sort::kInt ? tape_.ints++ : sort == Sort::kReal ? tape_.reals++ : tape_.truths++;
  }

  // Makes the node the instruction's operand number `at`.
  void SetOperand(NodeId node, int at, Instruction* instruction) {
    (at == 0 ? instruction->a : at == 1 ? instruction->b : instruction->c) = registers_[node];
    if (!p_.by_lane[node]) instruction->uniform |= 1u << at;
  }

  // Emits `inside` once for each position of the variable.
  template <typename Inside>
  bool Loop(Code begin, Code end, int32_t reg, int64_t extent, double steps, Inside inside) {
    const int32_t first = Here();
    Emit(begin, false, reg).value = extent;
    const double outside = times_;
    times_ *= steps;
    if (!inside()) return false;
    tape_.code[first].b = Here();
    Instruction& last = Emit(end, false, reg);
    last.b = first;
    last.value = extent;
    times_ = outside;
    return true;
  }

  bool EmitRegion(RegionId id) {
    if (sdfg::StackIsShort()) return false;
    for (const NodeId node : p_.regions[id].nodes) {
      if (!EmitNode(node)) return false;
    }
    if (id == p_.strip) {
      const NodeId root = e_.root();
      SetOperand(root, 0, &Emit(tape_.int_output ? Code::kStoreInt : Code::kStore, true, -1));
      return true;
    }
    if (id > p_.strip) return true;
    // The chain of the output's dimensions.
    const RegionId next = id + 1;
    if (next == p_.strip) {
      const int64_t strips = (strip_elements_ + kLanes - 1) / kLanes;
      return Loop(Code::kStrip, Code::kEndStrip, -1, strip_elements_, static_cast<double>(strips),
                  [&] { return EmitRegion(next); });
    }
    const VarId var = p_.regions[next].var;
    const int64_t extent = f_.vars[var].extent;
    return Loop(Code::kLoop, Code::kEndLoop, variables_[var], extent, static_cast<double>(extent),
                [&] { return EmitRegion(next); });
  }

  bool EmitNode(NodeId id) {
    const Node& node = e_.nodes[id];
    if (node.form != Form::kOperation) return EmitRead(id, node);
    switch (node.op) {
      case Op::kIntConst:
        registers_[id] = NewRegister(Sort::kInt);
        tape_.int_constants.emplace_back(registers_[id], node.value);
        return true;
      case Op::kReal:
      case Op::kNegInf:
        registers_[id] = NewRegister(Sort::kReal);
        tape_.real_constants.emplace_back(registers_[id], node.real);
        return true;
      case Op::kIndex:
        registers_[id] = variables_[node.var];
        return true;
      case Op::kSum:
      case Op::kReduceMax:
      case Op::kReduceMin:
        return EmitReduction(id, node);
      case Op::kSelect:
      case Op::kAnd:
      case Op::kOr:
        return EmitBranches(id, node);
      case Op::kOpaque:
        return EmitOpaque(id, node);
      default:
        break;
    }
    const bool int_operand = !node.args.empty() && e_.nodes[node.args[0]].sort == Sort::kInt;
    const std::optional<Code> code = CodeOf(node.op, int_operand);
    if (!code) return false;
    registers_[id] = NewRegister(node.sort);
    Instruction& instruction = Emit(*code, p_.by_lane[id], registers_[id]);
    instruction.value = node.value;
    instruction.real = node.real;
    for (size_t i = 0; i < node.args.size(); ++i)
      SetOperand(node.args[i], static_cast<int>(i), &instruction);
    return true;
  }

  bool EmitRead(NodeId id, const Node& node) {
    const Code code = node.form == Form::kMultiplyAdd ? Code::kMultiplyAdd
                      : node.form == Form::kWithin    ? Code::kWithin
                      : node.form == Form::kRead      ? Code::kRead
                                                      : Code::kReadInt;
    registers_[id] = NewRegister(node.sort);
    Instruction& instruction = Emit(code, p_.by_lane[id], registers_[id]);
    const bool reads = node.form == Form::kRead || node.form == Form::kReadInt;
    instruction.value = reads ? node.input : node.value;
    instruction.required = !node.guarded;
    for (size_t i = 0; i < node.args.size(); ++i)
      SetOperand(node.args[i], static_cast<int>(i), &instruction);
    return true;
  }

  bool EmitReduction(NodeId id, const Node& node) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const bool lanes = p_.by_lane[id], sums = node.op == Op::kSum;
    const int32_t result = registers_[id] = NewRegister(Sort::kReal);
    const int32_t block = sums ? NewRegister(Sort::kReal) : -1;
    const int32_t compensation = sums ? NewRegister(Sort::kReal) : -1;
    Emit(Code::kFill, lanes, result).real = sums                        ? 0
                                            : node.op == Op::kReduceMax ? -kInfinity
                                                                        : kInfinity;
    if (sums) Emit(Code::kFill, lanes, block).real = 0;
    if (sums) Emit(Code::kFill, lanes, compensation).real = 0;
    const int64_t extent = f_.vars[node.var].extent;
    const int32_t variable = variables_[node.var];
    const bool emitted =
        Loop(Code::kLoop, Code::kEndLoop, variable, extent, static_cast<double>(extent), [&] {
          if (!EmitRegion(p_.by_operand.at({id, 0}))) return false;
          const Code step = sums                        ? Code::kSumStep
                            : node.op == Op::kReduceMax ? Code::kMaxStep
                                                        : Code::kMinStep;
          Instruction& instruction = Emit(step, lanes, result);
          SetOperand(node.args[0], 0, &instruction);
          instruction.b = block;
          instruction.c = compensation;
          instruction.value = variable;
          return true;
        });
    if (sums) {
      Instruction& instruction = Emit(Code::kSumEnd, lanes, result);
      instruction.b = block;
      instruction.c = compensation;
    }
    return emitted;
  }

  // The region behind a condition, skipped where nothing needs it.
  bool EmitBranch(NodeId owner, int operand, Code skip, NodeId condition) {
    const RegionId region = p_.by_operand.at({owner, operand});
    if (p_.regions[region].nodes.empty()) return true;
    const int32_t jump = Here();
    SetOperand(condition, 0, &Emit(skip, false, -1));
    if (!EmitRegion(region)) return false;
    tape_.code[jump].b = Here();
    return true;
  }

  bool EmitBranches(NodeId id, const Node& node) {
    const NodeId condition = node.args[0];
    registers_[id] = NewRegister(node.sort);
    Code code = node.op == Op::kAnd ? Code::kAnd : Code::kOr;
    if (node.op == Op::kSelect) {
      if (!EmitBranch(id, 1, Code::kSkipIfNone, condition)) return false;
      if (!EmitBranch(id, 2, Code::kSkipIfAll, condition)) return false;
      code = node.sort == Sort::kInt ? Code::kIntSelect : Code::kSelect;
    } else if (!EmitBranch(id, 1, node.op == Op::kAnd ? Code::kSkipIfNone : Code::kSkipIfAll,
                           condition)) {
      return false;
    }
    Instruction& instruction = Emit(code, p_.by_lane[id], registers_[id]);
    for (size_t i = 0; i < node.args.size(); ++i)
      SetOperand(node.args[i], static_cast<int>(i), &instruction);
    return true;
  }

  bool EmitOpaque(NodeId id, const Node& node) {
    const auto number = static_cast<int64_t>(tape_.calls.size());
    tape_.calls.emplace_back();
    OpaqueCall call;
    call.function = OpaqueNamed(node.name);
    call.int_valued = node.sort == Sort::kInt;
    size_t first = 0;
    if (node.var >= 0) {
      first = 1;
      const NodeId body = node.args[0];
      call.row_extent = f_.vars[node.var].extent;
      // Of the whole row: a body may be the same in all lanes although the row is asked for by
      // lane.
      call.row_lanes = p_.by_lane[body] ? kLanes : 1;
      call.int_row = e_.nodes[body].sort == Sort::kInt;
      const int32_t variable = variables_[node.var];
      const bool emitted =
          Loop(Code::kLoop, Code::kEndLoop, variable, call.row_extent,
               static_cast<double>(call.row_extent), [&] {
                 if (!EmitRegion(p_.by_operand.at({id, 0}))) return false;
                 Instruction& keep =
                     Emit(call.int_row ? Code::kKeepInt : Code::kKeepReal, p_.by_lane[body], -1);
                 SetOperand(body, 0, &keep);
                 keep.b = variable;
                 keep.value = number;
                 return true;
               });
      if (!emitted) return false;
    }
    for (size_t i = first; i < node.args.size(); ++i) {
      const NodeId arg = node.args[i];
      call.arguments.push_back(
          {e_.nodes[arg].sort == Sort::kInt, registers_[arg], !p_.by_lane[arg]});
    }
    registers_[id] = NewRegister(node.sort);
    tape_.calls[number] = std::move(call);
    Emit(Code::kOpaque, p_.by_lane[id], registers_[id]).value = number;
    // In each lane it looks at the whole row.
    tape_.work +=
        times_ * LanesOf(p_.by_lane[id]) * static_cast<double>(tape_.calls[number].row_extent);
    return true;
  }

  const sdfg::IndexFunction& f_;
  const sdfg::FunctionOutput& output_;
  const size_t rows_;
  const Expression e_;
  const Placement p_;
  Tape tape_;
  std::vector<int32_t> registers_;  // by node
  std::vector<int32_t> variables_;  // by variable
  int64_t strip_elements_ = 1;
  double times_ = 1;
};

// Dimensions, from the first, in which the lanes of a strip do not differ.
size_t Rows(const sdfg::IndexFunction& function, const std::vector<VarId>& dims) {
  int64_t elements = 1;
  size_t rows = dims.size();
  while (rows > 0 && elements < kLanes) {
    if (__builtin_mul_overflow(elements, function.vars[dims[--rows]].extent, &elements)) break;
  }
  return rows;
}

// Whether the expression is an element of an operand, or 0.
bool MovesOnly(const sdfg::IndexFunction& function, sdfg::ExprId body) {
  std::vector<sdfg::ExprId> work = {body};
  std::vector<bool> seen(function.nodes.size(), false);
  while (!work.empty()) {
    const sdfg::ExprId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const sdfg::Node& node = function.nodes[id];
    if (node.op == Op::kSelect) {
      work.insert(work.end(), {node.args[1], node.args[2]});
    } else if (node.op != Op::kElement && !(node.op == Op::kReal && node.real.IsZero())) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<Tape> Compile(const sdfg::IndexFunction& function, int output) {
  const sdfg::FunctionOutput& target = function.outputs[output];
  const size_t rows = Rows(function, target.dims);
  std::vector<bool> lane(function.vars.size(), false);
  for (size_t d = rows; d < target.dims.size(); ++d) lane[target.dims[d]] = true;
  absl::StatusOr<Expression> expression = Lower(function, output, lane);
  if (!expression.ok()) return expression.status();
  const std::vector<VarId> outer(target.dims.begin(),
                                 target.dims.begin() + static_cast<std::ptrdiff_t>(rows));
  std::optional<Placement> placement = Place(*expression, outer, lane);
  if (!placement) return TooDeep(function);
  absl::StatusOr<Tape> tape =
      Compiler(function, target, rows, *std::move(expression), *std::move(placement)).Run();
  static std::atomic<int64_t> compiled = 0;
  if (tape.ok()) {
    tape->moves_only = MovesOnly(function, target.body);
    tape->number = ++compiled;
  }
  return tape;
}

}  // namespace planproof::runtime_check
