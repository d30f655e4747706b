#include "frontend/torch/python_functions.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace planproof::frontend::torch {
namespace {

// From here on not every whole number is a double.
constexpr double kWholeDoubles = 0x1p53;
// Digits behind the point up to which round(x, digits) is defined here.
constexpr double kMostDigits = 30;

struct OfOne {
  std::string_view name;
  double (*apply)(double);
  bool exact;
};

// As IEEE 754 and Python define them to the last bit, or by the mathematical library.
constexpr OfOne kOfOne[] = {
    {"int", [](double x) { return std::trunc(x); }, true},
    {"trunc", [](double x) { return std::trunc(x); }, true},
    {"floor", [](double x) { return std::floor(x); }, true},
    {"ceil", [](double x) { return std::ceil(x); }, true},
    // Half to even, as Python's.
    {"round", [](double x) { return std::nearbyint(x); }, true},
    {"rint", [](double x) { return std::nearbyint(x); }, true},
    {"abs", [](double x) { return std::fabs(x); }, true},
    {"absolute", [](double x) { return std::fabs(x); }, true},
    {"fabs", [](double x) { return std::fabs(x); }, true},
    {"negative", [](double x) { return -x; }, true},
    {"sqrt", [](double x) { return std::sqrt(x); }, true},
    {"square", [](double x) { return x * x; }, true},
    {"sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }, true},
    {"acos", [](double x) { return std::acos(x); }, false},
    {"acosh", [](double x) { return std::acosh(x); }, false},
    {"asin", [](double x) { return std::asin(x); }, false},
    {"asinh", [](double x) { return std::asinh(x); }, false},
    {"atan", [](double x) { return std::atan(x); }, false},
    {"atanh", [](double x) { return std::atanh(x); }, false},
    {"cbrt", [](double x) { return std::cbrt(x); }, false},
    {"cos", [](double x) { return std::cos(x); }, false},
    {"cosh", [](double x) { return std::cosh(x); }, false},
    {"degrees", [](double x) { return x * (180 / M_PI); }, false},
    {"erf", [](double x) { return std::erf(x); }, false},
    {"erfc", [](double x) { return std::erfc(x); }, false},
    {"exp", [](double x) { return std::exp(x); }, false},
    {"exp2", [](double x) { return std::exp2(x); }, false},
    {"expm1", [](double x) { return std::expm1(x); }, false},
    {"gamma", [](double x) { return std::tgamma(x); }, false},
    {"lgamma", [](double x) { return std::lgamma(x); }, false},
    {"log", [](double x) { return std::log(x); }, false},
    {"log10", [](double x) { return std::log10(x); }, false},
    {"log1p", [](double x) { return std::log1p(x); }, false},
    {"log2", [](double x) { return std::log2(x); }, false},
    {"radians", [](double x) { return x * (M_PI / 180); }, false},
    {"sin", [](double x) { return std::sin(x); }, false},
    {"sinh", [](double x) { return std::sinh(x); }, false},
    {"tan", [](double x) { return std::tan(x); }, false},
    {"tanh", [](double x) { return std::tanh(x); }, false}};

// The remainder has the sign of the divisor (CPython's float_rem).
double Mod(double x, double y) {
  const double remainder = std::fmod(x, y);
  return remainder != 0 && (y < 0) != (remainder < 0) ? remainder + y : remainder;
}

// Not floor(x / y): 1.0 // 0.1 is 9 (CPython's _float_div_mod).
double FloorDivided(double x, double y) {
  const double quotient = (x - Mod(x, y)) / y;
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

// To so many digits behind the point, the exact decimal value half to even.
double Rounded(double x, double digits) {
  if (!(digits >= 0 && digits <= kMostDigits) || digits != std::floor(digits)) return NAN;
  char text[400];
  std::snprintf(text, sizeof(text), "%.*f", static_cast<int>(digits), x);
  return std::strtod(text, nullptr);
}

// Of bits of whole numbers.
double OfBits(std::string_view name, double x, double y) {
  if (x != std::floor(x) || y != std::floor(y)) return NAN;
  const auto a = static_cast<int64_t>(x), b = static_cast<int64_t>(y);
  if (name == "and") return static_cast<double>(a & b);
  if (name == "or") return static_cast<double>(a | b);
  if (name == "xor") return static_cast<double>(a ^ b);
  if (b < 0 || b > 62) return NAN;
  return name == "lshift" ? std::ldexp(x, static_cast<int>(b)) : static_cast<double>(a >> b);
}

std::optional<PythonNumber> OfTwo(std::string_view name, double x, double y) {
  const auto exact = [](double value) { return PythonNumber{value, true}; };
  const auto nearly = [](double value) { return PythonNumber{value, false}; };
  if (name == "floordiv" || name == "floor_divide") return exact(y == 0 ? NAN : FloorDivided(x, y));
  if (name == "mod") return exact(y == 0 ? NAN : Mod(x, y));
  if (name == "fmod") return exact(std::fmod(x, y));
  if (name == "round") return exact(Rounded(x, y));
  if (name == "copysign") return exact(std::copysign(x, y));
  if (name == "minimum") return exact(std::min(x, y));
  if (name == "maximum") return exact(std::max(x, y));
  if (name == "and" || name == "or" || name == "xor" || name == "lshift" || name == "rshift")
    return exact(OfBits(name, x, y));
  if (name == "atan2" || name == "arctan2") return nearly(std::atan2(x, y));
  if (name == "hypot") return nearly(std::hypot(x, y));
  if (name == "log") return nearly(std::log(x) / std::log(y));
  return std::nullopt;
}

bool BelowWholeDoubles(const std::vector<double>& operands) {
  return std::all_of(operands.begin(), operands.end(),
                     [](double x) { return std::fabs(x) < kWholeDoubles; });
}

std::optional<PythonNumber> IfFinite(std::optional<PythonNumber> number) {
  return number && std::isfinite(number->value) ? number : std::nullopt;
}

}  // namespace

std::optional<PythonNumber> PythonFunction(const std::string& function,
                                           const std::vector<double>& operands) {
  if (!BelowWholeDoubles(operands)) return std::nullopt;
  std::string_view name = function;
  // numpy's remainder is Python's %, and that of math another function.
  const bool of_numpy = name.starts_with("numpy.");
  if (of_numpy) name.remove_prefix(6);
  if (name == "remainder") {
    if (operands.size() != 2 || operands[1] == 0) return std::nullopt;
    return IfFinite(PythonNumber{of_numpy ? Mod(operands[0], operands[1])
                                          : std::remainder(operands[0], operands[1])});
  }
  if (operands.size() == 2) return IfFinite(OfTwo(name, operands[0], operands[1]));
  if (operands.size() != 1) return std::nullopt;
  if (name == "invert" && operands[0] == std::floor(operands[0]))
    return PythonNumber{-operands[0] - 1};
  std::string short_name(name);
  if (of_numpy && name.starts_with("arc")) short_name.erase(1, 2);  // arctan, as atan
  const auto* const found =
      std::find_if(std::begin(kOfOne), std::end(kOfOne),
                   [&](const OfOne& each) { return each.name == short_name; });
  if (found == std::end(kOfOne)) return std::nullopt;
  return IfFinite(PythonNumber{found->apply(operands[0]), found->exact});
}

std::optional<PythonNumber> PythonArithmetic(const std::string& operation,
                                             const std::vector<double>& operands) {
  if (!BelowWholeDoubles(operands) || operands.empty()) return std::nullopt;
  const double x = operands[0], y = operands.size() > 1 ? operands[1] : 0;
  if (operation == "pow") return IfFinite(PythonNumber{std::pow(x, y), false});
  const double value = operation == "add"   ? x + y
                       : operation == "sub" ? x - y
                       : operation == "mul" ? x * y
                       : operation == "div" ? x / y
                                            : -x;
  return IfFinite(PythonNumber{value});
}

std::optional<PythonNumber> PythonValue(const Value& expression,
                                        const std::map<int32_t, double>& items) {
  switch (expression.kind) {
    case Value::Kind::kBool:
    case Value::Kind::kInteger:
    case Value::Kind::kReal:
      return PythonNumber{expression.real.ToDouble()};
    case Value::Kind::kItem: {
      const auto item = items.find(expression.item);
      if (item == items.end()) return std::nullopt;
      return PythonNumber{item->second};
    }
    case Value::Kind::kComputed:
      break;
    default:
      return std::nullopt;
  }
  std::vector<double> operands;
  bool exact = true;
  for (const Value& each : expression.list) {
    const std::optional<PythonNumber> operand = PythonValue(each, items);
    if (!operand) return std::nullopt;
    operands.push_back(operand->value);
    exact = exact && operand->exact;
  }
  std::optional<PythonNumber> result = expression.function.empty()
                                           ? PythonArithmetic(expression.text, operands)
                                           : PythonFunction(expression.function, operands);
  if (result) result->exact = result->exact && exact;
  return result;
}

}  // namespace planproof::frontend::torch
