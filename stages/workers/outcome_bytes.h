// Encodes what workers answer about claims as bytes (outcome.proto): claim outcomes, which are
// remembered as the same bytes, and signs of logical tensors.
#ifndef PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_
#define PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_

#include <string>
#include <vector>

#include "sdfg/types.h"
#include "solver/term.h"
#include "stages/claim.h"

namespace planproof::stages {

struct LogicalSign {
  sdfg::TensorId tensor = sdfg::kNone;
  solver::Sign sign = solver::Sign::kUnknown;
  friend bool operator==(const LogicalSign&, const LogicalSign&) = default;
};

// Equal bytes for equal values.
std::string ToBytes(const ClaimOutcome& outcome);
std::string ToBytes(const std::vector<LogicalSign>& signs);

// False if these are not the bytes that ToBytes writes for some value, to the last one: unknown
// fields and enumerators, numbers beyond their type and beginnings of messages are errors. What is
// read then is unspecified.
bool FromBytes(const std::string& bytes, ClaimOutcome* outcome);
bool FromBytes(const std::string& bytes, std::vector<LogicalSign>* signs);

}  // namespace planproof::stages

#endif  // PLANPROOF_STAGES_WORKERS_OUTCOME_BYTES_H_
