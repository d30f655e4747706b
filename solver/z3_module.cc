// The module that talks to Z3, loaded on demand (z3_solver.h). It exports one C function: a request
// as text (smt_term.h describes nodes), an answer as text.
//
// Encoding. Real variables, + and * are Z3's. What is not polynomial becomes a fresh constant for
// each different argument, with its defining facts: 1/s by s * i = 1, roots by z^q = s and z >= 0,
// maxima by (m >= a, m >= b, m = a or m = b), exponentials of sums as products of positive
// constants, everything else with nothing but "equal arguments give equal values". Denominators,
// logarithms and roots assert their premises; those inside a branch of a selection do not (there
// the fact holds only where the premise does).
//
// Where both sides are equal under the premises of both, a second question is whether the left
// side's premises imply the right side's, each taken where its operator's value is needed.
#include <z3++.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "solver/smt_term.h"
#include "solver/z3_request.h"

namespace {

using planproof::solver::ParseZ3Request;
using planproof::solver::RawOp;
using Request = planproof::solver::Z3Request;
using Line = Request::Node;

class Encoder {
 public:
  explicit Encoder(const Request& request)
      : request_(request),
        solver_(c_),
        terms_(c_),
        facts_(c_),
        definitions_(c_),
        simplify_(c_),
        pinned_(c_) {
    simplify_.set("som", true);
  }

  std::string Decide() {
    FindConditional();
    for (size_t n = 0; n < request_.nodes.size(); ++n) {
      node_now_ = n;
      conditional_now_ = conditional_[n];
      terms_.push_back(Encode(request_.nodes[n]));
    }
    Congruence();
    for (int p : request_.premises) facts_.push_back(terms_[p]);
    const z3::expr left = terms_[request_.left], right = terms_[request_.right];
    for (unsigned k = 0; k < facts_.size(); ++k) solver_.add(facts_[k]);
    solver_.add(left != right);
    if (!request_.dump.empty()) Dump();
    if (request_.timeout_ms == 0) return "unknown\nnot asked\n";
    if (left.is_arith()) {
      const z3::expr difference = Simplified(left - right);
      if (difference.is_numeral() && IsZero(difference)) {
        return "equal\nby simplification\n" + Domain();
      }
      z3::solver again(c_);
      for (unsigned k = 0; k < facts_.size(); ++k) again.add(facts_[k]);
      again.add(difference != 0);
      return Check(&again);
    }
    return Check(&solver_);
  }

 private:
  z3::expr Simplified(const z3::expr& e) { return e.simplify(simplify_); }
  static bool IsZero(const z3::expr& e) {
    std::string s = e.to_string();
    return s == "0" || s == "0.0";
  }
  z3::expr Fresh(const char* stem) {
    const std::string name = std::string(stem) + "!" + std::to_string(fresh_++);
    return c_.real_const(name.c_str());
  }
  // Asserts what holds of constants by their definition.
  void Define(const z3::expr& fact) {
    facts_.push_back(fact);
    definitions_.push_back(fact);
  }
  // Asserts the fact where `premise` holds; the premise itself too unless it is conditional.
  void Fact(const z3::expr& premise, const z3::expr& fact) {
    definitions_.push_back(!premise || fact);
    if (conditional_now_) {
      facts_.push_back(!premise || fact);
    } else {
      facts_.push_back(premise);
      facts_.push_back(fact);
    }
  }
  // The operator at hand has a value only where this holds.
  void Require(const z3::expr& premise) { required_.emplace_back(node_now_, premise); }

  // Where each node's value is needed: below a selection, where its branch is taken.
  std::vector<z3::expr> Needs() {
    const z3::expr never = c_.bool_val(false), always = c_.bool_val(true);
    std::vector<z3::expr> needs(request_.nodes.size(), never);
    needs[request_.left] = needs[request_.right] = always;
    for (int p : request_.premises) needs[p] = always;
    auto add = [&](int node, const z3::expr& where) {
      if (needs[node].is_true() || where.is_true()) {
        needs[node] = always;
      } else {
        needs[node] = needs[node].is_false() ? where : needs[node] || where;
      }
    };
    for (size_t n = request_.nodes.size(); n-- > 0;) {
      const Line& line = request_.nodes[n];
      const bool selects = line.op == RawOp::kIte || line.op == RawOp::kIntIte;
      for (size_t k = 0; k < line.args.size(); ++k) {
        if (!selects || k == 0) {
          add(line.args[k], needs[n]);
        } else {
          const z3::expr& condition = terms_[line.args[0]];
          const z3::expr taken = k == 1 ? condition : !condition;
          add(line.args[k], needs[n].is_true() ? taken : needs[n] && taken);
        }
      }
    }
    return needs;
  }

