#include "monitor/laws/laws.h"

namespace planproof::monitor {

std::vector<std::unique_ptr<Judge>> AllLaws() {
  std::vector<std::unique_ptr<Judge>> laws;
  laws.push_back(GradientsClearedLaw());
  laws.push_back(OptimizerUpdateLaw());
  return laws;
}

}  // namespace planproof::monitor
