// SIGINT and SIGTERM while a plan is verified.
#ifndef PLANPROOF_CLI_INTERRUPTION_H_
#define PLANPROOF_CLI_INTERRUPTION_H_

#include "stages/process_pool.h"

namespace planproof::cli {

// While claims are decided the first signal asks the run to stop, so that it reports what it has;
// at any other time, and the second time, the signal ends the program as usual. For the rest of the
// program's life.
stages::StopRequest* StopOnSignals();

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_INTERRUPTION_H_
