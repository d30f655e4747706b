#include "tests/random/ring_writer.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace planproof::random_tests {

namespace {

constexpr int kFeatures = 2;

constexpr char kOperators[] = R"--(
 "op scale(x[b.., i, j]) -> y[b.., i, j] = 0.25 * x[b.., i, j]",
 "op curve(x[b.., i, j]) -> y[b.., i, j] = x[b.., i, j] / (1 + x[b.., i, j] ^ 2)",
 "op product(x[b.., i, j], z[b.., i, j]) -> y[b.., i, j] = x[b.., i, j] * z[b.., i, j] / (1 + z[b.., i, j] ^ 2)",
 "op less(s[b.., i, j], m[b.., i]) -> y[b.., i, j] = s[b.., i, j] - m[b.., i]",
 "op damped(s[b.., i, j], l[b.., i]) -> y[b.., i, j] = s[b.., i, j] / (1 + l[b.., i] ^ 2)",
 "op share(s[b.., i, j], m[b.., i], l[b.., i]) -> y[b.., i, j] = exp(s[b.., i, j] - m[b.., i]) / l[b.., i]",
 "op hide(mask[j]) -> b[j] = where(mask[j] != 0, 0, HIDDEN)",
 "op masked(s[b.., i, j], h[j]) -> y[b.., i, j] = s[b.., i, j] + h[j]",
 "op seen(s[b.., i, j], m[b.., i]) -> y[b.., i, j] = where(exp(m[b.., i]) > 0, s[b.., i, j], 0)",
 "op next_max(before[b.., i], s[b.., i, j]) stop_gradient ties first",
 "  -> m[b.., i] = max(before[b.., i], max(j: s[b.., i, j]))",
 "op next_max_turned(before[b.., i], s[b.., i, j]) stop_gradient ties first",
 "  -> m[b.., i] = max(max(j: s[b.., i, j]), before[b.., i])",
 "op weights(s[b.., i, j], m[b.., i]) -> p[b.., i, j] = exp(s[b.., i, j] - m[b.., i])",
 "op next_sum(before[b.., i], m0[b.., i], m1[b.., i], p[b.., i, j])",
 "  -> l[b.., i] = before[b.., i] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j])",
 "op next_sum_turned(before[b.., i], m0[b.., i], m1[b.., i], p[b.., i, j])",
 "  -> l[b.., i] = sum(j: p[b.., i, j]) + exp(m0[b.., i] - m1[b.., i]) * before[b.., i]",
 "op next_result(before[b.., i, d], m0[b.., i], m1[b.., i], p[b.., i, j], v[b.., j, d])",
 "  -> o[b.., i, d] = before[b.., i, d] * exp(m0[b.., i] - m1[b.., i]) + sum(j: p[b.., i, j] * v[b.., j, d])",
 "op same(x[b.., i]) -> y[b.., i] = x[b.., i]")--";

constexpr char kLast[] = R"("attrs": {"dim": -1})";

std::string Equation(const char* equation) {
  return absl::StrCat(R"("attrs": {"equation": ")", equation, "\"}");
}

std::string At(const std::string& name, int round) { return absl::StrCat(name, "[", round, "]"); }
std::string BaseOf(const std::string& name) { return name.substr(0, name.find('[')); }
int RoundOf(const std::string& name) {
  const size_t at = name.find('[');
  return at == std::string::npos ? 0 : std::atoi(name.c_str() + at + 1);
}

}  // namespace

RingWriter::RingWriter(uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {
  constexpr int kRanks[] = {8, 8, 9, 12};
  ranks_ = kRanks[Random(4)];
  shift_ = Random(2) == 0 ? 1 : ranks_ - 1;
  copies_ = 1 + Random(2);
  rows_ = 1 + Random(2);
  positions_ = 1 + Random(2);
  hidden_ = Random(3) == 0 ? "-7" : "-inf";
}

std::string RingWriter::In(int value, int round) const {
  const Value& v = values_[value];
  if (!v.of_rounds) return v.plan;
  return round == 0 && !v.first.empty() ? v.first : At(v.plan, round);
}

int RingWriter::Pick(Kind kind, bool of_rounds) {
  std::vector<int> fit;
  for (size_t v = 0; v < values_.size(); ++v) {
    const Value& value = values_[v];
    if (value.kind == kind && value.of_rounds == of_rounds && value.maximum < 0)
      fit.push_back(static_cast<int>(v));
  }
  return fit.empty() ? -1 : fit[Random(static_cast<int>(fit.size()))];
}

int RingWriter::Add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<int>(values_.size()) - 1;
}

