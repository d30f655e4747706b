#include "monitor/journal/rank_journal.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/journal/json_frames.h"
#include "monitor/journal/words.h"

namespace planproof::monitor {
namespace {

constexpr uint64_t kMostTexts = 1 << 20;
constexpr uint64_t kMostBytesOfText = 64 << 10;
constexpr uint64_t kMostBytesOfTexts = 256 << 20;  // all of them
constexpr uint64_t kMostPendingBytes = 512 << 20;  // facts of steps that wait
constexpr int64_t kMostStepsAhead = 1024;          // facts of a step that has not come
constexpr size_t kMostNotObserved = 10'000;

}  // namespace

absl::StatusOr<Arrival> RankJournal::ReadOn(bool grows) {
  if (next_ != nullptr) return Arrival::kStep;
  while (!HandOn(closing_.has_value())) {
    if (closing_.has_value()) return Arrival::kEnded;
    absl::StatusOr<std::optional<Frame>> frame = frames_.Next();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) {
      if (grows) return Arrival::kWaiting;
      return HandOn(/*ended=*/true) ? Arrival::kStep : Arrival::kEnded;
    }
    if (absl::Status status = Take(**frame); !status.ok()) {
      if (absl::IsResourceExhausted(status)) return status;
      return frames_.Error((*frame)->offset, status.message());
    }
  }
  return Arrival::kStep;
}

bool RankJournal::HandOn(bool ended) {
  const auto first = std::find_if(pending_.begin(), pending_.end(), [](const auto& pending) {
    return pending.second.step.has_value();
  });
  if (first == pending_.end() || (!ended && newest_ < first->first + kStepsToWait)) return false;
  for (auto it = pending_.begin(); it != first; ++it) pending_bytes_ -= it->second.bytes;
  pending_.erase(pending_.begin(), first);  // facts of steps that never came
  Pending& pending = first->second;
  StepOfRank step = *std::move(pending.step);
  step.values = std::move(pending.values);
  step.elements = std::move(pending.elements);
  step.batch = std::move(pending.batch);
  for (OptimizerOptions& options : pending.changed_options) ChangeOptions(std::move(options));
  FollowLearningRates(step);
  step.options = options_;
  pending_bytes_ -= pending.bytes;
  handed_on_ = step.step;
  pending_.erase(first);
  next_ = std::make_shared<const StepOfRank>(std::move(step));
  return true;
}

