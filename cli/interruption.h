// Ends a verification on SIGINT, SIGTERM or a time limit, with what is known by then.
#ifndef PLANPROOF_CLI_INTERRUPTION_H_
#define PLANPROOF_CLI_INTERRUPTION_H_

#include <string>
#include <utility>
#include <vector>

#include "stages/workers/process_pool.h"

namespace planproof::cli {

// What is printed, and how the program ends, if it is interrupted and does not report by itself in
// time: while it reads files, or where it does not look at the request soon.
struct LastWords {
  std::string output;                                      // to standard output
  std::vector<std::pair<std::string, std::string>> files;  // paths, and what is written there
  int exit_code = 0;
};

// Words for both ways in which a run is asked to stop.
struct WordsInTime {
  LastWords interrupted, out_of_time;
};

// From now on the first signal asks the run to stop; if nobody looks at the request (StopWatch), or
// no report has begun within two seconds, the last words are said. The second signal ends the
// program as usual. Only where there are last words, and not in worker processes, which their
// parent ends.
stages::StopRequest* StopOnSignals(WordsInTime words);
// After so many seconds the same happens by itself. Once; not in processes that are forked.
void StopAfter(double seconds);
// Others, for the next part of the run.
void SetLastWords(WordsInTime words);
// The program reports now: from here on a signal ends it as usual.
void ForgetLastWords();

// For a process that works for one that leads: it stays until that one lets it go. (mpirun ends a
// job by SIGTERM to all and waits a second before SIGKILL, but no longer than until the first one
// ends: the report would be lost.)
void IgnoreTermination();

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_INTERRUPTION_H_
