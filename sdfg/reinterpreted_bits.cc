#include "sdfg/reinterpreted_bits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace planproof::sdfg {
namespace {

constexpr std::string_view kOf = "bits(of=", kAs = ",as=";

struct Format {
  DType type;
  int width;     // bits
  int exponent;  // bits of it; 0: an integer
};

constexpr Format kFormats[] = {{DType::kFloat32, 32, 8},
                               {DType::kFloat16, 16, 5},
                               {DType::kBFloat16, 16, 8},
                               {DType::kInt32, 32, 0},
                               {DType::kInt16, 16, 0}};

const Format* FormatOf(DType type) {
  for (const Format& format : kFormats) {
    if (format.type == type) return &format;
  }
  return nullptr;
}

int FractionBits(const Format& format) { return format.width - format.exponent - 1; }
int Bias(const Format& format) { return (1 << (format.exponent - 1)) - 1; }

// The exponent of two by which neighbours of the number differ.
int SpacingOf(const Format& format, double number) {
  if (format.exponent == 0) return 0;
  const int own = number == 0 ? 1 - Bias(format) : std::ilogb(number);
  return std::max(own, 1 - Bias(format)) - FractionBits(format);
}

// The bits of a number that the format has.
uint64_t BitsOf(const Format& format, double number) {
  const uint64_t sign = uint64_t{1} << (format.width - 1);
  if (format.exponent == 0) {
    return static_cast<uint64_t>(static_cast<int64_t>(number)) & (2 * sign - 1);
  }
  const int spacing = SpacingOf(format, number);
  const auto steps = static_cast<uint64_t>(std::ldexp(std::fabs(number), -spacing));
  // Normal numbers have a leading one, which counts the exponent up by one.
  const auto binade = static_cast<uint64_t>(spacing + FractionBits(format) + Bias(format) - 1);
  return (number < 0 ? sign : 0) + (binade << FractionBits(format)) + steps;
}

std::optional<double> NumberOf(const Format& format, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (format.width - 1);
  const uint64_t rest = bits & (sign - 1);
  if (format.exponent == 0) {
    return static_cast<double>(rest) - ((bits & sign) != 0 ? static_cast<double>(sign) : 0);
  }
  const int fraction = FractionBits(format);
  const auto binade = static_cast<int>(rest >> fraction);
  if (binade == (1 << format.exponent) - 1) return std::nullopt;
  const uint64_t leading = binade == 0 ? 0 : uint64_t{1} << fraction;
  const auto steps = static_cast<double>((rest & ((uint64_t{1} << fraction) - 1)) + leading);
  const int spacing = (binade == 0 ? 1 : binade) - Bias(format) - fraction;
  return std::ldexp((bits & sign) != 0 ? -steps : steps, spacing);
}

double LargestOf(const Format& format) {
  if (format.exponent == 0) return std::ldexp(1.0, format.width - 1) - 1;
  return std::ldexp(2 - std::ldexp(1.0, -FractionBits(format)), Bias(format));
}

}  // namespace

bool HasMeaning(const Reinterpretation& reinterpretation) {
  const Format* of = FormatOf(reinterpretation.of);
  const Format* as = FormatOf(reinterpretation.as);
  return of != nullptr && as != nullptr && of->width == as->width;
}

std::string FunctionName(const Reinterpretation& reinterpretation) {
  return std::string(kOf) + DTypeName(reinterpretation.of) + std::string(kAs) +
         DTypeName(reinterpretation.as) + ")";
}

std::optional<Reinterpretation> ReinterpretationOf(const std::string& function) {
  const size_t as = function.find(kAs);
  if (function.compare(0, kOf.size(), kOf) != 0 || as == std::string::npos) return std::nullopt;
  const size_t type = as + kAs.size();
  const Reinterpretation result = {
      DTypeFromName(function.substr(kOf.size(), as - kOf.size())),
      DTypeFromName(function.substr(type, function.size() - type - 1))};
  if (!HasMeaning(result) || FunctionName(result) != function) return std::nullopt;
  return result;
}

std::optional<double> RoundedTo(DType type, double number) {
  const Format* format = FormatOf(type);
  if (format == nullptr || !std::isfinite(number)) return std::nullopt;
  const int spacing = SpacingOf(*format, number);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(number, -spacing)), spacing);
  const bool lowest = format->exponent == 0 && rounded == -LargestOf(*format) - 1;
  if (std::fabs(rounded) > LargestOf(*format) && !lowest) return std::nullopt;
  return rounded == 0 ? 0 : rounded;
}

std::optional<double> Reinterpreted(const Reinterpretation& reinterpretation, double number) {
  if (!HasMeaning(reinterpretation)) return std::nullopt;
  if (RoundedTo(reinterpretation.of, number) != number) return std::nullopt;
  return NumberOf(*FormatOf(reinterpretation.as), BitsOf(*FormatOf(reinterpretation.of), number));
}

}  // namespace planproof::sdfg
