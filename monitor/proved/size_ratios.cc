#include "monitor/proved/size_ratios.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace planproof::monitor {
namespace {

// Programs write quotients of sizes as doubles, or take float32's.
constexpr double kRatioTolerance = 1e-6;
constexpr size_t kMostRatios = 8;
constexpr int kMostFactors = 3;
constexpr int kMostBeside = 2;  // as in a length less the first and the last position

bool IsNear(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

void SizeRatios::Add(int64_t proved, int64_t run) {
  if (proved == run || proved <= 0 || run <= 0 || ratios_.size() >= kMostRatios) return;
  const double ratio = static_cast<double>(run) / static_cast<double>(proved);
  for (const double known : ratios_) {
    if (IsNear(known, ratio, kRatioTolerance)) return;
  }
  ratios_.push_back(ratio);
  std::vector<double> factors = {1.0};
  for (const double each : ratios_) {
    factors.insert(factors.end(), {each, 1 / each, std::sqrt(each), 1 / std::sqrt(each)});
  }
  products_ = {1.0};
  for (int count = 0; count < kMostFactors; ++count) {
    std::vector<double> more;
    for (const double product : products_) {
      for (const double factor : factors) more.push_back(product * factor);
    }
    std::sort(more.begin(), more.end());
    const auto near = [](double a, double b) { return IsNear(a, b, kRatioTolerance / 16); };
    more.erase(std::unique(more.begin(), more.end(), near), more.end());
    products_ = std::move(more);
  }
}

bool SizeRatios::IsProduct(double ratio) const {
  const double least = ratio * (1 - kRatioTolerance);
  const auto at = std::lower_bound(products_.begin(), products_.end(), least);
  return at != products_.end() && *at <= ratio * (1 + kRatioTolerance);
}

bool SizeRatios::Explain(double proved, double run) const {
  if (proved == run || IsNear(proved, run, 1e-12)) return true;
  if (empty() || !(proved * run > 0)) return false;
  if (IsProduct(run / proved)) return true;
  if (proved != std::floor(proved) || run != std::floor(run)) return false;
  for (int beside = -kMostBeside; beside <= kMostBeside; ++beside) {
    const double a = proved + beside, b = run + beside;
    if (a * b > 0 && IsProduct(b / a)) return true;
  }
  return false;
}

}  // namespace planproof::monitor