  // If that is asked: "defined" if the right side has a value wherever the left side has one.
  std::string Domain() {
    if (!request_.domain) return "";
    const std::vector<z3::expr> needs = Needs();
    z3::expr_vector left(c_), right(c_);
    std::set<unsigned> of_left;
    auto add = [&](size_t node, const z3::expr& premise) {
      const z3::expr p = (!needs[node] || premise).simplify();
      if (p.is_true()) return;
      if (node < request_.left_nodes) {
        left.push_back(p);
        of_left.insert(Z3_get_ast_id(c_, p));
      } else if (of_left.count(Z3_get_ast_id(c_, p)) == 0) {
        right.push_back(p);
      }
    };
    for (const auto& [node, premise] : required_) add(node, premise);
    for (int p : request_.premises) add(static_cast<size_t>(p), terms_[p]);
    if (right.empty()) return "defined\n";
    z3::solver solver(c_);
    for (unsigned k = 0; k < definitions_.size(); ++k) solver.add(definitions_[k]);
    for (unsigned k = 0; k < left.size(); ++k) solver.add(left[k]);
    solver.add(!z3::mk_and(right));
    Limit(&solver);
    return solver.check() == z3::unsat ? "defined\n" : "restricted\n";
  }

  // Nodes that only branches of selections use.
  void FindConditional() {
    conditional_.assign(request_.nodes.size(), true);
    std::vector<int> work = {request_.left, request_.right};
    work.insert(work.end(), request_.premises.begin(), request_.premises.end());
    while (!work.empty()) {
      const int n = work.back();
      work.pop_back();
      if (!conditional_[n]) continue;
      conditional_[n] = false;
      const Line& line = request_.nodes[n];
      const bool selects = line.op == RawOp::kIte || line.op == RawOp::kIntIte;
      for (size_t k = 0; k < line.args.size(); ++k) {
        if (!selects || k == 0) work.push_back(line.args[k]);
      }
    }
  }

  // The constant for `function` at these arguments; new if they were not seen before.
  z3::expr Constant(const std::string& function, const std::vector<z3::expr>& args, bool integer,
                    bool* is_new) {
    std::string key = function;
    for (const z3::expr& a : args) key += "," + std::to_string(Z3_get_ast_id(c_, a));
    auto [it, inserted] = applied_.try_emplace(key, static_cast<int>(pinned_.size()));
    *is_new = inserted;
    if (inserted) {
      const std::string name = function + "!" + std::to_string(fresh_++);
      pinned_.push_back(integer ? c_.int_const(name.c_str()) : c_.real_const(name.c_str()));
      for (const z3::expr& a : args) terms_kept_.push_back(a);
      applications_[function].push_back({it->second, args});
    }
    return pinned_[it->second];
  }

  z3::expr Inverse(const z3::expr& of) {
    const z3::expr s = Simplified(of);
    if (s.is_numeral() && !IsZero(s)) return Simplified(c_.real_val(1) / s);
    Require(s != 0);
    bool is_new;
    z3::expr inverse = Constant(conditional_now_ ? "inverse?" : "inverse", {s}, false, &is_new);
    if (is_new) Fact(s != 0, s * inverse == 1);
    return inverse;
  }

  z3::expr Power(const z3::expr& base, int64_t exponent) {
    z3::expr out = c_.real_val(1);
    for (int64_t k = 0; k < exponent; ++k) out = k == 0 ? base : out * base;
    return out;
  }

  z3::expr Root(const z3::expr& of, int64_t q) {
    const z3::expr s = Simplified(of);
    Require(s >= 0);
    bool is_new;
    z3::expr root =
        Constant((conditional_now_ ? "root?" : "root") + std::to_string(q), {s}, false, &is_new);
    if (is_new) Fact(s >= 0, root >= 0 && Power(root, q) == s);
    return root;
  }

  z3::expr RationalPower(const z3::expr& base, const std::string& exponent) {
    const size_t slash = exponent.find('/');
    const int64_t p = std::atoll(exponent.c_str());
    const int64_t q = slash == std::string::npos ? 1 : std::atoll(exponent.c_str() + slash + 1);
    if (std::llabs(p) > 64 || q > 16 || q < 1) {
      if (q != 1 || p < 0) Require(base > 0);
      bool is_new;
      return Constant("power" + exponent, {Simplified(base)}, false, &is_new);
    }
    const z3::expr root = q == 1 ? base : Root(base, q);
    return p >= 0 ? Power(root, p) : Power(Inverse(root), -p);
  }

