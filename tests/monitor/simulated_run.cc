#include "tests/monitor/simulated_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace planproof::monitor {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8, kMomentum = 0.9;
constexpr double kBound = 0.5;  // of clipping
constexpr float kLoss = 2.5F;

const std::string* Name(const char* text) {
  static std::deque<std::string>* const names = new std::deque<std::string>();
  return &names->emplace_back(text);
}

// Of an element, the same on all ranks: bits from which its weights are taken.
uint64_t HashOf(uint64_t name, size_t i) {
  uint64_t hash = name + (i + 1) * 0x9E3779B97F4A7C15ULL;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
  return hash ^ (hash >> 31);
}

double Weight(uint64_t hash, int k) {
  const uint64_t bits = hash >> (8 * k);
  return (bits % 2 == 0 ? 1 : -1) * (8.0 + static_cast<double>(bits / 2 % 8)) / 8;
}

void AddFact(const SimulatedTensor& tensor, int32_t number, const std::vector<float>& data,
             Values* values) {
  double square = 0;
  std::array<double, kSketches> sketches{};
  uint64_t fingerprint = 0;
  const uint64_t name = std::hash<std::string>()(tensor.name);
  for (size_t i = 0; i < data.size(); ++i) {
    square += static_cast<double>(data[i]) * data[i];
    const uint64_t hash = HashOf(name, i);
    for (int k = 0; k < kSketches; ++k) sketches[k] += Weight(hash, k) * data[i];
    uint32_t bits = 0;
    std::memcpy(&bits, &data[i], sizeof(bits));
    fingerprint += bits * (2 * i + 1) * 0x9E3779B97F4A7C15ULL;
  }
  values->tensors.push_back(number);
  values->norms.push_back(std::sqrt(square));
  for (int k = 0; k < kSketches; ++k) values->sketches[k].push_back(sketches[k]);
  values->fingerprints.push_back(fingerprint);
}

Event EventOf(EventType type, const std::string* subject, uint16_t flags = 0, double a = 0) {
  return {.type = type, .flags = flags, .subject = subject, .a = a, .b = 0, .c = 0};
}

using Column = std::vector<float> SimulatedTensor::*;

struct SetOfRun {
  TensorSet set;
  const char* name;
  Column column;
};

constexpr SetOfRun kParameterSet = {TensorSet::kParameter, "parameter",
                                    &SimulatedTensor::parameter};
constexpr SetOfRun kGradientSet = {TensorSet::kGradient, "gradient", &SimulatedTensor::gradient};
constexpr SetOfRun kContributionSet = {TensorSet::kContribution, "contribution",
                                       &SimulatedTensor::contribution};
constexpr SetOfRun kStates[] = {
    {TensorSet::kExpAvg, "exp_avg", &SimulatedTensor::exp_avg},
    {TensorSet::kExpAvgSq, "exp_avg_sq", &SimulatedTensor::exp_avg_sq},
    {TensorSet::kMomentumBuffer, "momentum_buffer", &SimulatedTensor::momentum_buffer}};

void TakeSet(const SimulatedRank& rank, Moment moment, const SetOfRun& set, StepOfRank* step) {
  Values values{.moment = moment, .table = step->table, .set = set.name, .kind = set.set};
  for (size_t i = 0; i < rank.tensors.size(); ++i) {
    const std::vector<float>& data = rank.tensors[i].*set.column;
    if (!data.empty()) AddFact(rank.tensors[i], static_cast<int32_t>(i), data, &values);
  }
  if (!values.tensors.empty()) step->values.push_back(std::move(values));
}

}  // namespace

SimulatedRun::SimulatedRun(OptimizerKind kind, int world) : kind_(kind), world_(world) {
  const char* name =
      kind == OptimizerKind::kSgd ? "torch.optim.sgd.SGD" : "torch.optim.adamw.AdamW";
  for (int number = 0; number < world; ++number) {
    Header header{.rank = number, .world = world};
    header.optimizers.push_back({.name = "optimizer", .class_name = name, .kind = kind});
    run.headers.emplace(number, header);
    SimulatedRank& rank = ranks_[number];
    rank.random.seed(100 + static_cast<uint64_t>(number));
    std::mt19937_64 start(7);
    std::normal_distribution<float> normal;
    for (const auto& [tensor, of] : std::vector<std::pair<std::string, std::vector<int64_t>>>{
             {"a.weight", {48, 16}}, {"a.bias", {48}}, {"b.weight", {16, 48}}}) {
      SimulatedTensor& made = rank.tensors.emplace_back();
      made.name = tensor;
      made.of = of;
      made.parameter.resize(static_cast<size_t>(of.size() > 1 ? of[0] * of[1] : of[0]));
      for (float& value : made.parameter) value = 0.2F * normal(start);
    }
  }
}