void RingWriter::Model(const char* name, const std::vector<int>& inputs, const std::string& output,
                       const std::string& attributes) {
  Operator& op = model_.emplace_back();
  op.name = name;
  for (const int input : inputs) op.inputs.push_back(values_[input].model);
  op.output = output;
  op.attributes = attributes;
}

void RingWriter::Plan(const char* name, std::vector<std::string> inputs, const std::string& output,
                      Kind kind, const std::string& attributes, int shift) {
  plan_.push_back({name, std::move(inputs), output, attributes, shift, kind});
}

std::string RingWriter::Json(const Operator& op) const {
  std::string text =
      absl::StrCat(R"({"op": ")", op.name, R"(", "in": [")", absl::StrJoin(op.inputs, "\", \""),
                   R"("], "out": ")", op.output, "\"");
  if (op.shift != 0) absl::StrAppend(&text, R"(, "over": "cp", "shift": )", op.shift);
  if (!op.attributes.empty()) absl::StrAppend(&text, ", ", op.attributes);
  return text + "}";
}

int RingWriter::InRounds(const char* name, const std::vector<int>& inputs, Kind kind,
                         const char* what, const std::string& attributes) {
  const std::string made = Fresh(what);
  Model(name, inputs, made, attributes);
  for (int r = 0; r < ranks_; ++r) {
    std::vector<std::string> operands;
    for (const int input : inputs) operands.push_back(In(input, r));
    Plan(name, std::move(operands), At(made, r), kind, attributes);
  }
  absl::StrAppend(&steps_, steps_.empty() ? "" : ", ", name, " ", made);
  return Add({made, made, kind, true});
}

int RingWriter::Travel(int piece) {
  const Value& value = values_[piece];
  const std::string name = Fresh("held");
  std::string before = value.plan;
  for (int r = 1; r < ranks_; ++r) {
    Plan("permute", {before}, At(name, r), value.kind, "", shift_);
    before = At(name, r);
  }
  absl::StrAppend(&steps_, steps_.empty() ? "" : ", ", "travel ", value.model, " as ", name);
  return Add({value.model, name, value.kind, true, value.plan});
}

int RingWriter::RunningMaximum(int scores) {
  const std::string made = Fresh("max");
  Model("max", {scores}, made, kLast);
  const char* next = Random(2) == 0 ? "next_max" : "next_max_turned";
  Plan("max", {In(scores, 0)}, At(made, 0), Kind::kRow, kLast);
  for (int r = 1; r < ranks_; ++r)
    Plan(next, {At(made, r - 1), In(scores, r)}, At(made, r), Kind::kRow);
  absl::StrAppend(&steps_, ", running ", made, " of ", values_[scores].model);
  const int last = Add({made, At(made, ranks_ - 1), Kind::kRow, false});
  const int maximum = Add({made, made, Kind::kRow, true});
  softmaxes_.push_back({scores, maximum, last});
  return maximum;
}

int RingWriter::Total(const char* name, const std::vector<int>& inputs, Kind kind,
                      const std::string& attributes) {
  const std::string made = Fresh("total");
  Model(name, inputs, made, attributes);
  const std::string term = made + ".term";
  const bool turned = Random(4) == 0;
  for (int r = 0; r < ranks_; ++r) {
    std::vector<std::string> operands;
    for (const int input : inputs) operands.push_back(In(input, r));
    Plan(name, std::move(operands), At(term, r), kind, attributes);
    if (r == 0) continue;
    std::vector<std::string> both = {r == 1 ? At(term, 0) : At(made, r - 1), At(term, r)};
    if (turned) std::swap(both[0], both[1]);
    Plan("add", both, At(made, r), kind);
  }
  absl::StrAppend(&steps_, ", ", made, " of ", name, " ", values_[inputs[0]].model);
  const int total = Add({made, At(made, ranks_ - 1), kind, false});
  required_.push_back(total);
  return total;
}

