// Puts facts into words.
#ifndef PLANPROOF_MONITOR_LEARNED_STATEMENTS_H_
#define PLANPROOF_MONITOR_LEARNED_STATEMENTS_H_

#include <string>
#include <string_view>

#include "monitor/learned/facts.h"

namespace planproof::monitor::learned {

// What an alarm about the fact is about: the call that is missing, the tensor that was left out, or
// the fact's subject.
std::string SubjectOf(const Fact& fact);
// What holds in `references` runs, and what does not; `found`: the other value of kEquals.
std::string StatementOf(const Fact& fact, int references, std::string_view found);

}  // namespace planproof::monitor::learned

#endif  // PLANPROOF_MONITOR_LEARNED_STATEMENTS_H_