void SimulatedRun::Backward() {
  std::normal_distribution<float> normal;
  for (auto& [number, rank] : ranks_) {
    for (SimulatedTensor& tensor : rank.tensors) {
      tensor.contribution.assign(tensor.parameter.size(), 0);
      for (float& value : tensor.contribution) value = 0.1F * normal(rank.random);
    }
  }
  for (auto& [number, rank] : ranks_) {
    for (size_t t = 0; t < rank.tensors.size(); ++t) {
      std::vector<float> sum(rank.tensors[t].contribution.size(), 0);
      for (auto& [other, of_other] : ranks_) {
        if (!reduce && other != number) continue;
        const float share = reduce ? 1.0F / static_cast<float>(world_) : 1.0F;
        for (size_t i = 0; i < sum.size(); ++i)
          sum[i] += of_other.tensors[t].contribution[i] * share;
      }
      std::vector<float>& gradient = rank.tensors[t].gradient;
      gradient.resize(sum.size());
      for (size_t i = 0; i < sum.size(); ++i)
        gradient[i] += sum[i] * static_cast<float>(contribution_factor);
    }
  }
}

void SimulatedRun::Clip(int number, StepOfRank* step) {
  SimulatedRank& rank = ranks_.at(number);
  TakeSet(rank, Moment::kClip, kGradientSet, step);
  double square = 0;
  for (const SimulatedTensor& tensor : rank.tensors)
    for (const float value : tensor.gradient) square += static_cast<double>(value) * value;
  const double norm = std::sqrt(square);
  Event event = EventOf(EventType::kClipByNorm, nullptr, 0, norm);
  event.b = kBound;
  const double two = 2;
  std::memcpy(&event.c, &two, sizeof(two));
  step->events.push_back(event);
  const float factor = static_cast<float>(std::min(1.0, kBound / (norm + 1e-6)));
  for (SimulatedTensor& tensor : rank.tensors)
    for (float& value : tensor.gradient) value *= factor;
}

void SimulatedRun::Update(SimulatedRank* rank) {
  rank->step_count += 1;
  for (SimulatedTensor& tensor : rank->tensors) {
    if (tensor.optimizers.empty()) continue;
    const bool first = tensor.exp_avg.empty() && tensor.momentum_buffer.empty();
    const size_t n = tensor.parameter.size();
    if (kind_ == OptimizerKind::kSgd) {
      if (first) tensor.momentum_buffer.resize(n);
      for (size_t i = 0; i < n; ++i) {
        const float g = tensor.gradient[i] + static_cast<float>(weight_decay) * tensor.parameter[i];
        float& buffer = tensor.momentum_buffer[i];
        buffer = first ? g : static_cast<float>(kMomentum) * buffer + g;
        if (update) tensor.parameter[i] -= static_cast<float>(lr) * buffer;
      }
      continue;
    }
    if (first) {
      tensor.exp_avg.resize(n);
      tensor.exp_avg_sq.resize(n);
    }
    const double step_size = lr / (1 - std::pow(kBeta1, rank->step_count));
    const double root = std::sqrt(1 - std::pow(kBeta2, rank->step_count));
    for (size_t i = 0; i < n; ++i) {
      const float g = tensor.gradient[i];
      float p = tensor.parameter[i] * static_cast<float>(1 - lr * weight_decay);
      tensor.exp_avg[i] += static_cast<float>(1 - kBeta1) * (g - tensor.exp_avg[i]);
      tensor.exp_avg_sq[i] = static_cast<float>(kBeta2) * tensor.exp_avg_sq[i] +
                             static_cast<float>(1 - kBeta2) * g * g;
      const float denominator =
          std::sqrt(tensor.exp_avg_sq[i]) / static_cast<float>(root) + static_cast<float>(kEpsilon);
      p -= static_cast<float>(step_size) * tensor.exp_avg[i] / denominator;
      if (update) tensor.parameter[i] = p;
    }
  }
}

std::shared_ptr<const TensorTable> SimulatedRun::TableOf(const SimulatedRank& rank) const {
  auto table = std::make_shared<TensorTable>();
  for (const SimulatedTensor& tensor : rank.tensors) {
    HeldTensor& held = table->emplace_back();
    held.name = tensor.name;
    held.of = tensor.of;
    held.dtype = "float32";
    held.local = static_cast<int64_t>(tensor.parameter.size());
    held.trainable = tensor.trainable;
    held.optimizers = tensor.optimizers;
    held.significand_bits = 24;
    for (int other = 0; world_ > 1 && other < world_; ++other) held.replicas.push_back(other);
  }
  return table;
}

OptimizerOptions SimulatedRun::OptionsOf(const std::shared_ptr<const TensorTable>& table) const {
  const auto number = [](double value) {
    return Option{.kind = Option::Kind::kNumber, .number = value};
  };
  OptimizerOptions options{.table = table};
  ParameterGroup& group = options.groups.emplace_back();
  group.options = {{"lr", number(lr)}, {"weight_decay", number(weight_decay)}};
  if (kind_ == OptimizerKind::kSgd) {
    group.options.emplace_back("momentum", number(kMomentum));
    group.options.emplace_back("dampening", number(0));
  } else {
    group.options.emplace_back("betas",
                               Option{.kind = Option::Kind::kNumbers, .numbers = {kBeta1, kBeta2}});
    group.options.emplace_back("eps", number(kEpsilon));
  }
  for (size_t i = 0; i < table->size(); ++i)
    if (!(*table)[i].optimizers.empty()) group.tensors.push_back(static_cast<int32_t>(i));
  group.others = others;
  return options;
}

