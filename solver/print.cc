// Terms as text, for messages and SMT-LIB comments.
#include <string>

#include "absl/strings/str_cat.h"
#include "solver/term.h"

namespace planproof::solver {

class TermPrinter {
 public:
  TermPrinter(const Arena& arena, size_t limit) : arena_(arena), limit_(limit) {}

  std::string Take() { return std::move(out_); }

  void Poly(PolyId p, int depth) {
    const auto& terms = arena_.poly(p).terms;
    if (terms.empty()) out_ += "0";
    for (size_t i = 0; i < terms.size() && !Full(); ++i) {
      if (i > 0) out_ += " + ";
      const Factors& f = arena_.mono(terms[i].mono).factors;
      if (!terms[i].coefficient.IsOne() || f.empty()) {
        out_ += terms[i].coefficient.ToString();
        if (!f.empty()) out_ += " ";
      }
      if (!f.empty()) Mono(terms[i].mono, depth);
    }
  }

  void Mono(MonoId m, int depth) {
    bool first = true;
    for (const Factor& f : arena_.mono(m).factors) {
      if (Full()) return;
      if (!first) out_ += " ";
      first = false;
      OfAtom(f.atom, depth);
      if (!(f.exponent == Exponent{})) {
        absl::StrAppend(&out_, "^", f.exponent.num);
        if (f.exponent.den != 1) absl::StrAppend(&out_, "/", f.exponent.den);
      }
    }
    if (first) out_ += "1";
  }

  void OfAffine(const Affine& e, int depth) {
    bool first = true;
    for (const auto& [s, c] : e.terms) {
      if (!first || c < 0) out_ += c < 0 ? "-" : "+";
      first = false;
      if (std::abs(c) != 1) absl::StrAppend(&out_, std::abs(c), "*");
      switch (KindOf(s)) {
        case SymbolKind::kFree:
          absl::StrAppend(&out_, "i", IndexOf(s));
          break;
        case SymbolKind::kBound:
          absl::StrAppend(&out_, "k", depth - static_cast<int>(BoundLevel(s)), "_",
                          BoundPosition(s));
          break;
        case SymbolKind::kIntAtom:
          OfAtom(arena_.AtomOfIntAtom(s), depth);
          break;
      }
    }
    if (first || e.constant != 0) {
      absl::StrAppend(&out_, (first || e.constant < 0) ? "" : "+", e.constant);
    }
  }

  void OfAtom(AtomId id, int depth) {
    if (Full() || depth > 40) {
      out_ += "...";
      return;
    }
    const Atom& a = arena_.atom(id);
    auto name = [&] { return arena_.tag_name ? arena_.tag_name(a.tag) : absl::StrCat("t", a.tag); };
    auto indices = [&](const char* open, const char* close) {
      out_ += open;
      for (size_t i = 0; i < a.indices.size(); ++i) {
        if (i > 0) out_ += ",";
        OfAffine(a.indices[i], depth);
      }
      out_ += close;
    };
    auto call = [&](const char* function) {
      absl::StrAppend(&out_, function, "(");
      for (size_t i = 0; i < a.polys.size(); ++i) {
        if (i > 0) out_ += ", ";
        Poly(a.polys[i], depth);
      }
      out_ += ")";
    };
    auto box = [&](const char* symbol) {
      absl::StrAppend(&out_, symbol, "{");
      for (size_t i = 0; i < a.domain.size(); ++i) {
        absl::StrAppend(&out_, i > 0 ? "," : "", "k", depth + 1, "_", i, " in ", a.domain[i].lo,
                        ":", a.domain[i].hi);
      }
      out_ += "}";
    };
    switch (a.kind) {
      case AtomKind::kElement:
        out_ += name();
        return indices("[", "]");
      case AtomKind::kNumber:
        out_ += a.number.ToString();
        return;
      case AtomKind::kExp:
        absl::StrAppend(&out_, "exp(", a.number.IsOne() ? "" : a.number.ToString() + " ");
        Mono(a.mono, depth);
        out_ += ")";
        return;
      case AtomKind::kBase:
        return call("");
      case AtomKind::kLog:
        return call("log");
      case AtomKind::kErf:
        return call("erf");
      case AtomKind::kSin:
        return call("sin");
      case AtomKind::kCos:
        return call("cos");
      case AtomKind::kAbs:
        return call("abs");
      case AtomKind::kMax:
        return call("max");
      case AtomKind::kPosition:
        return indices("", "");
      case AtomKind::kIndicator:
        return indices("[", ">=0]");
      case AtomKind::kDelta:
        return indices("[", "==0]");
      case AtomKind::kRealPositive:
        return call("positive");
      case AtomKind::kRealZero:
        return call("zero");
      case AtomKind::kOpaque:
        out_ += name();
        indices("<", ">");
        return call("");
      case AtomKind::kSum:
        box("sum");
        out_ += "(";
        Mono(a.mono, depth + 1);
        out_ += ")";
        return;
      case AtomKind::kReduceMax:
        box("max");
        out_ += "(";
        Poly(a.polys[0], depth + 1);
        if (a.polys[1] != kZeroPoly) {
          out_ += " unless ";
          Poly(a.polys[1], depth + 1);
        }
        out_ += ")";
        return;
      case AtomKind::kOpaqueRow:
        out_ += name();
        indices("<", ">");
        box("");
        out_ += "(";
        for (size_t i = 0; i < a.polys.size(); ++i) {
          if (i > 0) out_ += "; ";
          Poly(a.polys[i], depth + 1);
        }
        out_ += ")";
        return;
    }
  }

 private:
  bool Full() const { return out_.size() > limit_; }
  const Arena& arena_;
  size_t limit_;
  std::string out_;
};

std::string Arena::ToString(PolyId p, size_t limit) const {
  TermPrinter printer(*this, limit);
  printer.Poly(p, 0);
  std::string s = printer.Take();
  if (s.size() > limit) s = s.substr(0, limit) + " ...";
  return s;
}

std::string Arena::ToString(const Affine& e) const {
  TermPrinter printer(*this, 1000);
  printer.OfAffine(e, 0);
  return printer.Take();
}

}  // namespace planproof::solver
