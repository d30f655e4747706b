#include "frontend/plan/loops.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "frontend/plan/index_expression.h"
#include "frontend/plan/operator_call.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using Operators = google::protobuf::RepeatedPtrField<Operator>;

constexpr int64_t kMaxRounds = 2'000'000;  // of loops, and operators of rounds, in a file
constexpr size_t kMaxDepth = 8;

bool AnyLoop(const Operators& operators) {
  return std::any_of(operators.begin(), operators.end(),
                     [](const Operator& op) { return op.has_loop(); });
}

// The operators of one list, with its loops written out.
class Unrolling {
 public:
  Unrolling(const std::string& path, std::string list, int64_t* budget)
      : path_(path), list_(std::move(list)), budget_(*budget) {}

  absl::Status Run(Operators* operators) {
    if (!AnyLoop(*operators)) return absl::OkStatus();
    PLAN_RETURN_IF_ERROR(Append(*operators, ""));
    operators->Swap(&out_);
    return absl::OkStatus();
  }

 private:
  // `within` is where the list stands: "" or "3/do/".
  absl::Status Append(const Operators& operators, const std::string& within) {
    for (int i = 0; i < operators.size(); ++i) {
      const Operator& op = operators[i];
      const std::string place = absl::StrCat(within, i);
      const Position at{path_, op.line(), absl::StrCat(list_, "/", place)};
      PLAN_RETURN_IF_ERROR(Spend(at));
      if (op.has_loop()) {
        Operator rest = op;
        rest.clear_loop();
        rest.clear_line();
        if (rest.ByteSizeLong() != 0) return At(at, "a loop is no operator, and has no operands");
        PLAN_RETURN_IF_ERROR(AppendRounds(op.loop(), place, at));
        continue;
      }
      Operator* written = out_.Add();
      *written = op;
      PLAN_RETURN_IF_ERROR(Evaluate(at, written));
      written->set_written_at(absl::StrCat(place, Round()));
    }
    return absl::OkStatus();
  }

  absl::Status AppendRounds(const Loop& loop, const std::string& place, const Position& at) {
    const std::string& name = loop.variable();
    if (NamesIn(name) != std::vector<std::string>{name}) {
      return At(at, absl::StrCat("\"", name, "\" is no name of a loop variable, e.g. \"t\" is"));
    }
    if (variables_.count(name) > 0) {
      return At(at, absl::StrCat("\"", name, "\" is the variable of a loop around this one"));
    }
    if (variables_.size() == kMaxDepth) {
      return At(at, sdfg::BeyondLimit("depth of loops", kMaxDepth + 1, kMaxDepth));
    }
    PLAN_ASSIGN_OR_RETURN(const int64_t from, Value(loop.from(), at));
    PLAN_ASSIGN_OR_RETURN(const int64_t to, Value(loop.to(), at));
    const int64_t step = loop.step() == 0 ? 1 : loop.step();
    const int64_t rounds = Rounds(from, to, step);
    if (rounds > budget_) {
      return At(at, sdfg::BeyondLimit("rounds of loops", rounds, kMaxRounds));
    }
    for (int64_t round = 0; round < rounds; ++round) {
      variables_[name] = from + round * step;
      PLAN_RETURN_IF_ERROR(Append(loop.body(), place + "/do/"));
    }
    variables_.erase(name);
    return absl::OkStatus();
  }

  absl::Status Spend(const Position& at) {
    if (--budget_ >= 0) return absl::OkStatus();
    return At(at, sdfg::BeyondLimit("operators that loops stand for", kMaxRounds + 1, kMaxRounds));
  }

  // At most 2^62: bounds are 64-bit numbers.
  static int64_t Rounds(int64_t from, int64_t to, int64_t step) {
    const __int128 length =
        step > 0 ? static_cast<__int128>(to) - from : static_cast<__int128>(from) - to;
    const __int128 size = step > 0 ? step : -static_cast<__int128>(step);
    if (length <= 0) return 0;
    return static_cast<int64_t>(std::min<__int128>((length + size - 1) / size, int64_t{1} << 62));
  }

  // ", t = 3"
  std::string Round() const {
    std::string text;
    for (const auto& [name, value] : variables_) absl::StrAppend(&text, ", ", name, " = ", value);
    return text;
  }

  absl::StatusOr<int64_t> Value(const std::string& text, const Position& at) const {
    const NameResolver resolve = [this](const std::string& name) -> std::optional<NameMeaning> {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return std::nullopt;
      return NameMeaning{found->second, -1};
    };
    const absl::StatusOr<lineage::IndexMap> value = ParseIndexExpression(text, resolve);
    if (!value.ok()) return At(at, absl::StrCat("\"", text, "\": "), value.status());
    return value->constant;
  }

