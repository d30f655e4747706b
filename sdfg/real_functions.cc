#include "sdfg/real_functions.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "sdfg/reinterpreted_bits.h"

namespace planproof::sdfg {
namespace {

constexpr std::string_view kRound = "round(decimals=";

struct RealFunction {
  const char* name;
  const char* numpy;
  double (*of_one)(double);
  double (*of_two)(double, double);  // exactly one of these is there
};

double Sinc(double x) {
  const double angle = 3.141592653589793 * x;
  return x == 0 ? 1 : std::sin(angle) / angle;
}

const RealFunction* FindRealFunction(const std::string& name) {
  static constexpr RealFunction kFunctions[] = {
      {"floor", "np.floor(", [](double x) { return std::floor(x); }, nullptr},
      {"asin", "np.arcsin(", [](double x) { return std::asin(x); }, nullptr},
      {"acos", "np.arccos(", [](double x) { return std::acos(x); }, nullptr},
      {"atan", "np.arctan(", [](double x) { return std::atan(x); }, nullptr},
      {"atan2", "np.arctan2(", nullptr, [](double y, double x) { return std::atan2(y, x); }},
      {"lgamma", "", [](double x) { return std::lgamma(x); }, nullptr},
      {"sinc", "np.sinc(", Sinc, nullptr}};
  for (const RealFunction& function : kFunctions) {
    if (name == function.name) return &function;
  }
  return nullptr;
}

std::optional<int> DecimalsOf(const std::string& name) {
  if (name.compare(0, kRound.size(), kRound) != 0) return std::nullopt;
  return std::atoi(name.c_str() + kRound.size());
}

}  // namespace

std::optional<double> RealFunctionValue(const std::string& name,
                                        const std::vector<double>& arguments) {
  const RealFunction* function = FindRealFunction(name);
  if (function != nullptr && function->of_two != nullptr && arguments.size() == 2) {
    return function->of_two(arguments[0], arguments[1]);
  }
  if (arguments.size() != 1) return std::nullopt;
  if (const std::optional<int> decimals = DecimalsOf(name)) {
    const double scale = std::pow(10.0, std::abs(*decimals));
    return *decimals < 0 ? std::nearbyint(arguments[0] / scale) * scale
                         : std::nearbyint(arguments[0] * scale) / scale;
  }
  if (const std::optional<Reinterpretation> bits = ReinterpretationOf(name)) {
    const std::optional<double> written = RoundedTo(bits->of, arguments[0]);
    const std::optional<double> read = written ? Reinterpreted(*bits, *written) : std::nullopt;
    return read.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  if (function == nullptr || function->of_one == nullptr) return std::nullopt;
  return function->of_one(arguments[0]);
}

std::string NumpyCallOf(const std::string& name) {
  const RealFunction* function = FindRealFunction(name);
  return function == nullptr ? "" : function->numpy;
}

}  // namespace planproof::sdfg
