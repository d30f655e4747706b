// Reads and writes files of learned facts: JSON (docs/monitor-format.md).
#ifndef PLANPROOF_MONITOR_LEARNED_FACTS_FILE_H_
#define PLANPROOF_MONITOR_LEARNED_FACTS_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "monitor/learned/facts.h"

namespace planproof::monitor::learned {

inline constexpr int kFactsVersion = 1;

std::string WriteFacts(const FactSet& facts);
// Errors begin with `name`, and say which entry is wrong. Limits: 64 MiB, 10^6 facts.
absl::StatusOr<FactSet> ParseFacts(const std::string& name, const std::string& text);
absl::StatusOr<FactSet> ReadFacts(const std::string& file);

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_FACTS_FILE_H_
