// Mixes a value into a hash, in order.
#ifndef PLANPROOF_SOLVER_HASH_MIX_H_
#define PLANPROOF_SOLVER_HASH_MIX_H_

#include <cstdint>

namespace planproof::solver {

inline uint64_t MixHash(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 33);
}

}  // namespace planproof::solver

#endif  // PLANPROOF_SOLVER_HASH_MIX_H_
