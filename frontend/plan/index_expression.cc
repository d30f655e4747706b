#include "frontend/plan/index_expression.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

using lineage::IndexMap;
using lineage::IndexTerm;

constexpr int kMaxDepth = 32;
constexpr size_t kMaxLength = 1024;
constexpr int64_t kMaxNumber = int64_t{1} << 42;
constexpr size_t kMaxProducts = 64;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(const std::string& text, const NameResolver& resolve) : text_(text), resolve_(resolve) {}

  absl::StatusOr<IndexMap> Parse() {
    if (text_.size() > kMaxLength) return Beyond("is longer than 1024 characters");
    PLAN_ASSIGN_OR_RETURN(IndexMap value, Sum(0));
    SkipSpace();
    if (at_ != text_.size()) return Error("an operator is expected");
    return value;
  }

 private:
  std::string Where() const {
    return absl::StrCat("expression \"", text_.substr(0, 80), "\", column ", at_ + 1, ": ");
  }
  absl::Status Error(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(Where(), what));
  }
  absl::Status Beyond(const std::string& what) const {
    return absl::ResourceExhaustedError(absl::StrCat(Where(), what, " (a limit of this program)"));
  }
  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  absl::StatusOr<IndexMap> Sum(int depth) {
    if (depth > kMaxDepth) return Beyond("is nested deeper than 32 levels");
    PLAN_ASSIGN_OR_RETURN(IndexMap value, Product(depth));
    for (char c = Peek(); c == '+' || c == '-'; c = Peek()) {
      ++at_;
      PLAN_ASSIGN_OR_RETURN(IndexMap other, Product(depth));
      PLAN_RETURN_IF_ERROR(Scale(c == '+' ? 1 : -1, &other));
      PLAN_RETURN_IF_ERROR(Add(other, &value));
    }
    return value;
  }

  absl::StatusOr<IndexMap> Product(int depth) {
    PLAN_ASSIGN_OR_RETURN(IndexMap value, Atom(depth));
    for (char c = Peek(); c == '*' || c == '/' || c == '%'; c = Peek()) {
      ++at_;
      PLAN_ASSIGN_OR_RETURN(IndexMap other, Atom(depth));
      if (c == '*') {
        PLAN_ASSIGN_OR_RETURN(value, Multiply(value, other));
        continue;
      }
      if (!other.terms.empty() || other.constant <= 0) {
        return Error("the divisor must be a positive constant");
      }
      PLAN_RETURN_IF_ERROR(c == '/' ? Divide(other.constant, &value)
                                    : Modulo(other.constant, &value));
    }
    return value;
  }

  absl::StatusOr<IndexMap> Atom(int depth) {
    const char c = Peek();
    if (c == '(') {
      ++at_;
      PLAN_ASSIGN_OR_RETURN(IndexMap value, Sum(depth + 1));
      if (Peek() != ')') return Error("a closing parenthesis is expected");
      ++at_;
      return value;
    }
    if (c == '-') {
      if (depth > kMaxDepth) return Beyond("is nested deeper than 32 levels");
      ++at_;
      PLAN_ASSIGN_OR_RETURN(IndexMap value, Atom(depth + 1));
      PLAN_RETURN_IF_ERROR(Scale(-1, &value));
      return value;
    }
    IndexMap value;
    if (IsDigit(c)) {
      while (at_ < text_.size() && IsDigit(text_[at_])) {
        value.constant = value.constant * 10 + (text_[at_] - '0');
        if (value.constant > kMaxNumber) return Beyond("the number is beyond 2^42");
        ++at_;
      }
      return value;
    }
    if (!IsNameStart(c)) return Error("a number, a name or a parenthesis is expected");
    const size_t start = at_;
    while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    const std::string name = text_.substr(start, at_ - start);
    const std::optional<NameMeaning> meaning = resolve_(name);
    if (!meaning.has_value()) {
      at_ = start;
      return Error(absl::StrCat("\"", name,
                                "\" is not known here; names are coordinates, in a map also "
                                "i0, i1, ..., in a schedule variables of loops"));
    }
    if (meaning->dim < 0) {
      value.constant = meaning->value;
    } else {
      value.terms.push_back({meaning->dim, 1, 1, 0});
    }
    return value;
  }

  // Term by term; of two digits one must turn out to be a gate.
  absl::StatusOr<IndexMap> Multiply(const IndexMap& a, const IndexMap& b) const {
    IndexMap product = a;
    PLAN_RETURN_IF_ERROR(Scale(b.constant, &product));
    IndexMap rest{0, b.terms};
    PLAN_RETURN_IF_ERROR(Scale(a.constant, &rest));
    PLAN_RETURN_IF_ERROR(Add(rest, &product));
    if (a.terms.size() * b.terms.size() > kMaxProducts)
      return Error("a product has too many terms");
    for (const IndexTerm& x : a.terms) {
      for (const IndexTerm& y : b.terms) {
        if (x.gated() || y.gated()) return Error("a product of three indices is not understood");
        IndexMap both{0, {x}};
        both.terms[0].gate = y.digit();
        PLAN_RETURN_IF_ERROR(Scale(y.scale, &both));
        PLAN_RETURN_IF_ERROR(Add(both, &product));
      }
    }
    return product;
  }

  absl::Status Scale(int64_t factor, IndexMap* value) const {
    bool overflow = __builtin_mul_overflow(value->constant, factor, &value->constant);
    for (IndexTerm& term : value->terms) {
      overflow |= __builtin_mul_overflow(term.scale, factor, &term.scale);
      overflow |= term.scale > kMaxNumber || term.scale < -kMaxNumber;
    }
    if (overflow || value->constant > kMaxNumber || value->constant < -kMaxNumber) {
      return Beyond("a value is beyond 2^42");
    }
    std::erase_if(value->terms, [](const IndexTerm& term) { return term.scale == 0; });
    return absl::OkStatus();
  }

  absl::Status Add(const IndexMap& other, IndexMap* value) const {
    value->constant += other.constant;
    for (const IndexTerm& term : other.terms) {
      auto same = std::find_if(value->terms.begin(), value->terms.end(), [&](const IndexTerm& t) {
        return t.digit() == term.digit() && t.gate == term.gate;
      });
      if (same == value->terms.end()) {
        value->terms.push_back(term);
      } else {
        same->scale += term.scale;
      }
    }
    return Scale(1, value);
  }

  // floor(value / n) for a constant, a lone digit, or a multiple of n.
  absl::Status Divide(int64_t n, IndexMap* value) const {
    bool multiple = value->constant % n == 0;
    for (const IndexTerm& term : value->terms) multiple = multiple && term.scale % n == 0;
    if (multiple) {
      value->constant /= n;
      for (IndexTerm& term : value->terms) term.scale /= n;
      return absl::OkStatus();
    }
    if (value->terms.empty()) {
      const int64_t c = value->constant;
      value->constant = c >= 0 ? c / n : -((-c + n - 1) / n);
      return absl::OkStatus();
    }
    if (value->terms.size() == 1 && value->constant == 0 && value->terms[0].scale == 1 &&
        !value->terms[0].gated()) {
      IndexTerm& term = value->terms[0];
      if (term.mod == 0 || term.mod % n == 0) {
        if (__builtin_mul_overflow(term.div, n, &term.div) || term.div > kMaxNumber) {
          return Beyond("a value is beyond 2^42");
        }
        if (term.mod != 0) term.mod /= n;
        return absl::OkStatus();
      }
    }
    return Error("only a constant or a single index can be divided; write the digits apart");
  }

  absl::Status Modulo(int64_t n, IndexMap* value) const {
    if (value->terms.empty()) {
      value->constant = ((value->constant % n) + n) % n;
      return absl::OkStatus();
    }
    if (value->terms.size() == 1 && value->terms[0].scale == 1 && !value->terms[0].gated()) {
      IndexTerm& term = value->terms[0];
      int64_t period = 0;
      if ((term.mod == 0 || term.mod % n == 0) && !__builtin_mul_overflow(term.div, n, &period)) {
        if (period > kMaxNumber) return Beyond("a value is beyond 2^42");
        // floor(i / d) + c is floor((i + c d) / d), modulo n.
        const int64_t shift = (value->constant % n + n) % n;
        term.offset = (term.offset + shift * term.div) % period;
        term.mod = n;
        value->constant = 0;
        return absl::OkStatus();
      }
    }
    return Error("only a constant or a single index has a remainder; write the digits apart");
  }

  const std::string& text_;
  const NameResolver& resolve_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<IndexMap> ParseIndexExpression(const std::string& text,
                                              const NameResolver& resolve) {
  return Parser(text, resolve).Parse();
}