  // exp(num/den * rest).
  z3::expr ExpOfMonomial(const z3::expr& rest, int64_t num, int64_t den) {
    bool is_new;
    z3::expr e = Constant("exp/" + std::to_string(den), {rest}, false, &is_new);
    if (is_new) {
      Define(e > 0);
      if (den > 1 && den <= 16) Define(Power(e, den) == ExpOfMonomial(rest, 1, 1));
    }
    if (num > 0) return Power(e, num);
    z3::expr inverse = Constant("exp-/" + std::to_string(den), {rest}, false, &is_new);
    if (is_new) {
      Define(inverse > 0);
      Define(e * inverse == 1);
    }
    return Power(inverse, -num);
  }

  z3::expr Exp(const z3::expr& of) {
    const z3::expr u = Simplified(of);
    std::vector<z3::expr> summands;
    if (u.is_app() && u.decl().decl_kind() == Z3_OP_ADD) {
      for (unsigned k = 0; k < u.num_args(); ++k) summands.push_back(u.arg(k));
    } else {
      summands.push_back(u);
    }
    z3::expr out = c_.real_val(1);
    for (const z3::expr& m : summands) {
      if (m.is_numeral() && IsZero(m)) continue;
      z3::expr rest = m;
      z3::expr coefficient = c_.real_val(1);
      if (m.is_numeral()) {
        coefficient = m;
        rest = c_.real_val(1);
      } else if (m.decl().decl_kind() == Z3_OP_MUL && m.arg(0).is_numeral()) {
        coefficient = m.arg(0);
        rest = m.arg(1);
        for (unsigned k = 2; k < m.num_args(); ++k) rest = rest * m.arg(k);
        rest = Simplified(rest);
      }
      int64_t num, den;
      z3::expr factor = c_.real_val(1);
      if (Z3_get_numeral_rational_int64(c_, coefficient, &num, &den) && std::llabs(num) <= 64) {
        factor = ExpOfMonomial(rest, num, den);
      } else {
        bool is_new;
        factor = Constant("exp", {m}, false, &is_new);
        if (is_new) Define(factor > 0);
      }
      out = out * factor;
    }
    return Simplified(out);
  }

  z3::expr Extreme(const z3::expr& a, const z3::expr& b, bool max) {
    const z3::expr x = Simplified(a), y = Simplified(b);
    bool is_new;
    z3::expr m = Constant(max ? "max" : "min", {x, y}, false, &is_new);
    if (is_new) {
      Define(max ? m >= x && m >= y : m <= x && m <= y);
      Define(m == x || m == y);
    }
    return m;
  }

  z3::expr Encode(const Line& n) {
    auto arg = [&](size_t k) { return terms_[n.args[k]]; };
    auto function = [&](const char* name) {
      bool is_new;
      return Constant(name, {Simplified(arg(0))}, false, &is_new);
    };
    switch (n.op) {
      case RawOp::kRational:
        return c_.real_val(n.value.c_str());
      case RawOp::kVariable: {
        z3::expr v = c_.real_const(n.name.c_str());
        if (n.low == 1) Define(v > 0);
        if (n.low == 2) Define(v >= 0);
        if (n.low == 3) Define(v != 0);
        return v;
      }
      case RawOp::kToReal:
        return z3::to_real(arg(0));
      case RawOp::kAdd: {
        z3::expr_vector all(c_);
        for (int a : n.args) all.push_back(terms_[a]);
        if (all.empty()) return c_.real_val(0);
        return all.size() == 1 ? all[0] : z3::sum(all);
      }
      case RawOp::kMul:
        return arg(0) * arg(1);
      case RawOp::kNeg:
        return -arg(0);
      case RawOp::kDiv:
        return arg(0) * Inverse(arg(1));
      case RawOp::kPow:
        return RationalPower(arg(0), n.value);
      case RawOp::kExp:
        return Exp(arg(0));
      case RawOp::kLog: {
        z3::expr log = function("log");
        Require(Simplified(arg(0)) > 0);
        if (!conditional_now_) facts_.push_back(arg(0) > 0);
        return log;
      }
      case RawOp::kErf:
        return function("erf");
      case RawOp::kSin:
        return function("sin");
      case RawOp::kCos:
        return function("cos");
      case RawOp::kAbs:
        return z3::ite(arg(0) >= 0, arg(0), -arg(0));
      case RawOp::kMax:
      case RawOp::kMin:
        return Extreme(arg(0), arg(1), n.op == RawOp::kMax);
      case RawOp::kIte:
      case RawOp::kIntIte:
        return z3::ite(arg(0), arg(1), arg(2));
      case RawOp::kApply:
      case RawOp::kIntApply: {
        std::vector<z3::expr> args;
        for (int a : n.args) args.push_back(Simplified(terms_[a]));
        bool is_new;
        const bool integer = n.op == RawOp::kIntApply;
        z3::expr f = Constant("apply." + n.name, args, integer, &is_new);
        if (is_new && integer) {
          Define(f >= c_.int_val(n.low) && f <= c_.int_val(n.high));
        }
        return f;
      }
      case RawOp::kInteger:
        return c_.int_val(n.low);
      case RawOp::kIntVariable: {
        z3::expr v = c_.int_const(n.name.c_str());
        Define(v >= c_.int_val(n.low) && v <= c_.int_val(n.high));
        return v;
      }
      case RawOp::kIntAdd:
        return arg(0) + arg(1);
      case RawOp::kIntScale:
        return c_.int_val(n.low) * arg(0);
      case RawOp::kIntDiv:
        return arg(0) / c_.int_val(n.low);
      case RawOp::kIntMod:
        return z3::mod(arg(0), c_.int_val(n.low));
      case RawOp::kLess:
      case RawOp::kIntLess:
        return arg(0) < arg(1);
      case RawOp::kLessEq:
      case RawOp::kIntLessEq:
        return arg(0) <= arg(1);
      case RawOp::kEq:
      case RawOp::kIntEq:
        return arg(0) == arg(1);
      case RawOp::kAnd:
        return arg(0) && arg(1);
      case RawOp::kOr:
        return arg(0) || arg(1);
      case RawOp::kNot:
        return !arg(0);
      case RawOp::kTrue:
        return c_.bool_val(true);
    }
    return c_.bool_val(true);
  }

