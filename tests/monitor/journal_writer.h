// Writes journals of training runs, as planproof.torch.monitor does (docs/monitor-format.md).
#ifndef PLANPROOF_TESTS_MONITOR_JOURNAL_WRITER_H_
#define PLANPROOF_TESTS_MONITOR_JOURNAL_WRITER_H_

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "monitor/journal/frames.h"
#include "monitor/journal/journal.h"

namespace planproof::monitor {

class JournalWriter {
 public:
  explicit JournalWriter(int rank = 0, int world = 1) {
    bytes_ = "PPMONIT\n";
    Number<uint32_t>(1, &bytes_);
    Json(FrameKind::kHeader,
         {{"rank", rank},
          {"world", world},
          {"every", 1},
          {"torch", "2"},
          {"device", "cpu"},
          {"program", "00"},
          {"start", 0},
          {"modules", nlohmann::json::array({nlohmann::json::array({"", "Model"})})},
          {"optimizers",
           nlohmann::json::array({nlohmann::json{{"name", "SGD"},
                                                 {"class", "torch.optim.sgd.SGD"},
                                                 {"wrapped", nlohmann::json::array()}}})}});
  }

  template <class T>
  static void Number(T value, std::string* out) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    out->append(raw, sizeof(T));
  }

  void Frame(FrameKind kind, const std::string& payload) {
    Number<uint32_t>(static_cast<uint32_t>(payload.size()), &bytes_);
    const std::string checked = static_cast<char>(kind) + payload;
    bytes_ += checked;
    Number<uint32_t>(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                                                 static_cast<uInt>(checked.size()))),
                     &bytes_);
  }
  void Json(FrameKind kind, const nlohmann::json& json) { Frame(kind, json.dump()); }

  // A table with parameters of one dimension.
  void Tensors(const std::vector<std::string>& names) {
    nlohmann::json tensors = nlohmann::json::array();
    for (const std::string& name : names) {
      tensors.push_back({{"name", name},
                         {"of", {4}},
                         {"dtype", "float32"},
                         {"local", 4},
                         {"trainable", true},
                         {"optimizers", {0}}});
    }
    Json(FrameKind::kTensors, {{"tensors", tensors}});
  }

  // Its number; written when it is new.
  uint32_t Text(const std::string& text) {
    const auto [known, inserted] = texts_.emplace(text, texts_.size());
    if (inserted) Frame(FrameKind::kText, text);
    return known->second;
  }

  struct EventToWrite {
    EventType type;
    std::string subject;
    uint16_t flags = 0;
    double a = 0, b = 0;
    int64_t c = 0;
  };
  void Step(int64_t number, const std::vector<EventToWrite>& events, uint32_t flags = 1) {
    std::string payload;
    Number<int64_t>(number, &payload);
    Number<uint64_t>(1000 * static_cast<uint64_t>(number), &payload);
    Number<uint32_t>(static_cast<uint32_t>(events.size()), &payload);
    Number<uint32_t>(flags, &payload);
    for (const EventToWrite& event : events) {
      Number<uint16_t>(static_cast<uint16_t>(event.type), &payload);
      Number<uint16_t>(event.flags, &payload);
      Number<uint32_t>(Text(event.subject), &payload);
      Number<double>(event.a, &payload);
      Number<double>(event.b, &payload);
      Number<int64_t>(event.c, &payload);
    }
    Frame(FrameKind::kStep, payload);
  }

  // Of tensors 0, 1, ...: norms, which are sketches and bits, too.
  void Values(int64_t step, Moment moment, const std::string& set, const std::vector<double>& norms,
              uint32_t table = 0) {
    std::string payload = Beginning(step, moment, set, norms.size(), table);
    for (uint32_t i = 0; i < norms.size(); ++i) Number<uint32_t>(i, &payload);
    for (int column = 0; column <= kSketches; ++column)
      for (const double norm : norms) Number<double>(norm, &payload);
    for (const double norm : norms) Number<double>(norm, &payload);
    Frame(FrameKind::kValues, payload);
  }
  void Elements(int64_t step, Moment moment, const std::string& set,
                const std::vector<double>& values) {
    std::string payload = Beginning(step, moment, set, values.size(), 0);
    for (uint32_t i = 0; i < values.size(); ++i) Number<uint32_t>(i, &payload);
    for (size_t i = 0; i < values.size(); ++i) Number<uint64_t>(2, &payload);
    for (const double value : values) Number<double>(value, &payload);
    Frame(FrameKind::kElements, payload);
  }
  void Late(int64_t step, EventType type, uint32_t which, uint8_t field, double value) {
    std::string payload;
    Number<int64_t>(step, &payload);
    Number<uint16_t>(static_cast<uint16_t>(type), &payload);
    Number<uint32_t>(which, &payload);
    Number<uint8_t>(field, &payload);
    Number<double>(value, &payload);
    Frame(FrameKind::kLate, payload);
  }
  void Close(int64_t steps) { Json(FrameKind::kClose, {{"reason", "closed"}, {"steps", steps}}); }

  // A step of an optimizer, with nothing wrong.
  void PlainStep(int64_t number, bool clear = true) {
    std::vector<EventToWrite> events;
    if (clear) events.push_back({.type = EventType::kZeroGrad, .subject = "SGD"});
    events.push_back({.type = EventType::kForwardBegins,
                      .flags = kTraining | kGradientsEnabled,
                      .c = clear || number == 0 ? 0 : 3});
    events.push_back({.type = EventType::kBackward, .subject = "B", .flags = kScalarRoot, .a = 1});
    events.push_back({.type = EventType::kOptimizerBegins, .subject = "SGD"});
    events.push_back({.type = EventType::kOptimizerEnds, .subject = "SGD"});
    Step(number, events);
  }

  std::string& bytes() { return bytes_; }
  void WriteTo(const std::string& directory, int rank = 0) const {
    char name[32];
    std::snprintf(name, sizeof(name), "rank%05d.journal", rank);
    std::ofstream(std::filesystem::path(directory) / name, std::ios::binary) << bytes_;
  }

 private:
  std::string Beginning(int64_t step, Moment moment, const std::string& set, size_t count,
                        uint32_t table) {
    std::string payload;
    Number<int64_t>(step, &payload);
    Number<uint8_t>(static_cast<uint8_t>(moment), &payload);
    Number<uint32_t>(table, &payload);
    Number<uint32_t>(Text(set), &payload);
    Number<uint32_t>(static_cast<uint32_t>(count), &payload);
    return payload;
  }

  std::string bytes_;
  std::map<std::string, uint32_t> texts_;
};

}  // namespace planproof::monitor

#endif  // PLANPROOF_TESTS_MONITOR_JOURNAL_WRITER_H_