  absl::Status Evaluate(const Position& at, Operator* op) const {
    if (variables_.empty()) return absl::OkStatus();
    for (std::string* name : {op->mutable_name(), op->mutable_backward(), op->mutable_phase(),
                              op->mutable_async(), op->mutable_channel()}) {
      PLAN_RETURN_IF_ERROR(EvaluateName(at, name));
    }
    for (Operand& operand : *op->mutable_inputs()) {
      if (operand.has_tensor()) PLAN_RETURN_IF_ERROR(EvaluateName(at, operand.mutable_tensor()));
    }
    for (std::string& name : *op->mutable_outputs()) {
      PLAN_RETURN_IF_ERROR(EvaluateName(at, &name));
    }
    for (auto* bindings : {op->mutable_gradients(), op->mutable_produces()}) {
      for (Binding& binding : *bindings) {
        PLAN_RETURN_IF_ERROR(EvaluateName(at, binding.mutable_key()));
        PLAN_RETURN_IF_ERROR(EvaluateName(at, binding.mutable_value()));
      }
    }
    for (Attribute& attribute : *op->mutable_attributes()) {
      PLAN_RETURN_IF_ERROR(EvaluateAttribute(at, attribute.mutable_value()));
    }
    return absl::OkStatus();
  }

  // What stands in brackets is an expression.
  absl::Status EvaluateName(const Position& at, std::string* name) const {
    std::string out;
    size_t done = 0;
    for (size_t open = name->find('['); open != std::string::npos; open = name->find('[', done)) {
      const size_t close = name->find(']', open);
      if (close == std::string::npos) {
        return At(at, absl::StrCat("\"", *name, "\": a bracket is not closed"));
      }
      PLAN_ASSIGN_OR_RETURN(const int64_t value,
                            Value(name->substr(open + 1, close - open - 1), at));
      absl::StrAppend(&out, name->substr(done, open - done), "[", value, "]");
      done = close + 1;
    }
    if (done > 0) *name = absl::StrCat(out, name->substr(done));
    return absl::OkStatus();
  }

  // Of an expression over coordinates and variables; one over variables alone is a number.
  absl::Status EvaluateAttribute(const Position& at, AttributeValue* value) const {
    if (value->has_list()) {
      for (AttributeValue& element : *value->mutable_list()->mutable_elements()) {
        PLAN_RETURN_IF_ERROR(EvaluateAttribute(at, &element));
      }
    }
    if (value->kind_case() != AttributeValue::kExpression) return absl::OkStatus();
    std::string text = value->expression();
    bool others = false;
    for (const std::string& name : NamesIn(text)) others = others || variables_.count(name) == 0;
    if (others) {
      value->set_expression(WithNumbers(text));
      return absl::OkStatus();
    }
    PLAN_ASSIGN_OR_RETURN(const int64_t number, Value(text, at));
    value->set_integer(number);
    return absl::OkStatus();
  }

  // The expression with numbers in place of the variables.
  std::string WithNumbers(const std::string& text) const {
    const auto in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    std::string out;
    for (size_t i = 0; i < text.size();) {
      size_t end = i;
      while (end < text.size() && in_name(text[end])) ++end;
      const auto found = variables_.find(text.substr(i, end - i));
      if (end > i && found != variables_.end()) {
        const int64_t v = found->second;
        absl::StrAppend(&out, v < 0 ? absl::StrCat("(0 - ", -v, ")") : absl::StrCat(v));
      } else {
        end = std::max(end, i + 1);
        out.append(text, i, end - i);
      }
      i = end;
    }
    return out;
  }

  const std::string& path_;
  const std::string list_;  // "/plan/programs/0/operators"
  int64_t& budget_;
  std::map<std::string, int64_t> variables_;
  Operators out_;
};

}  // namespace

bool HasLoops(const PlanFile& file) {
  if (AnyLoop(file.specification().operators())) return true;
  for (const Program& program : file.plan().programs()) {
    if (AnyLoop(program.operators())) return true;
    for (const Exception& exception : program.exceptions()) {
      if (AnyLoop(exception.operators())) return true;
    }
  }
  return false;
}

absl::Status UnrollLoops(const std::string& path, PlanFile* file) {
  int64_t budget = kMaxRounds;
  if (file->has_specification()) {
    PLAN_RETURN_IF_ERROR(Unrolling(path, "/specification/operators", &budget)
                             .Run(file->mutable_specification()->mutable_operators()));
  }
  if (!file->has_plan()) return absl::OkStatus();
  for (int p = 0; p < file->plan().programs_size(); ++p) {
    Program* program = file->mutable_plan()->mutable_programs(p);
    const std::string pointer = absl::StrCat("/plan/programs/", p);
    PLAN_RETURN_IF_ERROR(
        Unrolling(path, pointer + "/operators", &budget).Run(program->mutable_operators()));
    for (int e = 0; e < program->exceptions_size(); ++e) {
      PLAN_RETURN_IF_ERROR(
          Unrolling(path, absl::StrCat(pointer, "/exceptions/", e, "/with"), &budget)
              .Run(program->mutable_exceptions(e)->mutable_operators()));
    }
  }
  return absl::OkStatus();
}

}  // namespace planproof::plan