  // Equal arguments give equal values, for pairs that are not equal by simplification.
  void Congruence() {
    int left = 300;
    for (const auto& [function, uses] : applications_) {
      for (size_t i = 0; i < uses.size(); ++i) {
        for (size_t j = i + 1; j < uses.size() && left > 0; ++j, --left) {
          if (uses[i].second.size() != uses[j].second.size()) continue;
          z3::expr equal = c_.bool_val(true);
          bool comparable = true;
          for (size_t k = 0; k < uses[i].second.size(); ++k) {
            const z3::expr &a = uses[i].second[k], &b = uses[j].second[k];
            comparable = comparable && z3::eq(a.get_sort(), b.get_sort());
            if (comparable) equal = equal && a == b;
          }
          if (!comparable) continue;
          equal = Simplified(equal);
          if (equal.is_false()) continue;
          Define(!equal || pinned_[uses[i].first] == pinned_[uses[j].first]);
        }
      }
    }
  }

  void Limit(z3::solver* solver) {
    z3::params p(c_);
    p.set("timeout", request_.timeout_ms);
    solver->set(p);
  }

  std::string Check(z3::solver* solver) {
    Limit(solver);
    const z3::check_result result = solver->check();
    if (result == z3::unsat) return "equal\nby search\n" + Domain();
    if (result == z3::unknown) return "unknown\n" + solver->reason_unknown() + "\n";
    std::string answer = "different\n";
    z3::model model = solver->get_model();
    for (size_t n = 0; n < request_.nodes.size(); ++n) {
      const Line& line = request_.nodes[n];
      if (line.op != RawOp::kVariable && line.op != RawOp::kIntVariable) continue;
      z3::expr v = model.eval(terms_[n], true);
      std::string text = v.is_arith() && !v.is_int() ? v.get_decimal_string(17) : v.to_string();
      if (!text.empty() && text.back() == '?') text.pop_back();
      if (text.rfind("(- ", 0) == 0) text = "-" + text.substr(3, text.size() - 4);
      answer += line.name + " " + text + "\n";
    }
    return answer;
  }

  void Dump() {
    std::ofstream out(request_.dump);
    for (const std::string& comment : request_.comments) out << "; " << comment << "\n";
    out << "(set-logic ALL)\n" << solver_.to_smt2();
  }

  const Request& request_;
  z3::context c_;
  z3::solver solver_;
  // All that is asserted; what of it defines constants and their ranges, and presupposes nothing.
  z3::expr_vector terms_, facts_, definitions_;
  std::vector<std::pair<size_t, z3::expr>> required_;  // node, premise
  z3::params simplify_;
  z3::expr_vector pinned_;
  std::vector<z3::expr> terms_kept_;
  std::map<std::string, int> applied_;  // position in pinned_
  std::map<std::string, std::vector<std::pair<int, std::vector<z3::expr>>>> applications_;
  std::vector<char> conditional_;
  bool conditional_now_ = false;
  size_t node_now_ = 0;
  int fresh_ = 0;
};

std::string Answer(const char* text) {
  Request request;
  if (!ParseZ3Request(text, &request)) return "unknown\nthe request is not readable\n";
  try {
    return Encoder(request).Decide();
  } catch (const z3::exception& e) {
    return std::string("unknown\n") + e.msg() + "\n";
  } catch (const std::exception& e) {
    return std::string("unknown\n") + e.what() + "\n";
  }
}

}  // namespace

// The answer is to be released with free().
extern "C" __attribute__((visibility("default"))) char* planproof_z3_decide(const char* request) {
  return strdup(Answer(request).c_str());
}
