#include "monitor/journal/binary_frames.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "monitor/journal/byte_cursor.h"
#include "monitor/journal/words.h"

namespace planproof::monitor {
namespace {

constexpr size_t kTablesKept = 4;
constexpr uint32_t kNoText = ~uint32_t{0};
constexpr uint64_t kBytesOfEvent = 32;
constexpr uint64_t kMostStepNumber = uint64_t{1} << 53;
constexpr uint32_t kFlagSampled = 1, kFlagLeftOut = 2;

absl::Status Refused(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<Event> ReadEvent(ByteCursor* cursor, const Texts& texts) {
  Event event;
  event.type = static_cast<EventType>(cursor->Get<uint16_t>());
  event.flags = cursor->Get<uint16_t>();
  const uint32_t subject = cursor->Get<uint32_t>();
  event.a = cursor->Get<double>();
  event.b = cursor->Get<double>();
  event.c = cursor->Get<int64_t>();
  if (subject == kNoText) return event;
  if (subject >= texts.texts.size()) return Refused(absl::StrCat("there is no text ", subject));
  event.subject = &texts.texts[subject];
  if (event.type == EventType::kCollective) event.collective = &texts.collectives[subject];
  return event;
}

bool IsComplete(const StepOfRank& step) {
  return step.left_out ||
         std::any_of(step.events.begin(), step.events.end(), [](const Event& event) {
           return event.type == EventType::kOptimizerEnds || event.type == EventType::kStepLeftOut;
         });
}

// What values and elements begin with.
struct Subject {
  uint64_t step = 0;
  Moment moment{};
  std::shared_ptr<const TensorTable> table;
  const std::string* set = nullptr;
  uint32_t count = 0;
};

absl::StatusOr<Subject> ReadSubject(ByteCursor* cursor, const Texts& texts, const Tables& tables) {
  Subject subject;
  subject.step = cursor->Get<uint64_t>();
  const uint8_t moment = cursor->Get<uint8_t>();
  const uint32_t table = cursor->Get<uint32_t>();
  const uint32_t set = cursor->Get<uint32_t>();
  subject.count = cursor->Get<uint32_t>();
  if (!cursor->ok()) return Refused("the frame is too short");
  if (subject.step >= kMostStepNumber) return Refused("a step's number is too large");
  if (moment > static_cast<uint8_t>(Moment::kBackward))
    return Refused(absl::StrCat("there is no moment ", static_cast<int>(moment)));
  subject.moment = static_cast<Moment>(moment);
  subject.table = tables.at(table);
  if (subject.table == nullptr) {
    return Refused(
        absl::StrCat("table ", table, " is not there, or more than ", kTablesKept, " tables ago"));
  }
  if (set >= texts.texts.size()) return Refused(absl::StrCat("there is no text ", set));
  subject.set = &texts.texts[set];
  return subject;
}

absl::Status CheckTensors(const std::vector<int32_t>& tensors, const TensorTable& table) {
  for (const int32_t tensor : tensors) {
    if (tensor < 0 || static_cast<size_t>(tensor) >= table.size())
      return Refused(absl::StrCat("there is no tensor ", tensor, " in the table"));
  }
  return absl::OkStatus();
}

}  // namespace

void Tables::Add(std::shared_ptr<const TensorTable> table) {
  kept_.push_back(std::move(table));
  if (kept_.size() > kTablesKept) {
    kept_.pop_front();
    ++dropped_;
  }
}

std::shared_ptr<const TensorTable> Tables::at(uint32_t number) const {
  if (number < dropped_ || number - dropped_ >= kept_.size()) return nullptr;
  return kept_[number - dropped_];
}

absl::StatusOr<StepOfRank> ReadStep(absl::string_view payload,
                                    const std::shared_ptr<const Texts>& texts) {
  ByteCursor cursor(payload);
  StepOfRank step;
  const uint64_t number = cursor.Get<uint64_t>();
  step.time = cursor.Get<uint64_t>();
  const uint32_t events = cursor.Get<uint32_t>();
  const uint32_t flags = cursor.Get<uint32_t>();
  if (!cursor.ok() || cursor.left() != events * kBytesOfEvent)
    return Refused("a step's events have another size than the frame");
  if (number >= kMostStepNumber) return Refused("a step's number is too large");
  step.step = static_cast<int64_t>(number);
  step.sampled = (flags & kFlagSampled) != 0;
  step.left_out = (flags & kFlagLeftOut) != 0;
  step.events.reserve(events);
  for (uint32_t i = 0; i < events; ++i) {
    absl::StatusOr<Event> event = ReadEvent(&cursor, *texts);
    if (!event.ok()) return event.status();
    step.events.push_back(*event);
  }
  step.complete = IsComplete(step);
  step.texts = texts;
  return step;
}

absl::StatusOr<ValuesOfStep> ReadValues(absl::string_view payload, const Texts& texts,
                                        const Tables& tables) {
  ByteCursor cursor(payload);
  const absl::StatusOr<Subject> subject = ReadSubject(&cursor, texts, tables);
  if (!subject.ok()) return subject.status();
  Values values{.moment = subject->moment,
                .table = subject->table,
                .set = *subject->set,
                .kind = SetFromWord(*subject->set)};
  values.tensors = cursor.Column<int32_t>(subject->count);
  values.norms = cursor.Column<double>(subject->count);
  for (std::vector<double>& sketch : values.sketches)
    sketch = cursor.Column<double>(subject->count);
  values.fingerprints = cursor.Column<uint64_t>(subject->count);
  if (!cursor.ok() || !cursor.at_end()) return Refused("columns of another length than the frame");
  if (absl::Status status = CheckTensors(values.tensors, *values.table); !status.ok())
    return status;
  return ValuesOfStep{static_cast<int64_t>(subject->step), std::move(values)};
}

absl::StatusOr<ElementsOfStep> ReadElements(absl::string_view payload, const Texts& texts,
                                            const Tables& tables) {
  ByteCursor cursor(payload);
  const absl::StatusOr<Subject> subject = ReadSubject(&cursor, texts, tables);
  if (!subject.ok()) return subject.status();
  Elements elements{.moment = subject->moment,
                    .table = subject->table,
                    .set = *subject->set,
                    .kind = SetFromWord(*subject->set)};
  elements.tensors = cursor.Column<int32_t>(subject->count);
  elements.positions = cursor.Column<uint64_t>(subject->count);
  elements.values = cursor.Column<double>(subject->count);
  if (!cursor.ok() || !cursor.at_end()) return Refused("columns of another length than the frame");
  if (absl::Status status = CheckTensors(elements.tensors, *elements.table); !status.ok())
    return status;
  return ElementsOfStep{static_cast<int64_t>(subject->step), std::move(elements)};
}

absl::StatusOr<LateValue> ReadLate(absl::string_view payload) {
  ByteCursor cursor(payload);
  LateValue late;
  const uint64_t step = cursor.Get<uint64_t>();
  late.type = static_cast<EventType>(cursor.Get<uint16_t>());
  late.which = cursor.Get<uint32_t>();
  const uint8_t field = cursor.Get<uint8_t>();
  late.value = cursor.Get<double>();
  if (!cursor.ok() || !cursor.at_end() || field > 1 || step >= kMostStepNumber)
    return Refused("a late value that is none");
  late.step = static_cast<int64_t>(step);
  late.second = field == 1;
  return late;
}

}  // namespace planproof::monitor