int RingWriter::TravellingTotal(int scores, int rows) {
  const std::string made = Fresh("home"), equation = Equation("bqk,bqd->bkd");
  Model("einsum", {scores, rows}, made, equation);
  const std::string term = made + ".term", handed = made + ".handed";
  std::string sum;
  for (int r = 0; r < ranks_; ++r) {
    Plan("einsum", {In(scores, r), In(rows, r)}, At(term, r), Kind::kPiece, equation);
    if (r > 0) {
      Plan("permute", {sum}, At(handed, r), Kind::kPiece, "", shift_);
      Plan("add", {At(handed, r), At(term, r)}, At(made, r), Kind::kPiece);
    }
    sum = At(r == 0 ? term : made, r);
  }
  Plan("permute", {sum}, made, Kind::kPiece, "", shift_);
  absl::StrAppend(&steps_, ", ", made, " of ", values_[scores].model, ", travelling");
  const int total = Add({made, made, Kind::kPiece, false});
  required_.push_back(total);
  return total;
}

int RingWriter::RescaledTotal(int weights, int piece) {
  const std::string maximum = values_[values_[weights].maximum].plan;
  const std::string made = Fresh("rescaled"), equation = Equation("bqk,bkd->bqd");
  const Kind kind = piece < 0 ? Kind::kRow : Kind::kRows;
  const char* next = piece >= 0 ? "next_result" : Random(2) == 0 ? "next_sum" : "next_sum_turned";
  if (piece < 0) {
    Model("sum", {weights}, made, kLast);
    Plan("sum", {In(weights, 0)}, At(made, 0), kind, kLast);
  } else {
    Model("einsum", {weights, piece}, made, equation);
    Plan("einsum", {In(weights, 0), In(piece, 0)}, At(made, 0), kind, equation);
  }
  for (int r = 1; r < ranks_; ++r) {
    std::vector<std::string> operands = {At(made, r - 1), At(maximum, r - 1), At(maximum, r),
                                         In(weights, r)};
    if (piece >= 0) operands.push_back(In(piece, r));
    Plan(next, std::move(operands), At(made, r), kind);
  }
  absl::StrAppend(&steps_, ", ", made, " of ", values_[weights].model);
  const int total = Add({made, At(made, ranks_ - 1), kind, false});
  required_.push_back(total);
  for (Softmax& softmax : softmaxes_) {
    if (piece < 0 && softmax.maximum == values_[weights].maximum) softmax.sum = total;
  }
  return total;
}

// Shares of scores in a softmax, with the maximum and the sum of all rounds, as backward passes
// read them. False if there is no such sum.
bool RingWriter::Shares() {
  for (const Softmax& softmax : softmaxes_) {
    if (softmax.sum < 0 || Random(2) == 0) continue;
    InRounds("share", {softmax.scores, softmax.last, softmax.sum}, Kind::kScores, "share");
    return true;
  }
  return false;
}

// Scores of which those at hidden positions are -infinity, or less.
void RingWriter::Mask() {
  const int scores = Pick(Kind::kScores, true);
  const bool travels = Random(2) == 0;  // what hides them, else the mask that it is made from
  int hidden = -1;
  if (travels) {
    const std::string made = Fresh("hidden");
    const int mask = Pick(Kind::kMask, false);
    Model("hide", {mask}, made);
    Plan("hide", {values_[mask].plan}, made, Kind::kBias);
    hidden = Travel(Add({made, made, Kind::kBias, false}));
  } else {
    hidden = InRounds("hide", {Travel(Pick(Kind::kMask, false))}, Kind::kBias, "hidden");
  }
  InRounds("masked", {scores, hidden}, Kind::kScores, "s");
}

