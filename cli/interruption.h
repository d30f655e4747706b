// SIGINT and SIGTERM while a plan is verified.
#ifndef PLANPROOF_CLI_INTERRUPTION_H_
#define PLANPROOF_CLI_INTERRUPTION_H_

#include "stages/process_pool.h"

namespace planproof::cli {

// While claims are decided the first signal asks the run to stop, so that it reports what it has;
// at any other time, and the second time, the signal ends the program as usual. For the rest of the
// program's life.
stages::StopRequest* StopOnSignals();

// For a process that works for one that leads: it stays until that one lets it go. (mpirun ends a
// job by SIGTERM to all and waits a second before SIGKILL, but no longer than until the first one
// ends: the report would be lost.)
void IgnoreTermination();

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_INTERRUPTION_H_
