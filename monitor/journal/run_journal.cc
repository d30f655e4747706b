#include "monitor/journal/run_journal.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "monitor/journal/json_frames.h"

namespace planproof::monitor {
namespace {

constexpr uint64_t kBytesForBuffers = 256 << 20;  // of all ranks together
constexpr uint64_t kLeastChunk = 16 << 10;
constexpr uint64_t kMostChunk = 1 << 20;
constexpr char kJournalRule[] = "journal";

// The rank of "rank00003.journal"; -1 for other names.
int RankOfFile(const std::string& name) {
  absl::string_view digits = name;
  int rank = -1;
  if (!absl::ConsumePrefix(&digits, "rank") || !absl::ConsumeSuffix(&digits, ".journal") ||
      digits.size() < 5 || !absl::SimpleAtoi(digits, &rank) || rank >= kMostRanks) {
    return -1;
  }
  return rank;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunJournal>> RunJournal::Open(const std::string& directory,
                                                             const ReadingOptions& options) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error) && !options.follow) {
    return absl::NotFoundError(
        absl::StrCat(directory, ": no directory of a run (planproof.torch.monitor writes one)"));
  }
  std::unique_ptr<RunJournal> run(new RunJournal(directory, options));
  if (absl::Status status = run->FindFiles(); !status.ok()) return status;
  if (run->ranks_.empty() && !options.follow) {
    return absl::NotFoundError(absl::StrCat(directory, ": no journals rankNNNNN.journal in it"));
  }
  return run;
}

absl::Status RunJournal::FindFiles() {
  std::error_code error;
  std::vector<std::pair<int, std::string>> found;
  for (std::filesystem::directory_iterator it(directory_, error), end; !error && it != end;
       it.increment(error)) {
    const int rank = RankOfFile(it->path().filename().string());
    if (rank >= 0 && !ranks_.contains(rank)) found.emplace_back(rank, it->path().string());
  }
  if (found.empty()) return absl::OkStatus();
  const uint64_t chunk =
      std::clamp(kBytesForBuffers / (found.size() + ranks_.size()), kLeastChunk, kMostChunk);
  for (const auto& [rank, path] : found) {
    if (step_.step > 0 || run_.closings.size() > 0) {
      // A rank whose journal appears after steps were judged would begin in the middle.
      Note(NoticeKind::kEvent, step_.step, absl::StrCat("rank ", rank),
           "its journal appears after steps were checked: it is left out");
      ranks_[rank].ended = true;
      continue;
    }
    ranks_[rank] = {.journal = std::make_unique<RankJournal>(path, chunk),
                    .counter = std::make_unique<StepCounter>(path)};
  }
  return absl::OkStatus();
}

absl::Status RunJournal::CheckHeader(int number, const Header& header) {
  if (run_.headers.contains(number)) return absl::OkStatus();
  const std::string& path = ranks_.at(number).journal->path();
  if (header.rank != number) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": its header says rank ", header.rank));
  }
  if (!run_.headers.empty() && run_.headers.begin()->second.world != header.world) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", header.world, " ranks, but rank ", run_.headers.begin()->first, " has ",
        run_.headers.begin()->second.world, " (journals of several runs in one directory?)"));
  }
  run_.headers.emplace(number, header);
  return absl::OkStatus();
}

void RunJournal::NoteEnd(int number, const Rank& rank) {
  const RankJournal& journal = *rank.journal;
  const std::string subject = absl::StrCat("rank ", number);
  if (journal.closing().has_value()) {
    run_.closings.emplace(number, *journal.closing());
  } else {
    Note(NoticeKind::kEvent, journal.last_step(), subject,
         absl::StrCat("its journal ends after step ", journal.last_step(),
                      " without being closed: it was killed, or still runs",
                      journal.unfinished_bytes() > 0
                          ? absl::StrCat("; ", journal.unfinished_bytes(),
                                         " bytes of an unfinished frame are not read")
                          : ""));
  }
  if (journal.too_late() > 0) {
    Note(NoticeKind::kNotObserved, journal.last_step(), subject,
         absl::StrCat(journal.too_late(), " facts came more than ", RankJournal::kStepsToWait,
                      " steps late and were not checked"));
  }
}

