// Values of the types that messages carry, edge cases often.
#ifndef PLANPROOF_TESTS_STAGES_WORKERS_RANDOM_VALUES_H_
#define PLANPROOF_TESTS_STAGES_WORKERS_RANDOM_VALUES_H_

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace planproof::stages {

class RandomValues {
 public:
  explicit RandomValues(uint64_t seed) : engine_(seed) {}

  size_t Below(size_t end) { return static_cast<size_t>(engine_() % end); }
  size_t Size() { return Below(4); }
  bool Flag() { return Below(2) == 1; }
  // 0 .. last
  template <typename Enum>
  Enum Enumerator(int last) {
    return static_cast<Enum>(Below(static_cast<size_t>(last) + 1));
  }
  template <typename Int>
  Int Integer() {
    switch (Below(5)) {
      case 0:
        return std::numeric_limits<Int>::min();
      case 1:
        return std::numeric_limits<Int>::max();
      case 2:
        return 0;
      case 3:
        return static_cast<Int>(Below(300));
      default:
        return static_cast<Int>(engine_());
    }
  }
  // Of any bits: infinities, both zeros, and NaN with something in it.
  double Real() {
    switch (Below(6)) {
      case 0:
        return 0.0;
      case 1:
        return -0.0;
      case 2:
        return std::numeric_limits<double>::infinity();
      case 3:
        return std::bit_cast<double>(uint64_t{0xfff8'0000'0000'0abc});
      case 4:
        return std::numeric_limits<double>::denorm_min();
      default:
        return std::bit_cast<double>(engine_());
    }
  }
  // Any bytes: no UTF-8, with zeros in it.
  std::string Text() {
    std::string text(Below(3) == 0 ? 0 : Below(40), '\0');
    for (char& c : text) c = static_cast<char>(Below(256));
    return text;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts(Size());
    for (std::string& text : texts) text = Text();
    return texts;
  }
  template <typename Int>
  std::vector<Int> Integers() {
    std::vector<Int> integers(Size());
    for (Int& integer : integers) integer = Integer<Int>();
    return integers;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace planproof::stages

#endif  // PLANPROOF_TESTS_STAGES_WORKERS_RANDOM_VALUES_H_
