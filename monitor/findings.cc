#include "monitor/findings.h"

namespace planproof::monitor {

const char* TierName(Tier tier) {
  switch (tier) {
    case Tier::kProved:
      return "proved";
    case Tier::kDerived:
      return "derived";
    case Tier::kLaw:
      return "law";
    case Tier::kLearned:
      return "learned";
  }
  return "";
}

}  // namespace planproof::monitor
