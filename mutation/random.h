// Generates random numbers by splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014): the same numbers everywhere.
#ifndef PLANPROOF_MUTATION_RANDOM_H_
#define PLANPROOF_MUTATION_RANDOM_H_

#include <cstdint>

namespace planproof::mutation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }

 private:
  uint64_t state_;
};

}  // namespace planproof::mutation

#endif  // PLANPROOF_MUTATION_RANDOM_H_
