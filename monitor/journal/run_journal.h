// Reads the journals of all ranks of a run and puts their steps together.
#ifndef PLANPROOF_MONITOR_JOURNAL_RUN_JOURNAL_H_
#define PLANPROOF_MONITOR_JOURNAL_RUN_JOURNAL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "monitor/findings.h"
#include "monitor/journal/rank_journal.h"
#include "monitor/judge.h"

namespace planproof::monitor {

struct ReadingOptions {
  bool follow = false;  // the run still writes
  // A rank whose journal has not gone on while another is so many steps ahead is left out.
  int64_t most_steps_behind = 1000;
};

// Memory: a few steps of each rank, and parts of their files.
class RunJournal {
 public:
  // `directory` holds rankNNNNN.journal. NotFound if it is no directory or holds none (yet, where
  // the run is not followed).
  static absl::StatusOr<std::unique_ptr<RunJournal>> Open(const std::string& directory,
                                                          const ReadingOptions& options);

  // Until the next step of all ranks that take part is there. kWaiting: some have not written it,
  // call again. Errors name the file; what was handed on before them stands.
  absl::StatusOr<Arrival> ReadOn();

  const StepOfRun& step() const { return step_; }
  // Headers and closings as of now.
  const Run& run() const { return run_; }
  // What was found out about journals since the last call: ranks that are missing, cut off, late.
  std::vector<Notice> TakeNotices();

 private:
  struct Rank {
    std::unique_ptr<RankJournal> journal;
    std::unique_ptr<StepCounter> counter;
    bool ended = false;
  };

  RunJournal(std::string directory, const ReadingOptions& options)
      : directory_(std::move(directory)), options_(options) {}

  absl::Status FindFiles();
  absl::Status ReadRank(int number, Rank* rank, bool* waiting);
  absl::Status CheckHeader(int number, const Header& header);
  void NoteEnd(int number, const Rank& rank);
  bool AllFilesAreThere() const;
  // Leaves out ranks that are far behind; true if any.
  bool LeaveOutLateRanks();
  void PutTogether();
  void Note(NoticeKind kind, int64_t step, const std::string& subject,
            const std::string& statement);

  std::string directory_;
  ReadingOptions options_;
  std::map<int, Rank> ranks_;
  bool missing_noted_ = false;
  Run run_;
  StepOfRun step_;
  std::vector<Notice> notices_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_MONITOR_JOURNAL_RUN_JOURNAL_H_
