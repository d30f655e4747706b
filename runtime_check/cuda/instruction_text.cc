#include "runtime_check/cuda/instruction_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/substitute.h"

namespace planproof::runtime_check::cuda {
namespace {

constexpr RegisterSort kInt = RegisterSort::kInt, kReal = RegisterSort::kReal,
                       kTruth = RegisterSort::kTruth;

// Sorts of the result and of the operands a, b, c, as letters i, r, t; '-' for none. `text` is what
// the result is, with $0, $1, $2 for the operands and $3 for the instruction's value; empty for
// instructions that are not of that form.
struct Shape {
  const char* sorts;
  const char* text;
};

Shape ShapeOf(Code code) {
  switch (code) {
    case Code::kMultiplyAdd:
      return {"iii-", "Sum($0, Product($3, $1))"};
    case Code::kIntAdd:
      return {"iii-", "Sum($0, $1)"};
    case Code::kIntScale:
      return {"ii--", "Product($3, $0)"};
    case Code::kIntDiv:
      return {"ii--", "FloorDiv($0, $3)"};
    case Code::kIntMod:
      return {"ii--", "$0 - $3 * FloorDiv($0, $3)"};
    case Code::kWhole:
      return {"ir--", "Nearest((double)$0)"};
    case Code::kIntSelect:
      return {"itii", "$0 ? $1 : $2"};
    case Code::kPosition:
      return {"ri--", "(A)$0"};
    case Code::kIndicator:
      return {"rt--", "$0 ? (A)1 : (A)0"};
    case Code::kAdd:
      return {"rrr-", "$0 + $1"};
    case Code::kMul:
      return {"rrr-", "$0 * $1"};
    case Code::kNeg:
      return {"rr--", "-$0"};
    case Code::kDiv:
      return {"rrr-", "$0 / $1"};
    case Code::kExp:
      return {"rr--", "Exp($0)"};
    case Code::kLog:
      return {"rr--", "Log($0)"};
    case Code::kErf:
      return {"rr--", "Erf($0)"};
    case Code::kSin:
      return {"rr--", "Sin($0)"};
    case Code::kCos:
      return {"rr--", "Cos($0)"};
    case Code::kAbs:
      return {"rr--", "Magnitude($0)"};
    case Code::kMax:
      return {"rrr-", "Larger($0, $1)"};
    case Code::kMin:
      return {"rrr-", "Smaller($0, $1)"};
    case Code::kSelect:
      return {"rtrr", "$0 ? $1 : $2"};
    case Code::kIntLess:
      return {"tii-", "$0 < $1"};
    case Code::kIntLessEq:
      return {"tii-", "$0 <= $1"};
    case Code::kIntEq:
      return {"tii-", "$0 == $1"};
    case Code::kRealLess:
      return {"trr-", "$0 < $1"};
    case Code::kRealLessEq:
      return {"trr-", "$0 <= $1"};
    case Code::kRealEq:
      return {"trr-", "$0 == $1"};
    case Code::kIntNonzero:
      return {"ti--", "$0 != 0"};
    case Code::kRealNonzero:
      return {"tr--", "$0 != 0"};
    case Code::kAnd:
      return {"ttt-", "$0 && $1"};
    case Code::kOr:
      return {"ttt-", "$0 || $1"};
    case Code::kNot:
      return {"tt--", "!$0"};
    // Those with texts of their own.
    case Code::kRead:
      return {"riit", ""};
    case Code::kReadInt:
      return {"iiit", ""};
    case Code::kPow:
      return {"rr--", ""};
    case Code::kFill:
      return {"r---", ""};
    case Code::kSumStep:
      return {"rrrr", ""};
    case Code::kSumEnd:
      return {"r-rr", ""};
    case Code::kMaxStep:
    case Code::kMinStep:
      return {"rr--", ""};
    case Code::kWithin:
      return {"tit-", ""};
    case Code::kLoop:
    case Code::kEndLoop:
      return {"i---", ""};
    case Code::kStrip:
    case Code::kEndStrip:
      return {"----", ""};
    case Code::kSkipIfNone:
    case Code::kSkipIfAll:
      return {"-t--", ""};
    case Code::kKeepReal:
      return {"-ri-", ""};
    case Code::kKeepInt:
      return {"-ii-", ""};
    case Code::kOpaque:
      return {"----", ""};
    case Code::kStore:
      return {"-r--", ""};
    case Code::kStoreInt:
      return {"-i--", ""};
  }
  return {"----", ""};
}

bool SortOf(char letter, RegisterSort* sort) {
  if (letter == '-') return false;
  *sort = letter == 'i' ? kInt : letter == 'r' ? kReal : kTruth;
  return true;
}

Register Int(int32_t number) { return {kInt, number}; }
Register Real(int32_t number) { return {kReal, number}; }

std::string ReadText(const KernelTypes& types, const Instruction& i) {
  const bool integer = types.integer_operands[i.value];
  const char* stored = integer ? "long long" : types.wide ? "double" : "float";
  const char* result = i.code == Code::kRead ? "A" : "long long";
  const std::string element = absl::StrCat("(", result, ")((const ", stored, "*)operand[", i.value,
                                           "])[", Int(i.a).name(), " + ", Int(i.b).name(), "]");
  const Register out{i.code == Code::kRead ? kReal : kInt, i.out};
  if (i.c < 0) return absl::StrCat(out.name(), " = ", element, ";");
  const std::string within = Register{kTruth, i.c}.name();
  std::string text = absl::StrCat(out.name(), " = ", within, " ? ", element, " : ",
                                  i.code == Code::kRead ? "(A)PLANPROOF_NAN" : "-1LL", ";");
  if (i.required) absl::StrAppend(&text, " if (!", within, ") g.failed[0] = ", i.value + 1, ";");
  return text;
}

std::string OpaqueText(const Tape& tape, const Instruction& i) {
  const OpaqueCall& call = tape.calls[i.value];
  const OpaqueFunction& f = call.function;
  const std::string row =
      absl::StrCat("const Row row = {rows + ", RowOffset(tape, i.value),
                   "LL * PLANPROOF_THREADS, PLANPROOF_THREADS, ", call.row_extent, "LL};");
  std::vector<std::string> arguments;
  for (const OpaqueCall::Argument& argument : call.arguments) {
    arguments.push_back(
        absl::StrCat("(double)", Register{argument.is_int ? kInt : kReal, argument.reg}.name()));
  }
  const auto of_one = [&](const char* formula) {
    return absl::StrCat("const double value = ",
                        arguments.empty() ? "0" : absl::Substitute(formula, arguments[0]), ";");
  };
  const auto of_two = [&](const char* formula) {
    return absl::StrCat(
        "const double value = ",
        arguments.size() < 2 ? "0" : absl::Substitute(formula, arguments[0], arguments[1]), ";");
  };
  std::string value;
  switch (f.kind) {
    case OpaqueFunction::Kind::kFloor:
      value = of_one("Floored($0)");
      break;
    case OpaqueFunction::Kind::kCeil:
      value = of_one("-Floored(-($0))");
      break;
    case OpaqueFunction::Kind::kRound:
      value = of_one("RoundedToEven($0)");
      break;
    case OpaqueFunction::Kind::kAbs:
      value = of_one("Magnitude($0)");
      break;
    case OpaqueFunction::Kind::kFloorDivide:
      value = of_two("Floored($0 / $1)");
      break;
    case OpaqueFunction::Kind::kModulo:
      value = of_two("$0 - $1 * Floored($0 / $1)");
      break;
    case OpaqueFunction::Kind::kConstant:
      value = absl::StrCat("const double value = ", RealLiteral(f.constant), ";");
      break;
    case OpaqueFunction::Kind::kTruncate:
      value = of_one("Truncated($0)");
      break;
    case OpaqueFunction::Kind::kTopK:
      value = absl::Substitute(
          "$0 const long long item = Chosen(row, $1, $2LL, $3LL, $4LL, $5); const double value = "
          "item < 0 ? $6 : $7;",
          row, arguments.empty() ? "0.0" : arguments[0], f.k, f.groups, f.kept_groups,
          f.group_by_two ? "true" : "false", call.int_valued ? "-1.0" : "PLANPROOF_NAN",
          call.int_valued ? "(double)item" : "row[item]");
      break;
    case OpaqueFunction::Kind::kReal:  // kernels have no such functions: any will do that is one
    case OpaqueFunction::Kind::kUnknown: {
      value = absl::StrCat("Smooth smooth = {", f.seed, "ull, 0}; smooth.Take(1);");
      if (call.row_extent > 0) {
        absl::StrAppend(&value, " ", row,
                        " for (long long i = 0; i < row.size; ++i) smooth.Take(row[i]);");
      }
      for (const std::string& argument : arguments)
        absl::StrAppend(&value, " smooth.Take(", argument, ");");
      absl::StrAppend(&value, " double value = 0.5 + 0.499 * Sin(smooth.phase);");
      if (call.int_valued) {
        absl::StrAppend(&value, " value = Floored(value * ", std::max<int64_t>(1, call.row_extent),
                        ".0);");
      }
      break;
    }
  }
  const Register out{call.int_valued ? kInt : kReal, i.out};
  return absl::StrCat("{ ", value, " ", out.name(), " = ",
                      call.int_valued ? "Nearest(value)" : "(A)value", "; }");
}

std::string StoreText(const KernelTypes& types, const Instruction& i) {
  const bool whole = i.code == Code::kStoreInt;
  const std::string value = Register{whole ? kInt : kReal, i.a}.name();
  if (types.integer_result) {
    return absl::StrCat("((long long*)g.output)[element] = ",
                        whole ? value : absl::StrCat("Nearest((double)", value, ")"), ";");
  }
  return absl::StrCat("((A*)g.output)[element] = (A)", value, ";");
}

}  // namespace

std::string Register::name() const {
  return absl::StrCat(sort == kInt ? "i" : sort == kReal ? "r" : "t", number);
}

std::string RealLiteral(double value) {
  if (std::isnan(value)) return "PLANPROOF_NAN";
  if (std::isinf(value)) return value > 0 ? "PLANPROOF_INFINITY" : "-PLANPROOF_INFINITY";
  return absl::StrFormat("%.17g%s", value,
                         value == std::trunc(value) && std::fabs(value) < 1e15 ? ".0" : "");
}

int64_t RowOffset(const Tape& tape, int64_t call) {
  int64_t offset = 0;
  for (int64_t before = 0; before < call; ++before) offset += tape.calls[before].row_extent;
  return offset;
}

std::vector<Register> ReadBy(const Tape& tape, const Instruction& i) {
  const char* sorts = ShapeOf(i.code).sorts;
  std::vector<Register> registers;
  const int32_t operands[] = {i.a, i.b, i.c};
  for (int at = 0; at < 3; ++at) {
    Register operand;
    if (operands[at] < 0 || !SortOf(sorts[at + 1], &operand.sort)) continue;
    operand.number = operands[at];
    registers.push_back(operand);
  }
  if (i.code == Code::kSumStep) registers.push_back(Int(static_cast<int32_t>(i.value)));
  if (i.code == Code::kSumStep || i.code == Code::kSumEnd || i.code == Code::kMaxStep ||
      i.code == Code::kMinStep) {
    registers.push_back(Real(i.out));
  }
  if (i.code == Code::kOpaque) {
    for (const OpaqueCall::Argument& argument : tape.calls[i.value].arguments)
      registers.push_back({argument.is_int ? kInt : kReal, argument.reg});
  }
  return registers;
}

std::vector<Register> WrittenBy(const Tape& tape, const Instruction& i) {
  if (i.code == Code::kOpaque) return {{tape.calls[i.value].int_valued ? kInt : kReal, i.out}};
  Register out;
  if (i.out < 0 || !SortOf(ShapeOf(i.code).sorts[0], &out.sort)) return {};
  out.number = i.out;
  if (i.code == Code::kSumStep || i.code == Code::kSumEnd) return {out, Real(i.b), Real(i.c)};
  return {out};
}

std::string StatementOf(const Tape& tape, const KernelTypes& types, const Instruction& i) {
  const Shape shape = ShapeOf(i.code);
  std::string operands[3];
  const int32_t numbers[] = {i.a, i.b, i.c};
  for (int at = 0; at < 3; ++at) {
    Register operand;
    if (numbers[at] < 0 || !SortOf(shape.sorts[at + 1], &operand.sort)) continue;
    operand.number = numbers[at];
    operands[at] = operand.name();
  }
  Register out;
  SortOf(shape.sorts[0], &out.sort);
  out.number = i.out;
  const std::string result = out.name();
  if (shape.text[0] != '\0') {
    return absl::StrCat(result, " = ",
                        absl::Substitute(shape.text, operands[0], operands[1], operands[2],
                                         absl::StrCat(i.value, "LL")),
                        ";");
  }
  const auto step = [&](const char* name) {
    return absl::StrCat(result, " = ", name, "(", result, ", ", operands[0], ");");
  };
  switch (i.code) {
    case Code::kRead:
    case Code::kReadInt:
      return ReadText(types, i);
    case Code::kPow:
      return absl::StrCat(result, " = Power(", operands[0], ", ", RealLiteral(i.real), ");");
    case Code::kFill:
      return absl::StrCat(result, " = (A)(", RealLiteral(i.real), ");");
    case Code::kSumStep:
      return absl::StrCat(operands[1], " = ", operands[1], " + ", operands[0], "; if ((",
                          Int(static_cast<int32_t>(i.value)).name(), " + 1) % ", kSumBlock,
                          " == 0) AddBlock(", result, ", ", operands[1], ", ", operands[2], ");");
    case Code::kSumEnd:
      return absl::StrCat("AddBlock(", result, ", ", operands[1], ", ", operands[2], ");");
    case Code::kMaxStep:
      return step("Larger");
    case Code::kMinStep:
      return step("Smaller");
    case Code::kWithin:
      return absl::StrCat(result, " = (unsigned long long)", operands[0], " < ", i.value, "ull",
                          i.b < 0 ? "" : absl::StrCat(" && ", operands[1]), ";");
    case Code::kLoop:
      return absl::StrCat("for (", result, " = 0; ", result, " < ", i.value, "LL; ++", result,
                          ") {");
    case Code::kSkipIfNone:
      return absl::StrCat("if (", operands[0], ") {");
    case Code::kSkipIfAll:
      return absl::StrCat("if (!", operands[0], ") {");
    case Code::kKeepReal:
    case Code::kKeepInt:
      return absl::StrCat("rows[(", RowOffset(tape, i.value), "LL + ", operands[1],
                          ") * PLANPROOF_THREADS] = (double)", operands[0], ";");
    case Code::kOpaque:
      return OpaqueText(tape, i);
    case Code::kStore:
    case Code::kStoreInt:
      return StoreText(types, i);
    default:
      return "";
  }
}

}  // namespace planproof::runtime_check::cuda
