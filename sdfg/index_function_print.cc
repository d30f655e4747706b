// Index functions as text for people: "y[b, n] = sum(k: x[b, k] * w[n, k])".
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sdfg/index_function.h"

namespace planproof::sdfg {
namespace {

// Longer expressions are cut: a shared expression is printed where it is used, so texts can grow
// exponentially.
constexpr size_t kMaxLength = 4000;

// How tightly the text's outermost operator binds.
enum Binding : int { kOr, kAnd, kComparison, kSum, kProduct, kPower, kAtom };

struct Text {
  std::string text;
  Binding binding = kAtom;
};

class Printer {
 public:
  explicit Printer(const IndexFunction& function) : f_(function) {
    std::vector<bool> used(f_.vars.size(), false);
    for (const FunctionOutput& output : f_.outputs) {
      for (VarId var : output.dims) used[var] = true;
    }
    for (const Node& node : f_.nodes) {
      if (node.var >= 0) used[node.var] = true;
    }
    absl::flat_hash_set<std::string> taken;
    for (size_t v = 0; v < f_.vars.size(); ++v) {
      const IndexVariable& var = f_.vars[v];
      if (!used[v]) {
        var_names_.push_back("");
        continue;
      }
      std::string name = var.name.empty() ? "i" : var.name;
      for (int i = 2; !taken.insert(name).second; ++i) name = absl::StrCat(var.name, "_", i);
      var_names_.push_back(std::move(name));
    }
    for (const Node& node : f_.nodes) {
      Text text = Print(node);
      if (text.text.size() > kMaxLength) text = {text.text.substr(0, kMaxLength) + "...", kAtom};
      texts_.push_back(std::move(text));
    }
  }

  std::string Run() const {
    std::string result;
    for (const FunctionOutput& output : f_.outputs) {
      if (!result.empty()) result += "\n";
      std::vector<std::string> dims;
      for (VarId var : output.dims) dims.push_back(var_names_[var]);
      absl::StrAppend(&result, output.name, "[", absl::StrJoin(dims, ", "),
                      "] = ", output.body == kNoExpr ? std::string("?") : texts_[output.body].text);
    }
    for (const FunctionPremise& premise : f_.premises) {
      absl::StrAppend(&result, "\n  where ", texts_[premise.condition].text);
    }
    return result;
  }

 private:
  // Argument i, in parentheses if it binds less tightly than `least`.
  std::string Arg(const Node& node, size_t i, Binding least = kOr) const {
    const Text& text = texts_[node.args[i]];
    return text.binding < least ? absl::StrCat("(", text.text, ")") : text.text;
  }
  Text Infix(const Node& node, const char* symbol, Binding binding, Binding right) const {
    return {absl::StrCat(Arg(node, 0, binding), symbol, Arg(node, 1, right)), binding};
  }
  Text Call(const std::string& name, const Node& node) const {
    std::vector<std::string> args;
    for (size_t i = 0; i < node.args.size(); ++i) args.push_back(Arg(node, i));
    return {absl::StrCat(name, "(", absl::StrJoin(args, ", "), ")"), kAtom};
  }
  Text Reduction(const std::string& name, const Node& node) const {
    return {absl::StrCat(name, "(", var_names_[node.var], ": ", Arg(node, 0), ")"), kAtom};
  }
  Text Access(const Node& node) const {
    std::vector<std::string> args;
    for (size_t i = 0; i < node.args.size(); ++i) args.push_back(Arg(node, i));
    return {absl::StrCat(f_.inputs[node.input].name, "[", absl::StrJoin(args, ", "), "]"), kAtom};
  }
  static Text Number(const std::string& digits) {
    if (digits.find('/') != std::string::npos) return {digits, kProduct};
    return {digits, digits[0] == '-' ? kSum : kAtom};
  }

  Text Print(const Node& node) const {
    switch (node.op) {
      case Op::kIntConst:
        return Number(std::to_string(node.value));
      case Op::kIndex:
        return {var_names_[node.var], kAtom};
      case Op::kIntAdd:
      case Op::kAdd:
        return Infix(node, " + ", kSum, kSum);
      case Op::kIntScale:
        return {absl::StrCat(node.value, " * ", Arg(node, 0, kPower)), kProduct};
      case Op::kIntDiv:
        return {absl::StrCat(Arg(node, 0, kProduct), " div ", node.value), kProduct};
      case Op::kIntMod:
        return {absl::StrCat(Arg(node, 0, kProduct), " mod ", node.value), kProduct};
      case Op::kIntElement:
      case Op::kElement:
        return Access(node);
      case Op::kReal:
        return Number(node.real.ToString());
      case Op::kNegInf:
        return {"-inf", kSum};
      case Op::kPosition:
        return Call("real", node);
      case Op::kWhole:
        return Call("whole", node);
      case Op::kIndicator:
        return {absl::StrCat("[", Arg(node, 0), "]"), kAtom};
      case Op::kMul:
        return Infix(node, " * ", kProduct, kProduct);
      case Op::kNeg:
        return {absl::StrCat("-", Arg(node, 0, kProduct)), kSum};
      case Op::kDiv:
        return Infix(node, " / ", kProduct, kPower);
      case Op::kPow: {
        const Text exponent = Number(node.real.ToString());
        return {absl::StrCat(Arg(node, 0, kAtom), "^",
                             exponent.binding == kAtom ? exponent.text
                                                       : absl::StrCat("(", exponent.text, ")")),
                kPower};
      }
      case Op::kExp:
        return Call("exp", node);
      case Op::kLog:
        return Call("log", node);
      case Op::kErf:
        return Call("erf", node);
      case Op::kSin:
        return Call("sin", node);
      case Op::kCos:
        return Call("cos", node);
      case Op::kAbs:
        return Call("abs", node);
      case Op::kMax:
        return Call("max", node);
      case Op::kMin:
        return Call("min", node);
      case Op::kSelect:
        return Call("where", node);
      case Op::kSum:
        return Reduction("sum", node);
      case Op::kReduceMax:
        return Reduction("max", node);
      case Op::kReduceMin:
        return Reduction("min", node);
      case Op::kOpaque:
        if (node.var < 0) return Call(node.name, node);
        return Call(absl::StrCat(node.name, "{", var_names_[node.var], "}"), node);
      case Op::kIntLess:
      case Op::kRealLess:
        return Infix(node, " < ", kComparison, kSum);
      case Op::kIntLessEq:
      case Op::kRealLessEq:
        return Infix(node, " <= ", kComparison, kSum);
      case Op::kIntEq:
      case Op::kRealEq:
        return Infix(node, " == ", kComparison, kSum);
      case Op::kNonzero:
        return {absl::StrCat(Arg(node, 0, kSum), " != 0"), kComparison};
      case Op::kAnd:
        return Infix(node, " and ", kAnd, kAnd);
      case Op::kOr:
        return Infix(node, " or ", kOr, kOr);
      case Op::kNot:
        return Call("not", node);
    }
    return {"?", kAtom};
  }

  const IndexFunction& f_;
  std::vector<std::string> var_names_;
  std::vector<Text> texts_;
};

}  // namespace

std::string ToString(const IndexFunction& function) { return Printer(function).Run(); }

}  // namespace planproof::sdfg