absl::Status RunJournal::ReadRank(int number, Rank* rank, bool* waiting) {
  if (rank->ended) return absl::OkStatus();
  const absl::StatusOr<Arrival> arrival = rank->journal->ReadOn(options_.follow);
  if (!arrival.ok()) return arrival.status();
  if (rank->journal->header().has_value()) {
    if (absl::Status status = CheckHeader(number, *rank->journal->header()); !status.ok())
      return status;
    run_.not_observed[number] = rank->journal->not_observed();
  }
  if (*arrival == Arrival::kWaiting) *waiting = true;
  if (*arrival == Arrival::kEnded) {
    rank->ended = true;
    NoteEnd(number, *rank);
  }
  return absl::OkStatus();
}

bool RunJournal::AllFilesAreThere() const {
  return !run_.headers.empty() &&
         static_cast<int>(ranks_.size()) >= run_.headers.begin()->second.world;
}

bool RunJournal::LeaveOutLateRanks() {
  int64_t newest = 0;
  for (auto& [number, rank] : ranks_) {
    if (rank.counter != nullptr && !rank.ended) newest = std::max(newest, rank.counter->Count());
  }
  bool any = false;
  for (auto& [number, rank] : ranks_) {
    if (rank.ended || rank.journal->step() != nullptr) continue;
    const int64_t steps = rank.counter->Count();
    if (steps + options_.most_steps_behind > newest) continue;
    rank.ended = any = true;
    Note(NoticeKind::kEvent, rank.journal->last_step(), absl::StrCat("rank ", number),
         absl::StrCat("its journal stays at ", steps, " steps while another has ", newest,
                      ": it is left out from here on"));
  }
  return any;
}

void RunJournal::PutTogether() {
  step_.ranks.clear();
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const auto& [number, rank] : ranks_) {
    if (!rank.ended) first = std::min(first, rank.journal->step()->step);
  }
  step_.step = first;
  for (auto& [number, rank] : ranks_) {
    if (rank.ended || rank.journal->step()->step != first) continue;
    step_.ranks[number] = rank.journal->step();
    rank.journal->Pass();
  }
}

absl::StatusOr<Arrival> RunJournal::ReadOn() {
  if (options_.follow && step_.ranks.empty() && !AllFilesAreThere()) {
    if (absl::Status status = FindFiles(); !status.ok()) return status;
    if (ranks_.empty()) return Arrival::kWaiting;
  }
  bool waiting = false;
  for (auto& [number, rank] : ranks_) {
    if (absl::Status status = ReadRank(number, &rank, &waiting); !status.ok()) return status;
  }
  if (!AllFilesAreThere() && !missing_noted_) {
    int64_t ahead = 0;
    for (auto& [number, rank] : ranks_) ahead = std::max(ahead, rank.counter->Count());
    if (options_.follow && ahead < options_.most_steps_behind) return Arrival::kWaiting;
    missing_noted_ = true;
    const int world = run_.headers.empty() ? 0 : run_.headers.begin()->second.world;
    Note(NoticeKind::kNotObserved, 0, absl::StrCat(world, " ranks"),
         absl::StrCat("journals of ", ranks_.size(), " of them are there"));
  }
  if (waiting && !LeaveOutLateRanks()) return Arrival::kWaiting;
  const bool any = std::any_of(ranks_.begin(), ranks_.end(),
                               [](const auto& rank) { return !rank.second.ended; });
  if (!any) return Arrival::kEnded;
  const bool all = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
    return rank.second.ended || rank.second.journal->step() != nullptr;
  });
  if (!all) return Arrival::kWaiting;
  PutTogether();
  return Arrival::kStep;
}

std::vector<Notice> RunJournal::TakeNotices() { return std::exchange(notices_, {}); }

void RunJournal::Note(NoticeKind kind, int64_t step, const std::string& subject,
                      const std::string& statement) {
  notices_.push_back({.kind = kind,
                      .rule = kJournalRule,
                      .step = step,
                      .subject = subject,
                      .statement = statement});
}

}  // namespace planproof::monitor