bool RingWriter::Step() {
  const int scores = Pick(Kind::kScores, true), piece = Pick(Kind::kPiece, true);
  const int rows = Pick(Kind::kRows, false), row = Pick(Kind::kRow, false);
  std::vector<int> weights;
  for (size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].maximum >= 0) weights.push_back(static_cast<int>(v));
  }
  const int some = weights.empty() ? -1 : weights[Random(static_cast<int>(weights.size()))];
  switch (Random(16)) {
    case 0:
      InRounds(Random(2) == 0 ? "scale" : "curve", {scores}, Kind::kScores, "s");
      return true;
    case 1:
      InRounds("product", {scores, Pick(Kind::kScores, true)}, Kind::kScores, "s");
      return true;
    case 2:
      if (row < 0) return false;
      InRounds(Random(2) == 0 ? "less" : "damped", {scores, row}, Kind::kScores, "s");
      return true;
    case 3:
      InRounds("einsum", {rows, piece}, Kind::kScores, "s", Equation("bqd,bkd->bqk"));
      return true;
    case 4:
      InRounds(Random(2) == 0 ? "scale" : "curve", {piece}, Kind::kPiece, "piece");
      return true;
    case 5:
      Total("sum", {scores}, Kind::kRow, kLast);
      return true;
    case 6:
      Total("einsum", {scores, piece}, Kind::kRows, Equation("bqk,bkd->bqd"));
      return true;
    case 7: {
      const int home = TravellingTotal(scores, rows);
      if (Random(4) == 0) Travel(home);
      return true;
    }
    case 8:
    case 9: {
      const int maximum = RunningMaximum(scores);
      // Of these scores: exponentials of others could leave the range of doubles.
      values_[InRounds("weights", {scores, maximum}, Kind::kScores, "w")].maximum = maximum;
      return true;
    }
    case 10:
    case 11:
      if (some < 0) return false;
      RescaledTotal(some, Random(2) == 0 ? piece : -1);
      return true;
    case 12:
    case 13:
      return Shares();
    case 14:
      if (row < 0) return false;
      InRounds(Random(3) == 0 ? "seen" : "less", {scores, row}, Kind::kScores, "s");
      return true;
    default:
      if (values_.size() > 12) return false;
      Mask();
      return true;
  }
}

void RingWriter::Write() {
  const auto input = [&](const char* name, Kind kind) { return Add({name, name, kind, false}); };
  const int q = input("q", Kind::kRows), k = input("k", Kind::kPiece), v = input("v", Kind::kPiece);
  input("g", Kind::kRows);
  input("mask", Kind::kMask);
  const int keys = Travel(k);
  if (Random(2) == 0) Travel(v);
  InRounds("einsum", {q, keys}, Kind::kScores, "s", Equation("bqd,bkd->bqk"));
  constexpr int kSteps = 9;
  const int steps = 3 + Random(kSteps - 2);
  for (int k = 0; k < steps; ++k) {
    while (!Step()) {
    }
  }
  // What nothing reads would hide faults.
  std::set<std::string> read;
  for (const Operator& op : model_) read.insert(op.inputs.begin(), op.inputs.end());
  const size_t count = values_.size();
  for (size_t u = 0; u < count; ++u) {
    const Value value = values_[u];
    if (value.kind != Kind::kScores || read.count(value.model) != 0) continue;
    if (value.maximum >= 0) {
      RescaledTotal(static_cast<int>(u), -1);
      if (Random(2) == 0 && Shares())
        TravellingTotal(static_cast<int>(values_.size()) - 1, Pick(Kind::kRows, false));
    } else if (Random(2) == 0) {
      Total("sum", {static_cast<int>(u)}, Kind::kRow, kLast);
    } else {
      TravellingTotal(static_cast<int>(u), Pick(Kind::kRows, false));
    }
  }
  for (const int value : required_) {
    const Value& v = values_[value];
    Model("same", {value}, v.model + ".out");
    Plan("same", {v.plan}, v.model + ".out", v.kind);
  }
}

// The plan's name of what `base` stands for in a round.
std::string RingWriter::NameIn(const std::string& base, int round) const {
  for (const Value& value : values_) {
    if (value.plan == base && !value.of_rounds) return base;
    if (value.plan == base && round == 0 && !value.first.empty()) return value.first;
  }
  return At(base, round);
}