absl::Status RankJournal::Take(const Frame& frame) {
  if (!header_.has_value() && frame.kind != FrameKind::kHeader)
    return absl::InvalidArgumentError("the first frame is no header");
  switch (frame.kind) {
    case FrameKind::kHeader: {
      if (header_.has_value()) return absl::InvalidArgumentError("a second header");
      absl::StatusOr<Header> header = ReadHeader(frame.payload);
      if (!header.ok()) return header.status();
      header_ = *std::move(header);
      return absl::OkStatus();
    }
    case FrameKind::kText:
      return TakeText(frame.payload);
    case FrameKind::kTensors:
      return TakeTensors(frame.payload);
    case FrameKind::kOptions:
      return TakeOptions(frame.payload);
    case FrameKind::kStep:
      return TakeStep(frame.payload);
    case FrameKind::kValues:
    case FrameKind::kElements:
    case FrameKind::kBatch:
      return TakeFacts(frame);
    case FrameKind::kLate:
      return TakeLate(frame.payload);
    case FrameKind::kClose: {
      absl::StatusOr<Closing> closing = ReadClosing(frame.payload);
      if (!closing.ok()) return closing.status();
      closing_ = *std::move(closing);
      return absl::OkStatus();
    }
    case FrameKind::kNotObserved: {
      absl::StatusOr<NotObserved> fact = ReadNotObserved(frame.payload);
      if (!fact.ok()) return fact.status();
      if (not_observed_.size() < kMostNotObserved) not_observed_.push_back(*std::move(fact));
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

absl::Status RankJournal::TakeText(absl::string_view payload) {
  text_bytes_ += payload.size();
  if (payload.size() > kMostBytesOfText || texts_->texts.size() >= kMostTexts ||
      text_bytes_ > kMostBytesOfTexts) {
    return absl::InvalidArgumentError("more text than a journal may have");
  }
  texts_->texts.emplace_back(payload);
  texts_->collectives.push_back(CollectiveFromText(payload));
  return absl::OkStatus();
}

absl::Status RankJournal::TakeTensors(absl::string_view payload) {
  absl::StatusOr<TensorTable> table = ReadTensors(payload);
  if (!table.ok()) return table.status();
  tables_.Add(std::make_shared<const TensorTable>(*std::move(table)));
  return absl::OkStatus();
}

absl::Status RankJournal::TakeOptions(absl::string_view payload) {
  absl::StatusOr<OptimizerOptions> options = ReadOptions(payload, tables_.last());
  if (!options.ok()) return options.status();
  const auto same =
      std::find_if(changed_options_.begin(), changed_options_.end(),
                   [&](const auto& other) { return other.optimizer == options->optimizer; });
  if (same != changed_options_.end()) changed_options_.erase(same);
  changed_options_.push_back(*std::move(options));
  return absl::OkStatus();
}

void RankJournal::ChangeOptions(OptimizerOptions options) {
  const auto same = std::find_if(options_.begin(), options_.end(), [&](const auto& other) {
    return other.optimizer == options.optimizer;
  });
  if (same == options_.end()) {
    options_.push_back(std::move(options));
  } else {
    *same = std::move(options);
  }
}

void RankJournal::FollowLearningRates(const StepOfRank& step) {
  for (const Event& event : step.events) {
    if (event.type != EventType::kLearningRate || event.subject == nullptr) continue;
    for (OptimizerOptions& options : options_) {
      const auto number = static_cast<size_t>(options.optimizer);
      if (number >= header_->optimizers.size() ||
          header_->optimizers[number].name != *event.subject || event.c < 0 ||
          static_cast<size_t>(event.c) >= options.groups.size()) {
        continue;
      }
      auto& all = options.groups[static_cast<size_t>(event.c)].options;
      const auto rate = std::find_if(all.begin(), all.end(),
                                     [](const auto& option) { return option.first == "lr"; });
      const Option value{.kind = Option::Kind::kNumber, .number = event.a};
      if (rate == all.end()) {
        all.emplace_back("lr", value);
      } else {
        rate->second = value;
      }
    }
  }
}

absl::Status RankJournal::TakeStep(absl::string_view payload) {
  absl::StatusOr<StepOfRank> step = ReadStep(payload, texts_);
  if (!step.ok()) return step.status();
  if (step->step <= newest_) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", step->step, " comes after step ", newest_));
  }
  step->table = tables_.last();
  const int64_t number = step->step;
  absl::StatusOr<Pending*> pending = PendingOf(number, payload.size());
  if (!pending.ok()) return pending.status();
  newest_ = number;
  (*pending)->step = *std::move(step);
  (*pending)->changed_options = std::exchange(changed_options_, {});
  return absl::OkStatus();
}

absl::StatusOr<RankJournal::Pending*> RankJournal::PendingOf(int64_t step, uint64_t bytes) {
  if (step <= handed_on_) {
    ++too_late_;
    return nullptr;
  }
  if (newest_ >= 0 && step > newest_ + kMostStepsAhead)
    return absl::InvalidArgumentError(absl::StrCat("step ", step, " comes after step ", newest_));
  pending_bytes_ += bytes;
  if (pending_bytes_ > kMostPendingBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(frames_.path(), ": steps around ", step,
                                                     " have over ", kMostPendingBytes >> 20,
                                                     " MiB of facts (monitor fewer tensors)"));
  }
  Pending& pending = pending_[step];
  pending.bytes += bytes;
  return &pending;
}

absl::Status RankJournal::TakeFacts(const Frame& frame) {
  if (frame.kind == FrameKind::kValues) {
    absl::StatusOr<ValuesOfStep> facts = ReadValues(frame.payload, *texts_, tables_);
    if (!facts.ok()) return facts.status();
    absl::StatusOr<Pending*> pending = PendingOf(facts->step, frame.payload.size());
    if (!pending.ok()) return pending.status();
    if (*pending != nullptr) (*pending)->values.push_back(std::move(facts->values));
    return absl::OkStatus();
  }
  if (frame.kind == FrameKind::kElements) {
    absl::StatusOr<ElementsOfStep> facts = ReadElements(frame.payload, *texts_, tables_);
    if (!facts.ok()) return facts.status();
    absl::StatusOr<Pending*> pending = PendingOf(facts->step, frame.payload.size());
    if (!pending.ok()) return pending.status();
    if (*pending != nullptr) (*pending)->elements.push_back(std::move(facts->elements));
    return absl::OkStatus();
  }
  absl::StatusOr<BatchOfStep> batch = ReadBatch(frame.payload);
  if (!batch.ok()) return batch.status();
  absl::StatusOr<Pending*> pending = PendingOf(batch->step, frame.payload.size());
  if (!pending.ok()) return pending.status();
  if (*pending == nullptr) return absl::OkStatus();
  for (BatchInput& input : batch->inputs) (*pending)->batch.push_back(std::move(input));
  return absl::OkStatus();
}

absl::Status RankJournal::TakeLate(absl::string_view payload) {
  const absl::StatusOr<LateValue> late = ReadLate(payload);
  if (!late.ok()) return late.status();
  const auto pending = pending_.find(late->step);
  if (pending == pending_.end() || !pending->second.step.has_value()) {
    ++too_late_;
    return absl::OkStatus();
  }
  uint32_t which = late->which;
  for (Event& event : pending->second.step->events) {
    if (event.type != late->type) continue;
    if (which-- > 0) continue;
    (late->second ? event.b : event.a) = late->value;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a late value of an event that is not there");
}

}  // namespace planproof::monitor
