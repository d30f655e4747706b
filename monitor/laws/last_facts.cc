#include "monitor/laws/last_facts.h"

#include "monitor/laws/rounding.h"

namespace planproof::monitor {

KeptFact Kept(const TensorFact& fact) {
  return {.norm = fact.norm,
          .sketches = fact.sketches,
          .fingerprint = fact.fingerprint,
          .finite = fact.finite,
          .matrix = IsMatrix(*fact.tensor),
          .dimensions = fact.tensor->of.size()};
}

double SquaredDistance(const KeptFact& before, const TensorFact& now) {
  double sum = 0;
  for (int k = 0; k < kSketches; ++k) {
    const double difference = now.sketches[k] - before.sketches[k];
    sum += difference * difference;
  }
  return sum / kSketches / SketchSquare(before.dimensions);
}

}  // namespace planproof::monitor
