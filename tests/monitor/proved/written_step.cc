#include "tests/monitor/proved/written_step.h"

#include <cmath>
#include <cstring>
#include <random>

namespace planproof::monitor {
namespace {

constexpr int kColumns = 6;
constexpr char kMatrix[] = "layers.0.weight";
constexpr char kVector[] = "layers.0.norm";
constexpr double kBeta = 0.9;

HeldTensor Held(const char* name, int rows, int dp, int tp) {
  HeldTensor tensor;
  tensor.name = name;
  tensor.dtype = "float32";
  tensor.significand_bits = 24;
  tensor.optimizers = {0};
  const int64_t half = rows / 2;
  if (std::strcmp(name, kVector) == 0) {
    tensor.of = {rows};
    tensor.place = {{{dp * half, half}}};
    tensor.local = half;
  } else {
    tensor.of = {rows, kColumns};
    tensor.place = {{{dp * half, half}}, {{tp * kColumns / 2, kColumns / 2}}};
    tensor.local = half * kColumns / 2;
  }
  return tensor;
}

// Facts of a part: weights of elements are signs by their position in the part.
void AddFacts(const std::vector<float>& part, Values* values) {
  double squares = 0, sums[kSketches] = {};
  uint64_t bits = 0;
  for (size_t i = 0; i < part.size(); ++i) {
    squares += static_cast<double>(part[i]) * part[i];
    for (int k = 0; k < kSketches; ++k)
      sums[k] += (i * 7 + i / 3 + k) % 3 == 0 ? -part[i] : part[i];
    uint32_t own = 0;
    std::memcpy(&own, &part[i], sizeof(own));
    bits = bits * 31 + own;
  }
  values->norms.push_back(std::sqrt(squares));
  for (int k = 0; k < kSketches; ++k) values->sketches[k].push_back(sums[k]);
  values->fingerprints.push_back(bits);
}

struct SetAtMoment {
  Moment moment;
  const char* name;
  TensorSet kind;
  const PartsByRank* parts;
};

}  // namespace

WrittenRun::WrittenRun(int rows, const std::string& device) {
  for (int rank = 0; rank < 4; ++rank) {
    Header& header = run.headers[rank];
    header.rank = rank;
    header.world = 4;
    header.device = device;
    header.on_cpu = device == "cpu";
    header.optimizers.push_back({.name = "AdamW", .class_name = "torch.optim.AdamW"});
    tables[rank] = std::make_shared<TensorTable>();
    for (const char* name : {kMatrix, kVector}) {
      tables[rank]->push_back(Held(name, rows, rank / 2, rank % 2));
    }
  }
}

void WrittenRun::Fill(int64_t seed) {
  for (int rank = 0; rank < 4; ++rank) {
    for (const HeldTensor& tensor : *tables[rank]) {
      // Ranks that differ in tp alone have one vector.
      const bool repeated = tensor.name == kVector;
      std::mt19937_64 random(static_cast<uint64_t>(10 * seed + (repeated ? rank / 2 : rank)));
      std::normal_distribution<float> normal;
      const auto draw = [&] {
        std::vector<float> part(static_cast<size_t>(tensor.local));
        for (float& element : part) element = normal(random);
        return part;
      };
      parameters[rank][tensor.name] = draw();
      updated[rank][tensor.name] = draw();
      gradients[rank][tensor.name] = draw();
      before[rank][tensor.name] = draw();
    }
    counts[rank] = static_cast<double>(step_ + 1);
  }
  const double norm = NormOfWhole();
  const auto factor = static_cast<float>(std::min(1.0, kBoundOfTests / (norm + 1e-6)));
  for (int rank = 0; rank < 4; ++rank) {
    norms[rank] = norm;
    for (const auto& [name, gradient] : gradients[rank]) {
      std::vector<float>& own = clipped[rank][name];
      std::vector<float>& moment = after[rank][name];
      own.clear();
      moment.clear();
      for (size_t i = 0; i < gradient.size(); ++i) {
        own.push_back(gradient[i] * factor);
        moment.push_back(static_cast<float>(kBeta) * before[rank][name][i] +
                         static_cast<float>(1 - kBeta) * own[i]);
      }
    }
  }
}

double WrittenRun::NormOfWhole() const {
  double squares = 0;
  for (const auto& [rank, tensors] : gradients) {
    for (const auto& [name, part] : tensors) {
      if (name == kVector && rank % 2 == 1) continue;
      for (const float element : part) squares += static_cast<double>(element) * element;
    }
  }
  return std::sqrt(squares);
}

StepOfRun WrittenRun::Step() {
  StepOfRun whole;
  whole.step = step_;
  const SetAtMoment sets[] = {{Moment::kBegin, "parameter", TensorSet::kParameter, &parameters},
                              {Moment::kClip, "gradient", TensorSet::kGradient, &gradients},
                              {Moment::kBefore, "gradient", TensorSet::kGradient, &clipped},
                              {Moment::kBefore, "exp_avg", TensorSet::kExpAvg, &before},
                              {Moment::kAfter, "exp_avg", TensorSet::kExpAvg, &after},
                              {Moment::kAfter, "parameter", TensorSet::kParameter, &updated}};
  for (int rank = 0; rank < 4; ++rank) {
    auto step = std::make_shared<StepOfRank>();
    step->step = step_;
    step->sampled = sampled;
    step->table = tables[rank];
    step->events = calls[rank];
    for (const Collective& collective : collectives[rank]) {
      Event event{.type = EventType::kCollective};
      event.collective = &collective;
      step->events.push_back(event);
    }
    step->events.push_back({.type = EventType::kOptimizerEnds});
    const bool clips = norms.count(rank) != 0;
    if (clips) {
      Event event{.type = EventType::kClipByNorm};
      event.a = norms[rank];
      event.b = kBoundOfTests;
      const double two = 2;
      std::memcpy(&event.c, &two, sizeof(two));
      step->events.push_back(event);
    }
    for (const auto& backward : contributions[rank]) {
      Values values{.moment = Moment::kBackward,
                    .table = tables[rank],
                    .set = "contribution",
                    .kind = TensorSet::kContribution};
      for (size_t t = 0; t < tables[rank]->size(); ++t) {
        const auto own = backward.find((*tables[rank])[t].name);
        if (own == backward.end()) continue;
        values.tensors.push_back(static_cast<int32_t>(t));
        AddFacts(own->second, &values);
      }
      step->values.push_back(std::move(values));
    }
    for (const SetAtMoment& set : sets) {
      if (set.moment == Moment::kClip && !clips) continue;
      Values values{.moment = set.moment, .table = tables[rank], .set = set.name, .kind = set.kind};
      for (size_t t = 0; t < tables[rank]->size(); ++t) {
        values.tensors.push_back(static_cast<int32_t>(t));
        AddFacts(set.parts->at(rank).at((*tables[rank])[t].name), &values);
      }
      step->values.push_back(std::move(values));
    }
    for (const auto& [moment, less] : {std::pair(Moment::kBefore, 1), {Moment::kAfter, 0}}) {
      Elements elements{
          .moment = moment, .table = tables[rank], .set = "step", .kind = TensorSet::kStepCount};
      for (size_t t = 0; t < tables[rank]->size(); ++t) {
        elements.tensors.push_back(static_cast<int32_t>(t));
        elements.positions.push_back(kNumberOfOptimizer);
        elements.values.push_back(counts[rank] - less);
      }
      step->elements.push_back(std::move(elements));
    }
    whole.ranks[rank] = std::move(step);
  }
  ++step_;
  return whole;
}

ProvedMonitors MonitorsOfTests(int rows) {
  ProvedMonitors monitors;
  monitors.axes = {{"dp", 2}, {"tp", 2}};
  monitors.world = 4;
  monitors.clip = ClipMonitor{kBoundOfTests, 1e-6, 50, "train.py:70"};
  for (const char* layer : {"layers.0.", "layers.1."}) {
    for (const char* name : {"norm", "weight"}) {
      TensorMonitor& tensor = monitors.tensors.emplace_back();
      tensor.name = std::string(layer) + name;
      const bool vector = std::strcmp(name, "norm") == 0;
      tensor.of = vector ? std::vector<int64_t>{rows} : std::vector<int64_t>{rows, kColumns};
      tensor.cut = vector ? std::vector<std::vector<int32_t>>{{0}}
                          : std::vector<std::vector<int32_t>>{{0}, {1}};
      tensor.clipped = true;
      SetMonitor gradient{
          .set = "gradient", .kind = SetKind::kGradient, .order = 10, .place = "train.py:12"};
      SetMonitor state{
          .set = "exp_avg", .kind = SetKind::kState, .order = 60, .place = "train.py:72"};
      state.definition = LinearDefinition{{{kBeta, "exp_avg"}, {1 - kBeta, "gradient"}}, 0};
      SetMonitor count{
          .set = "step", .kind = SetKind::kNumberState, .order = 61, .place = "train.py:72"};
      count.definition = LinearDefinition{{{1, "step"}}, 1};
      SetMonitor parameter{
          .set = "parameter", .kind = SetKind::kParameter, .order = 62, .place = "train.py:72"};
      tensor.sets = {gradient, state, count, parameter};
    }
  }
  return monitors;
}

}  // namespace planproof::monitor
