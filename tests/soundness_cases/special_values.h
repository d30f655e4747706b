// Plans that are wrong, and right on many inputs (special_values.json, written by
// special_values.py), each with a right twin.
#ifndef PLANPROOF_TESTS_SOUNDNESS_CASES_SPECIAL_VALUES_H_
#define PLANPROOF_TESTS_SOUNDNESS_CASES_SPECIAL_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace planproof::soundness {

struct SpecialValue {
  std::string name;
  std::string equal;         // on which inputs the wrong twin is right
  int cut = 0;               // the dimension that the ranks share
  nlohmann::json operators;  // by "model", "right", "wrong": from a to y
};
const std::vector<SpecialValue>& ReadSpecialValues();

// Where the operators stand.
enum class Place : uint8_t { kAlone, kAfterLinear, kBeforeLinear, kBetween, kBesideOperand };
inline constexpr Place kPlaces[] = {Place::kAlone, Place::kAfterLinear, Place::kBeforeLinear,
                                    Place::kBetween, Place::kBesideOperand};

struct SpecialPlan {
  Place place = Place::kAlone;
  int64_t ranks = 2;
  bool wrong = true;
  bool lineage = false;  // the plan says what it claims of the operators' operand and result
};

// In the plan format.
std::string PlanText(const SpecialValue& value, const SpecialPlan& plan);

}  // namespace planproof::soundness

#endif  // PLANPROOF_TESTS_SOUNDNESS_CASES_SPECIAL_VALUES_H_
