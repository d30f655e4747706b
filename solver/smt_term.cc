#include "solver/smt_term.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace planproof::solver {

RawId RawArena::Add(RawTerm term) {
  std::string key;
  absl::StrAppend(&key, static_cast<int>(term.op), ":", term.low, ":", term.high, ":",
                  term.value.ToString(), ":");
  for (RawId a : term.args) absl::StrAppend(&key, a, ",");
  key += term.name;
  auto [it, inserted] = ids_.try_emplace(std::move(key), static_cast<RawId>(terms_.size()));
  if (inserted) terms_.push_back(std::move(term));
  return it->second;
}

bool IsReal(const RawTerm& term) { return term.op <= RawOp::kApply; }

namespace {

// The nodes below the roots in ascending order.
std::vector<RawId> Below(const RawArena& arena, const std::vector<RawId>& roots) {
  std::vector<char> seen(arena.size(), 0);
  std::vector<RawId> work = roots, out;
  while (!work.empty()) {
    const RawId id = work.back();
    work.pop_back();
    if (seen[id]) continue;
    seen[id] = 1;
    out.push_back(id);
    for (RawId a : arena[id].args) work.push_back(a);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double Hash(const std::string& name, const std::vector<double>& args) {
  uint64_t h = 1469598103934665603ULL;
  auto mix = [&](uint64_t v) { h = (h ^ v) * 1099511628211ULL, h ^= h >> 29; };
  for (char c : name) mix(static_cast<unsigned char>(c));
  for (double a : args) {
    mix(std::fabs(a) < 1e12 ? static_cast<uint64_t>(std::llround(a * 1e6)) : 7);
  }
  return static_cast<double>(h >> 11) * 0x1p-53;
}

constexpr char kTwoOverSqrtPi[] = "two_over_sqrt_pi";  // an opaque constant of known value
constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

double RealPower(double a, const Rational& exponent) {
  int64_t k;
  if (exponent.ToInt64(&k)) return k < 0 && a == 0 ? kUndefined : std::pow(a, double(k));
  if (a < 0 || (a == 0 && exponent.Sign() < 0)) return kUndefined;
  return std::pow(a, exponent.ToDouble());
}

double ValueOf(const RawTerm& t, const std::vector<double>& a, const RawValues& values) {
  switch (t.op) {
    case RawOp::kRational:
      return t.value.ToDouble();
    case RawOp::kVariable:
    case RawOp::kIntVariable: {
      auto it = values.find(t.name);
      if (it != values.end()) return it->second;
      return t.op == RawOp::kVariable ? 1 : static_cast<double>(t.low);
    }
    case RawOp::kToReal:
      return a[0];
    case RawOp::kAdd: {
      double sum = 0;
      for (double x : a) sum += x;
      return sum;
    }
    case RawOp::kIntAdd:
      return a[0] + a[1];
    case RawOp::kMul:
      return a[0] * a[1];
    case RawOp::kNeg:
      return -a[0];
    case RawOp::kDiv:
      return a[1] == 0 ? kUndefined : a[0] / a[1];
    case RawOp::kPow:
      return RealPower(a[0], t.value);
    case RawOp::kExp:
      return std::exp(a[0]);
    case RawOp::kLog:
      return a[0] > 0 ? std::log(a[0]) : kUndefined;
    case RawOp::kErf:
      return std::erf(a[0]);
    case RawOp::kSin:
      return std::sin(a[0]);
    case RawOp::kCos:
      return std::cos(a[0]);
    case RawOp::kAbs:
      return std::fabs(a[0]);
    case RawOp::kMax:
      return std::isnan(a[0]) || std::isnan(a[1]) ? kUndefined : std::max(a[0], a[1]);
    case RawOp::kMin:
      return std::isnan(a[0]) || std::isnan(a[1]) ? kUndefined : std::min(a[0], a[1]);
    case RawOp::kIte:
    case RawOp::kIntIte:
      return std::isnan(a[0]) ? kUndefined : a[0] != 0 ? a[1] : a[2];
    case RawOp::kApply:
      if (t.name == kTwoOverSqrtPi) return 1.1283791670955126;
      return Hash(t.name, a);
    case RawOp::kIntApply:
      return static_cast<double>(t.low) +
             std::floor(Hash(t.name, a) * static_cast<double>(t.high - t.low + 1));
    case RawOp::kInteger:
      return static_cast<double>(t.low);
    case RawOp::kIntScale:
      return static_cast<double>(t.low) * a[0];
    case RawOp::kIntDiv:
      return std::floor(a[0] / static_cast<double>(t.low));
    case RawOp::kIntMod:
      return a[0] - static_cast<double>(t.low) * std::floor(a[0] / static_cast<double>(t.low));
    case RawOp::kAnd:  // both operands need a value; only branches that are not taken need none
      return a[0] * a[1];
    case RawOp::kOr:
      return std::isnan(a[0]) || std::isnan(a[1]) ? kUndefined : std::max(a[0], a[1]);
    case RawOp::kTrue:
      return 1;
    default:
      break;
  }
  if (std::isnan(a[0]) || (a.size() > 1 && std::isnan(a[1]))) return kUndefined;
  switch (t.op) {
    case RawOp::kLess:
    case RawOp::kIntLess:
      return a[0] < a[1];
    case RawOp::kLessEq:
    case RawOp::kIntLessEq:
      return a[0] <= a[1];
    case RawOp::kEq:
    case RawOp::kIntEq:
      return a[0] == a[1];
    default:
      return a[0] == 0;  // kNot
  }
}

}  // namespace

bool SameRawTerm(const RawArena& a, RawId x, const RawArena& b, RawId y) {
  // A node equals at most one node of the other arena, as both arenas share equal nodes.
  std::vector<RawId> image(a.size(), -1);
  std::vector<std::pair<RawId, RawId>> work = {{x, y}};
  while (!work.empty()) {
    auto [p, q] = work.back();
    work.pop_back();
    if (image[p] == q) continue;
    if (image[p] >= 0) return false;
    image[p] = q;
    const RawTerm &s = a[p], &t = b[q];
    if (s.op != t.op || s.low != t.low || s.high != t.high || s.name != t.name ||
        !(s.value == t.value) || s.args.size() != t.args.size()) {
      return false;
    }
    for (size_t i = 0; i < s.args.size(); ++i) work.push_back({s.args[i], t.args[i]});
  }
  return true;
}

RawNumber EvaluateRaw(const RawArena& arena, RawId root, const RawValues& values) {
  RawNumber out;
  std::vector<double> value(arena.size(), 0);
  for (RawId id : Below(arena, {root})) {
    const RawTerm& t = arena[id];
    std::vector<double> args;
    for (RawId a : t.args) args.push_back(value[a]);
    value[id] = ValueOf(t, args, values);
    out.opaque |= t.op == RawOp::kIntApply || (t.op == RawOp::kApply && t.name != kTwoOverSqrtPi);
    if (IsReal(t) && std::isfinite(value[id])) {
      out.magnitude = std::max(out.magnitude, std::fabs(value[id]));
    }
  }
  out.value = value[root];
  out.defined = std::isfinite(out.value);
  return out;
}

namespace {

// One word for every name, and different words for different names.
std::string Escaped(const std::string& name) {
  if (name.empty()) return "-";
  std::string out;
  for (char c : name) {
    const bool plain = static_cast<unsigned char>(c) > ' ' && c != '|' && c != '\\' && c != '%';
    if (plain) {
      out += c;
    } else {
      absl::StrAppend(&out, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return out;
}

}  // namespace

std::string RawText(const RawArena& arena, const std::vector<RawId>& roots, int first_id,
                    std::vector<int>* ids, int* next_id) {
  std::vector<int> renamed(arena.size(), -1);
  std::string out;
  for (RawId id : Below(arena, roots)) {
    const RawTerm& t = arena[id];
    renamed[id] = first_id++;
    absl::StrAppend(&out, static_cast<int>(t.op), " ", t.low, " ", t.high, " ", t.value.ToString(),
                    " ", Escaped(t.name), " ", t.args.size());
    for (RawId a : t.args) absl::StrAppend(&out, " ", renamed[a]);
    out += "\n";
  }
  ids->clear();
  for (RawId r : roots) ids->push_back(renamed[r]);
  *next_id = first_id;
  return out;
}

}  // namespace planproof::solver
