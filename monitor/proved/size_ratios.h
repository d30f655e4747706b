// Says which numbers of a program are as they should be in a run of other sizes: a number that is a
// size, or is computed of sizes, changes as the sizes do.
#ifndef PLANPROOF_MONITOR_PROVED_SIZE_RATIOS_H_
#define PLANPROOF_MONITOR_PROVED_SIZE_RATIOS_H_

#include <cstdint>
#include <vector>

namespace planproof::monitor {

class SizeRatios {
 public:
  // A size of the proof is this one in the run.
  void Add(int64_t proved, int64_t run);
  // No size differs: numbers are the same or are not.
  bool empty() const { return ratios_.empty(); }
  // The numbers are equal; or they have one sign, and their quotient, or that of their successors
  // or predecessors by one or two, is a product of at most three sizes' quotients, inverses of
  // these, and roots of both.
  bool Explain(double proved, double run) const;

 private:
  bool IsProduct(double ratio) const;

  std::vector<double> ratios_;    // of sizes that differ, each once
  std::vector<double> products_;  // sorted; made when ratios_ change
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_PROVED_SIZE_RATIOS_H_
