#include "runtime_check/opaque_values.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "sdfg/differentiate.h"
#include "sdfg/real_functions.h"
#include "shape_reduction/opaque_functions.h"

namespace planproof::runtime_check {
namespace {

// The `count` best items by score, best first, ties to the smaller.
std::vector<int64_t> Best(std::vector<int64_t> items, const std::vector<double>& score,
                          int64_t count) {
  const auto better = [&](int64_t a, int64_t b) {
    return score[a] > score[b] || (score[a] == score[b] && a < b);
  };
  count = std::clamp<int64_t>(count, 0, static_cast<int64_t>(items.size()));
  std::partial_sort(items.begin(), items.begin() + count, items.end(), better);
  items.resize(count);
  return items;
}

std::vector<int64_t> Numbers(int64_t first, int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

std::vector<int64_t> Chosen(const OpaqueFunction& f, std::vector<double> row) {
  // What is not a number is no better than anything.
  for (double& value : row) value = std::isnan(value) ? -HUGE_VAL : value;
  const auto n = static_cast<int64_t>(row.size());
  if (f.groups <= 1 || f.kept_groups >= f.groups || n % f.groups != 0)
    return Best(Numbers(0, n), row, f.k);
  const int64_t size = n / f.groups;
  std::vector<double> scores;
  for (int64_t g = 0; g < f.groups; ++g) {
    double score = 0;
    for (const int64_t i : Best(Numbers(g * size, size), row, f.group_by_two ? 2 : 1))
      score += row[i];
    scores.push_back(std::isnan(score) ? -HUGE_VAL : score);
  }
  std::vector<int64_t> items;
  for (const int64_t g : Best(Numbers(0, f.groups), scores, f.kept_groups)) {
    const std::vector<int64_t> members = Numbers(g * size, size);
    items.insert(items.end(), members.begin(), members.end());
  }
  return Best(std::move(items), row, f.k);
}

// In (0, 1).
double Smooth(uint64_t seed, const std::vector<double>& row, const std::vector<double>& scalars) {
  double phase = 0;
  const auto add = [&](double value) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    phase += value * (0.5 + static_cast<double>(seed >> 11) * 0x1p-53);
  };
  add(1);
  for (const double value : row) add(value);
  for (const double value : scalars) add(value);
  return 0.5 + 0.499 * std::sin(phase);
}

uint64_t SeedOf(const std::string& name) {
  uint64_t seed = OpaqueFunction().seed;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return seed;
}

}  // namespace

OpaqueFunction OpaqueNamed(const std::string& name) {
  using Kind = OpaqueFunction::Kind;
  static const auto* const of_python = new std::map<std::string, Kind>{
      {"python_floor", Kind::kFloor},          {"python_ceil", Kind::kCeil},
      {"python_round", Kind::kRound},          {"python_abs", Kind::kAbs},
      {"python_floordiv", Kind::kFloorDivide}, {"python_mod", Kind::kModulo}};
  OpaqueFunction f;
  if (name == sdfg::kTwoOverSqrtPi) {
    f.kind = Kind::kConstant;
    f.constant = 1.1283791670955126;
    return f;
  }
  const shape_reduction::OpaqueName parsed = shape_reduction::ParseOpaqueName(name);
  if (parsed.base.starts_with("topk")) {
    f.kind = Kind::kTopK;
    f.k = parsed.Get("k", 1);
    f.groups = parsed.Get("groups", 1);
    f.kept_groups = parsed.Get("topk_groups", 1);
    f.group_by_two = parsed.Is("group_score", "top2_sum");
  } else if (parsed.base.starts_with("truncate_to_") || parsed.base == "python_int") {
    f.kind = Kind::kTruncate;
  } else if (const auto known = of_python->find(parsed.base); known != of_python->end()) {
    f.kind = known->second;
  } else if (sdfg::RealFunctionValue(name, {0.5}) || sdfg::RealFunctionValue(name, {0.5, 0.5})) {
    f.kind = Kind::kReal;
    f.real = name;
    f.seed = SeedOf(name);
  } else {
    f.seed = SeedOf(name);
  }
  return f;
}

double OpaqueValue(const OpaqueFunction& f, bool int_valued, const std::vector<double>& row,
                   const std::vector<double>& scalars) {
  switch (f.kind) {
    case OpaqueFunction::Kind::kConstant:
      return f.constant;
    case OpaqueFunction::Kind::kTruncate:
      return scalars.empty() ? 0 : std::trunc(scalars[0]);
    case OpaqueFunction::Kind::kFloor:
      return scalars.empty() ? 0 : std::floor(scalars[0]);
    case OpaqueFunction::Kind::kCeil:
      return scalars.empty() ? 0 : std::ceil(scalars[0]);
    case OpaqueFunction::Kind::kRound:
      return scalars.empty() ? 0 : std::nearbyint(scalars[0]);
    case OpaqueFunction::Kind::kAbs:
      return scalars.empty() ? 0 : std::fabs(scalars[0]);
    case OpaqueFunction::Kind::kFloorDivide:
      return scalars.size() < 2 ? 0 : std::floor(scalars[0] / scalars[1]);
    case OpaqueFunction::Kind::kModulo:
      return scalars.size() < 2 ? 0 : scalars[0] - scalars[1] * std::floor(scalars[0] / scalars[1]);
    case OpaqueFunction::Kind::kTopK: {
      const std::vector<int64_t> chosen = Chosen(f, row);
      const double place = scalars.empty() ? 0 : scalars[0];
      if (!(place >= 0 && place < static_cast<double>(chosen.size())))
        return int_valued ? -1 : std::nan("");
      const auto position = static_cast<size_t>(place);
      return int_valued ? static_cast<double>(chosen[position]) : row[chosen[position]];
    }
    case OpaqueFunction::Kind::kReal:
      return sdfg::RealFunctionValue(f.real, scalars).value_or(std::nan(""));
    case OpaqueFunction::Kind::kUnknown:
      break;
  }
  const double value = Smooth(f.seed, row, scalars);
  return int_valued ? std::floor(value * std::max<double>(1, static_cast<double>(row.size())))
                    : value;
}

}  // namespace planproof::runtime_check
