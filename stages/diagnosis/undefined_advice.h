// Advises the person who runs it how to give a plan a value where it has none and the model has
// one.
#ifndef PLANPROOF_STAGES_DIAGNOSIS_UNDEFINED_ADVICE_H_
#define PLANPROOF_STAGES_DIAGNOSIS_UNDEFINED_ADVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lineage/lineage.h"

namespace planproof::stages {

// A number by which the plan divides, as far as its definition says how it can be 0.
struct DivisorForm {
  enum class Kind : uint8_t {
    kOther,
    kCount,  // how many elements of an integer input differ from one number
    kSum,    // elements of an input, added up: such as a mask
  };
  Kind kind = Kind::kOther;
  sdfg::TensorId input = sdfg::kNone;  // of the parallel graph; has no producer
  int64_t ignored = 0;                 // kCount: the number that does not count
  friend bool operator==(const DivisorForm&, const DivisorForm&) = default;
};

// The first divisor of these operators of the parallel graph that is a count or a sum of an input;
// kOther if none is.
DivisorForm FormOfDivisor(const lineage::Problem& problem,
                          const std::vector<sdfg::OperatorId>& operators);

// One clause: which input leaves these operators of the plan without a value, and what to declare
// or to write in their place.
std::string AdviceForUndefined(const lineage::Problem& problem,
                               const std::vector<sdfg::OperatorId>& operators);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_DIAGNOSIS_UNDEFINED_ADVICE_H_
