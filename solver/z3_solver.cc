#include "solver/z3_solver.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "solver/shared_module.h"

namespace planproof::solver {

namespace {

using DecideFunction = char* (*)(const char*);

struct Module {
  DecideFunction decide = nullptr;
  std::string missing;
};

const Module& LoadedModule() {
  static const Module* const module = [] {
    auto* m = new Module;
    SharedModule shared = LoadSharedModule({"libplanproof_z3.so",
                                            "PLANPROOF_Z3_MODULE",
                                            "solver",
                                            "Z3",
                                            "libz3-dev",
                                            {"libz3", PLANPROOF_Z3_LIBRARY, "libz3-4"}});
    m->decide = reinterpret_cast<DecideFunction>(shared.Find("planproof_z3_decide"));
    m->missing = shared.missing;
    return m;
  }();
  return *module;
}

// Names and kinds of the variables below the roots.
void CollectVariables(const RawArena& arena, std::vector<RawTerm>* out) {
  for (size_t id = 0; id < arena.size(); ++id) {
    const RawTerm& t = arena[static_cast<RawId>(id)];
    if (t.op == RawOp::kVariable || t.op == RawOp::kIntVariable) out->push_back(t);
  }
}

// Both sides are defined, the premises hold and the values are apart by far more than rounding.
bool Confirmed(const SmtQuestion& q, const RawValues& values, SmtAnswer* answer) {
  const RawNumber l = EvaluateRaw(*q.left_arena, q.left, values);
  const RawNumber r = EvaluateRaw(*q.right_arena, q.right, values);
  if (!l.defined || !r.defined || l.opaque || r.opaque) return false;
  for (RawId p : q.left_premises) {
    if (EvaluateRaw(*q.left_arena, p, values).value != 1) return false;
  }
  for (RawId p : q.right_premises) {
    if (EvaluateRaw(*q.right_arena, p, values).value != 1) return false;
  }
  if (std::fabs(l.value - r.value) <= 1e-7 * (l.magnitude + r.magnitude)) return false;
  answer->left = l.value;
  answer->right = r.value;
  answer->model = values;
  return true;
}

// Integers that are tried: what is computed from them is exact in floating point.
constexpr int64_t kFarEnough = 1000;

// The model's values first; then other values, as a model may be right about the difference and
// wrong about functions of which Z3 knows little.
bool Confirm(const SmtQuestion& q, const RawValues& model, SmtAnswer* answer) {
  if (Confirmed(q, model, answer)) return true;
  std::vector<RawTerm> variables;
  CollectVariables(*q.left_arena, &variables);
  CollectVariables(*q.right_arena, &variables);
  std::mt19937_64 random(17);
  for (int attempt = 0; attempt < 20; ++attempt) {
    RawValues values;
    for (const RawTerm& v : variables) {
      if (v.op == RawOp::kIntVariable) {
        values[v.name] = std::uniform_int_distribution<int64_t>(
            std::clamp(-kFarEnough, v.low, v.high), std::clamp(kFarEnough, v.low, v.high))(random);
      } else {
        const double x = std::uniform_real_distribution<double>(-2, 2)(random);
        values[v.name] = v.low == 1 || v.low == 2 ? std::fabs(x) + 0.01 : x;
      }
    }
    if (Confirmed(q, values, answer)) return true;
  }
  return false;
}

std::string RequestText(const SmtQuestion& q) {
  std::vector<RawId> left_roots = {q.left}, right_roots = {q.right};
  left_roots.insert(left_roots.end(), q.left_premises.begin(), q.left_premises.end());
  right_roots.insert(right_roots.end(), q.right_premises.begin(), q.right_premises.end());
  std::vector<int> left, right;
  int count = 0;
  std::string nodes = RawText(*q.left_arena, left_roots, 0, &left, &count);
  const int left_count = count;
  nodes += RawText(*q.right_arena, right_roots, count, &right, &count);
  std::string out = absl::StrCat("timeout_ms ", static_cast<int64_t>(q.timeout_s * 1000), "\n");
  if (q.ask_domain) out += "domain\n";
  if (!q.dump_file.empty()) absl::StrAppend(&out, "dump ", q.dump_file, "\n");
  for (std::string comment : q.comments) {
    for (char& c : comment) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    absl::StrAppend(&out, "comment ", comment, "\n");
  }
  absl::StrAppend(&out, "nodes ", count, " ", left_count, "\n", nodes, "compare ", left[0], " ",
                  right[0], "\n");
  for (size_t k = 1; k < left.size(); ++k) absl::StrAppend(&out, "premise ", left[k], "\n");
  for (size_t k = 1; k < right.size(); ++k) absl::StrAppend(&out, "premise ", right[k], "\n");
  return out + "end\n";
}

}  // namespace

const std::string& Z3Missing() { return LoadedModule().missing; }

SmtAnswer AskZ3(const SmtQuestion& question) {
  SmtAnswer answer;
  const Module& module = LoadedModule();
  if (module.decide == nullptr) {
    answer.reason = module.missing;
    return answer;
  }
  char* raw = module.decide(RequestText(question).c_str());
  std::istringstream in(raw == nullptr ? "" : raw);
  free(raw);
  std::string verdict;
  std::getline(in, verdict);
  if (verdict == "equal") {
    answer.verdict = SmtVerdict::kEqual;
    std::getline(in, answer.reason);
    std::string domain;
    std::getline(in, domain);
    answer.defined = domain == "defined";
  } else if (verdict == "different") {
    RawValues model;
    std::string name, value;
    while (in >> name >> value) model[name] = std::strtod(value.c_str(), nullptr);
    if (Confirm(question, model, &answer)) {
      answer.verdict = SmtVerdict::kDifferent;
    } else {
      answer.reason = "Z3's model does not show a difference in numbers";
    }
  } else {
    std::getline(in, answer.reason);
    if (answer.reason.empty()) answer.reason = "no answer from Z3";
  }
  return answer;
}

}  // namespace planproof::solver