void SimulatedRun::Take(const SimulatedRank& rank, Moment moment, bool states,
                        StepOfRank* step) const {
  TakeSet(rank, moment, kParameterSet, step);
  if (moment == Moment::kBefore) TakeSet(rank, moment, kGradientSet, step);
  if (!states) return;
  for (const SetOfRun& set : kStates) TakeSet(rank, moment, set, step);
  TakeElements(rank, moment, step);
}

void SimulatedRun::TakeElements(const SimulatedRank& rank, Moment moment, StepOfRank* step) const {
  const auto take = [&](const SetOfRun& set) {
    Elements elements{.moment = moment, .table = step->table, .set = set.name, .kind = set.set};
    for (size_t i = 0; i < rank.tensors.size(); ++i) {
      const std::vector<float>& data = rank.tensors[i].*set.column;
      if (data.empty()) continue;
      const auto position = static_cast<size_t>(step_ * 5 + 3) % data.size();
      elements.tensors.push_back(static_cast<int32_t>(i));
      elements.positions.push_back(position);
      elements.values.push_back(data[position]);
    }
    if (!elements.tensors.empty()) step->elements.push_back(std::move(elements));
  };
  take(kParameterSet);
  if (moment == Moment::kBefore) take(kGradientSet);
  for (const SetOfRun& set : kStates) take(set);
  Elements counts{
      .moment = moment, .table = step->table, .set = "step", .kind = TensorSet::kStepCount};
  for (size_t i = 0; i < rank.tensors.size(); ++i) {
    if (rank.tensors[i].exp_avg.empty()) continue;
    counts.tensors.push_back(static_cast<int32_t>(i));
    counts.positions.push_back(kNumberOfOptimizer);
    counts.values.push_back(rank.step_count);
  }
  if (!counts.tensors.empty()) step->elements.push_back(std::move(counts));
}

StepOfRun SimulatedRun::Step() {
  static const std::string* const optimizer = Name("optimizer");
  static const std::string* const model = Name("");
  std::map<int, std::shared_ptr<StepOfRank>> steps;
  for (auto& [number, rank] : ranks_) {
    auto step = std::make_shared<StepOfRank>();
    step->step = step_;
    step->sampled = true;
    between(step_, number, &rank);
    step->table = TableOf(rank);
    step->options.push_back(OptionsOf(step->table));
    step->events = extra_events;
    Take(rank, Moment::kBegin, false, step.get());
    const bool has_gradient = !rank.tensors[0].gradient.empty();
    if (clears(step_, number)) {
      if (step_ > 0) step->events.push_back(EventOf(EventType::kZeroGrad, optimizer, kSetToNone));
      for (SimulatedTensor& tensor : rank.tensors) tensor.gradient.clear();
    }
    Event forward = EventOf(EventType::kForwardBegins, model, kTraining | kGradientsEnabled);
    forward.c = !clears(step_, number) && has_gradient ? 3 : 0;
    step->events.push_back(forward);
    for (int i = 0; i < backwards; ++i) {
      if (say_loss) step->events.push_back(EventOf(EventType::kLoss, nullptr, 0, kLoss));
      step->events.push_back(
          EventOf(EventType::kBackward, nullptr, kScalarRoot, kLoss * loss_factor / backwards));
    }
    step->batch.push_back(
        {.name = "0",
         .dtype = "int64",
         .shape = {4},
         .fingerprint = static_cast<uint64_t>(step_ * 10 + (same_batch ? 0 : number) + 1)});
    steps[number] = step;
  }
  extra_events.clear();
  Backward();
  StepOfRun result{.step = step_};
  for (auto& [number, rank] : ranks_) {
    StepOfRank* step = steps.at(number).get();
    TakeSet(rank, Moment::kBackward, kContributionSet, step);
    if (clips(step_, number)) Clip(number, step);
    Take(rank, Moment::kBefore, true, step);
    step->events.push_back(EventOf(EventType::kOptimizerBegins, optimizer));
    Update(&rank);
    in_update(step_, number, &rank);
    Take(rank, Moment::kAfter, true, step);
    step->events.push_back(EventOf(EventType::kOptimizerEnds, optimizer));
    result.ranks[number] = steps.at(number);
  }
  ++step_;
  return result;
}

Findings Judged(Judge* judge, SimulatedRun* run, int steps) {
  Findings findings;
  judge->Begin(run->run, &findings);
  for (int i = 0; i < steps; ++i) judge->Observe(run->run, run->Step(), &findings);
  judge->End(run->run, &findings);
  return findings;
}

}  // namespace planproof::monitor
