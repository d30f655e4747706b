// Prints what a journal of a training run says, step by step.
#ifndef PLANPROOF_REPORT_JOURNAL_TEXT_H_
#define PLANPROOF_REPORT_JOURNAL_TEXT_H_

#include <string>

#include "monitor/journal/journal.h"

namespace planproof::report {

// Lines, without control characters of names in them.
std::string JournalHeaderText(const monitor::Header& header);
std::string JournalTableText(const monitor::TensorTable& table);
// Events, options where they changed, and with `values` the facts of each tensor.
std::string JournalStepText(const monitor::StepOfRank& step, bool values);

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_JOURNAL_TEXT_H_
