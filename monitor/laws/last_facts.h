// Keeps what was recorded last of tensors when an optimizer had stepped, as long as it is what the
// next step should find.
#ifndef PLANPROOF_MONITOR_LAWS_LAST_FACTS_H_
#define PLANPROOF_MONITOR_LAWS_LAST_FACTS_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "monitor/laws/facts.h"

namespace planproof::monitor {

// A TensorFact that outlives its step.
struct KeptFact {
  double norm = 0;
  std::array<double, kSketches> sketches{};
  uint64_t fingerprint = 0;
  bool finite = true;
  bool matrix = false;
  size_t dimensions = 0;
  bool moved = false;  // by the step that it was recorded after
};

KeptFact Kept(const TensorFact& fact);

// By tensor's name.
using KeptFacts = absl::flat_hash_map<std::string, KeptFact>;

// The squared norm of the difference of two tensors, estimated by their sketches.
double SquaredDistance(const KeptFact& before, const TensorFact& now);

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_LAWS_LAST_FACTS_H_