absl::Status SettleGates(const sdfg::Shape& extents, lineage::IndexMap* map) {
  const auto is_gate = [&](const sdfg::IndexDigit& digit) {
    return extents[digit.dim] == 0 || digit.Most(extents[digit.dim]) <= 1;
  };
  // Of two that could be the gate, one without offset, and a local index rather than a coordinate.
  const auto better = [](const sdfg::IndexDigit& a, const sdfg::IndexDigit& b) {
    return (a.offset == 0) != (b.offset == 0) ? a.offset == 0 : a.dim > b.dim;
  };
  for (IndexTerm& term : map->terms) {
    if (!term.gated()) continue;
    const sdfg::IndexDigit digit = term.digit();
    if (!is_gate(term.gate) && !is_gate(digit)) {
      return absl::InvalidArgumentError(
          "a product of two indices is not affine unless one of them is 0 or 1 everywhere");
    }
    if (!is_gate(term.gate) || (is_gate(digit) && better(digit, term.gate))) {
      term = {term.gate.dim, term.scale, term.gate.div, term.gate.mod, term.gate.offset, digit};
    }
    if (term.gate == term.digit()) term.gate = {.dim = -1};  // its square
  }
  return absl::OkStatus();
}

std::vector<std::string> NamesIn(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    if (!IsNameStart(text[at])) {
      ++at;
      continue;
    }
    const size_t start = at;
    while (at < text.size() && (IsNameStart(text[at]) || IsDigit(text[at]))) ++at;
    std::string name = text.substr(start, at - start);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace planproof::plan