std::string RingWriter::PutInFault() {
  std::map<std::string, int> made;  // by name: where in the plan
  std::map<std::string, Kind> kinds;
  std::map<std::string, std::vector<int>> groups;  // operators of all rounds, by what they make
  std::set<std::string> bases;
  for (const char* name : {"q", "k", "v", "g", "mask"}) made[name] = -1;
  for (const Value& value : values_) {
    if (!value.of_rounds) kinds[value.plan] = value.kind;
    bases.insert(BaseOf(value.plan));
  }
  for (size_t o = 0; o < plan_.size(); ++o) {
    const std::string& output = plan_[o].output;
    made[output] = static_cast<int>(o);
    kinds[output] = plan_[o].kind;
    groups[BaseOf(output)].push_back(static_cast<int>(o));
    bases.insert(BaseOf(output));
  }
  const auto any_of = [&](const auto& things) {
    return *std::next(things.begin(), Random(static_cast<int>(things.size())));
  };
  constexpr int kAttempts = 500;
  for (int k = 0; k < kAttempts; ++k) {
    const std::vector<int> group = any_of(groups).second;
    const int which = Random(3);
    const int chosen = which == 0 ? group.front() : which == 1 ? group.back() : any_of(group);
    if (plan_[chosen].shift != 0 && Random(3) == 0) {
      plan_[chosen].shift = shift_ == 1 ? ranks_ - 1 : 2;
      return absl::StrCat(plan_[chosen].output, " is handed on by ", plan_[chosen].shift);
    }
    const bool all = Random(2) == 0;
    const std::string name = plan_[chosen].name, base = any_of(bases);
    const size_t operand =
        static_cast<size_t>(Random(static_cast<int>(plan_[chosen].inputs.size())));
    const int from = Random(5);  // mostly of the same round, or the one before
    std::string first;
    for (const int o : group) {
      Operator& op = plan_[o];
      if (all ? op.name != name : o != chosen) continue;
      const int round = RoundOf(op.output);
      const int of = from < 2 ? round : from == 2 ? round - 1 : from == 3 ? 0 : ranks_ - 1;
      const std::string is = NameIn(base, std::max(of, 0));
      const auto at = made.find(is);
      std::string& was = op.inputs[operand];
      if (at == made.end() || at->second >= o || is == was || kinds.at(is) != kinds.at(was))
        continue;
      if (first.empty()) first = absl::StrCat(op.output, " reads ", is, " for ", was);
      was = is;
    }
    if (!first.empty()) return absl::StrCat(first, all ? ", and so do all alike" : "");
  }
  return "";
}

std::string RingWriter::Text() const {
  const std::string copies = copies_ > 1 ? R"("0": "dp", )" : "";
  std::vector<std::string> model, plan, outputs;
  for (const Operator& op : model_) model.push_back(Json(op));
  for (const Operator& op : plan_) plan.push_back(Json(op));
  for (const int value : required_) {
    outputs.push_back(
        absl::StrCat("\"", values_[value].model, ".out\": {", copies, R"("1": "cp"})"));
  }
  const std::string rows = absl::StrCat("[", copies_, ", ", ranks_ * rows_, ", ", kFeatures, "]");
  const std::string pieces =
      absl::StrCat("[", copies_, ", ", ranks_ * positions_, ", ", kFeatures, "]");
  return absl::StrReplaceAll(
      R"({"planproof": 1, "operators": [OPERATORS], "specification": {
          "inputs": {"q": ROWS, "g": ROWS, "k": PIECES, "v": PIECES, "mask": "bool[POSITIONS]"},
          "operators": [MODEL],
          "outputs": {OUTPUTS}},
        "plan": {"mesh": {DP"cp": RANKS}, "programs": [{
          "inputs": {"q": {SHARD}, "g": {SHARD}, "k": {SHARD}, "v": {SHARD}, "mask": {"0": "cp"}},
          "operators": [PLAN]}]}})",
      {{"OPERATORS", absl::StrReplaceAll(kOperators, {{"HIDDEN", hidden_}})},
       {"ROWS", rows},
       {"PIECES", pieces},
       {"POSITIONS", absl::StrCat(ranks_ * positions_)},
       {"MODEL", absl::StrJoin(model, ",\n")},
       {"OUTPUTS", absl::StrJoin(outputs, ", ")},
       {"DP", copies_ > 1 ? absl::StrCat("\"dp\": ", copies_, ", ") : ""},
       {"RANKS", absl::StrCat(ranks_)},
       {"SHARD", absl::StrCat(copies, R"("1": "cp")")},
       {"PLAN", absl::StrJoin(plan, ",\n")}});
}

}  // namespace planproof::random_tests
