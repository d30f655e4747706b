#include "shape_reduction/input_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shape_reduction/fan_in.h"
#include "shape_reduction/recorded_values.h"
#include "shape_reduction/updated_parameters.h"

namespace planproof::shape_reduction {

using sdfg::Op;
using sdfg::TensorId;
using sdfg::TensorRole;

namespace {

constexpr uint64_t kCheapSeeds = 8;     // the first inputs are cut in few places
constexpr size_t kMaxStarts = 4096;     // starts of shards enumerated per dimension
constexpr int64_t kShortExtent = 8;     // cut everywhere by a fine choice
constexpr int64_t kFineExtent = 64;     // the same, in a small graph
constexpr int64_t kFineBlocks = 16384;  // of all sources of a small graph together
constexpr int64_t kMaxRanked = 512;     // elements of a ranked dimension that are told apart

int64_t Uniform(std::mt19937_64* random, int64_t low, int64_t high) {
  // Not std::uniform_int_distribution: the same seed must give the same inputs everywhere.
  const uint64_t span = static_cast<uint64_t>(high - low) + 1;
  return low + static_cast<int64_t>((*random)() % span);
}

}  // namespace

ChoiceOptions OptionsOfSeed(uint64_t seed) {
  const uint64_t coarse = seed >> kCoarseSeedShift;
  ChoiceOptions options;
  options.max_bounds = seed % 4 == 1 ? 2 : seed % 4 == 0 ? 4 : 3;
  options.random_cuts = seed % 4 == 1 ? 0 : 1;
  options.literals = seed % 4 == 3;
  options.compared = seed % 4 >= 2;
  options.centre = (seed & 0xffffffffu) / 4;
  if (coarse == 0 && (seed % 8 == 5 || (seed % 8 == 2 && seed > kCheapSeeds))) {
    options.fine = seed > kCheapSeeds ? kFineExtent : kShortExtent;
  }
  options.derived = seed > kCheapSeeds && coarse == 0;
  options.wild = seed % 8 == 6;
  options.faint = seed % 16 == 12;
  if (coarse > 0) {
    options.max_bounds = coarse > 1 ? 0 : 1;
    options.random_cuts = 0;
  }
  return options;
}

bool InputChooser::IsSource(const sdfg::Tensor& tensor) {
  return tensor.producer == sdfg::kNone && tensor.role != TensorRole::kOne &&
         tensor.role != TensorRole::kZero;
}

double InputChooser::ScaleOf(TensorId id) const {
  if (problem_.logical.tensors[id].role != TensorRole::kParameter) return 1;
  return std::exp2(-std::round(std::log2(std::max(1.0, fan_in_[id]))));
}

bool InputChooser::Untied(TensorId id, size_t dim) const {
  return ranked_.count({id, dim}) != 0 ||
         IsDeclared(id, lineage::Problem::InputPremise::Kind::kNoTie);
}

bool InputChooser::IsDeclared(TensorId id, lineage::Problem::InputPremise::Kind kind) const {
  return (declared_[id] >> static_cast<int>(kind) & 1) != 0;
}

InputChooser::InputChooser(const lineage::Problem& problem, ProgramCache* programs)
    : named_(WithUpdatedParameters(problem)),
      problem_(named_.has_value() ? *named_ : problem),
      ranges_(problem, programs),
      declared_(problem.logical.tensors.size(), 0),
      fan_in_(FanIns(problem.logical, programs)) {
  for (const lineage::Problem::InputPremise& premise : problem.premises) {
    declared_[premise.tensor] |= 1u << static_cast<int>(premise.kind);
  }
  FindBounds();
  FindLiterals();
  FindRanked(programs);
}

// Starts and ends of the slices that parallel tensors are of logical ones: where inputs are cut,
// where values are said to be cut on the way, and what is required.
void InputChooser::FindBounds() {
  SlicesSeen seen;
  const size_t count = std::min(problem_.parallel.tensors.size(), problem_.lineage.size());
  for (const bool produced : {false, true}) {  // inputs first
    for (size_t t = 0; t < count; ++t) {
      const sdfg::Tensor& tensor = problem_.parallel.tensors[t];
      if ((tensor.producer != sdfg::kNone) != produced) continue;
      AddBounds(tensor, problem_.lineage[t], &seen);
    }
    if (!produced) bounds_ = all_bounds_;
  }
  for (const lineage::RequiredRelation& relation : problem_.required) {
    AddBounds(problem_.parallel.tensors[relation.parallel], relation.lineage, &seen);
  }
}

// The bounds of one slice, dimension by dimension, where it is plain.
void InputChooser::AddBounds(const sdfg::Tensor& tensor, const lineage::Lineage& lineage,
                             SlicesSeen* seen) {
  if (lineage.kind != lineage::LineageKind::kFull) return;
  const sdfg::Shape& logical = problem_.logical.tensors[lineage.logical].shape;
  for (size_t d = 0; d < lineage.map.size() && d < logical.size(); ++d) {
    int64_t length = 1;
    bool plain = true;
    std::vector<int64_t> slice = {logical[d], lineage.map[d].constant};  // then scales and extents
    for (const lineage::IndexTerm& term : lineage.map[d].terms) {
      const int64_t extent = tensor.shape[term.dim];
      if (term.div != 1 || term.mod != 0 || term.offset != 0 || term.scale <= 0 || term.gated()) {
        plain = false;
      }
      if (term.dim >= static_cast<int64_t>(tensor.axes.size())) {
        plain &= term.scale == 1 && length == 1;
        length = extent;
      } else {
        slice.insert(slice.end(), {term.scale, extent});
      }
    }
    slice.push_back(length);
    if (!plain || length == logical[d] || !seen->insert(slice).second) continue;
    std::vector<int64_t> starts = {lineage.map[d].constant};
    for (size_t k = 2; plain && k + 1 < slice.size(); k += 2) {
      plain = starts.size() * static_cast<size_t>(slice[k + 1]) <= kMaxStarts;
      std::vector<int64_t> next;
      for (int64_t start : starts) {
        for (int64_t c = 0; plain && c < slice[k + 1]; ++c) next.push_back(start + slice[k] * c);
      }
      starts = std::move(next);
    }
    for (int64_t start : starts) {
      for (int64_t bound : {start, start + length}) {
        if (bound > 0 && bound < logical[d]) all_bounds_[logical[d]].insert(bound);
      }
    }
  }
}

void InputChooser::FindLiterals() {
  std::set<double> found;
  std::set<const sdfg::IndexFunction*> seen;
  for (const sdfg::Graph* graph : {&problem_.logical, &problem_.parallel}) {
    for (const sdfg::Operator& op : graph->operators) {
      if (!seen.insert(op.function.get()).second) continue;
      for (const sdfg::Node& node : op.function->nodes) {
        if (node.op != Op::kReal || found.size() >= 64) continue;
        const double value = node.real.ToDouble();
        if (std::fabs(value) < 1e7) found.insert(value);
      }
    }
  }
  literals_.assign(found.begin(), found.end());
}

// The dimension that a top-k choice ranks, traced back through producers to the inputs that vary
// along it (the experts of a gate's weight): equal values there would be ties.
void InputChooser::FindRanked(ProgramCache* programs) {
  const sdfg::Graph& graph = problem_.logical;
  std::set<std::pair<TensorId, size_t>> reached;
  for (size_t o = graph.operators.size(); o-- > 0;) {
    const sdfg::Operator& op = graph.operators[o];
    for (size_t k = 0; k < op.outputs.size(); ++k) {
      if (op.outputs[k] == sdfg::kNone) continue;
      const ScalarProgram& program = programs->Get(graph, op, static_cast<int>(k));
      std::vector<char> ranked(program.vars.size(), 0);
      for (const sdfg::Node& node : program.nodes) {
        if (node.op == Op::kOpaque && node.var >= 0) ranked[node.var] = 1;
      }
      for (size_t d = 0; d < program.dims.size(); ++d) {
        if (reached.count({op.outputs[k], d}) != 0) ranked[program.dims[d]] = 1;
      }
      for (const sdfg::Node& node : program.nodes) {
        if (node.op != Op::kElement) continue;
        const TensorId input = op.inputs[node.input];
        for (size_t d = 0; d < node.args.size(); ++d) {
          for (const DigitTerm& term : program.forms[node.args[d]].terms) {
            if (ranked[term.var]) reached.insert({input, d});
          }
        }
      }
    }
  }
  for (const auto& place : reached) {
    const sdfg::Tensor& tensor = graph.tensors[place.first];
    if (IsSource(tensor) && tensor.shape[place.second] <= kMaxRanked) ranked_.insert(place);
  }
  // A plan may rank by what is as large: another layer's weights, an optimizer's state.
  const std::set<std::pair<TensorId, size_t>> own = ranked_;
  for (const auto& [id, dim] : own) {
    const sdfg::Shape& shape = graph.tensors[id].shape;
    if (shape.size() < 2) continue;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (IsSource(graph.tensors[t]) && graph.tensors[t].shape == shape)
        ranked_.insert({static_cast<TensorId>(t), dim});
    }
  }
}

// About the number of blocks of all sources if extents up to `fine` are cut everywhere.
int64_t InputChooser::BlocksIfFine(int64_t fine) const {
  int64_t total = 0;
  for (const sdfg::Tensor& tensor : problem_.logical.tensors) {
    if (!IsSource(tensor)) continue;
    int64_t blocks = 1;
    for (int64_t extent : tensor.shape) {
      blocks = std::min(blocks * (extent <= fine ? extent : 4), 2 * kFineBlocks);
    }
    total += blocks;
  }
  return total;
}

std::vector<BlockTensorPtr<double>> InputChooser::Choose(uint64_t seed,
                                                         const ChoiceOptions& options) const {
  if (seed == kRecordedSeed) {
    if (auto recorded = SampledInputsOf(problem_)) return *std::move(recorded);
  }
  Random random(seed * 0x9e3779b97f4a7c15u + 1);
  // Dimensions of one extent are cut alike, or the cuts of all layers would pile up.
  std::set<int64_t> extents;
  for (const sdfg::Tensor& tensor : problem_.logical.tensors) {
    if (!IsSource(tensor)) continue;
    extents.insert(tensor.shape.begin(), tensor.shape.end());
  }
  const auto& bounds = options.derived ? all_bounds_ : bounds_;
  const int64_t fine = BlocksIfFine(options.fine) <= kFineBlocks
                           ? options.fine
                           : std::min(options.fine, kShortExtent);
  std::map<int64_t, PartitionPtr> partitions;
  for (int64_t extent : extents) {
    std::vector<int64_t> cuts;
    const auto known = bounds.find(extent);
    if (known != bounds.end()) {
      std::vector<int64_t> all(known->second.begin(), known->second.end());
      if (static_cast<int>(all.size()) > options.max_bounds && options.max_bounds > 0) {
        const size_t first = Uniform(&random, 0, 1) == 0 ? 0 : all.size() - 1;
        cuts.push_back(all[first]);
        while (static_cast<int>(cuts.size()) < options.max_bounds) {
          cuts.push_back(all[Uniform(&random, 0, static_cast<int64_t>(all.size()) - 1)]);
        }
      } else if (options.max_bounds > 0) {
        cuts = all;
      }
    }
    int extra = options.random_cuts;
    if (extra == 0 && cuts.empty() && extent > 1) extra = 1;
    if (extent <= fine) {
      for (int64_t k = 1; k < extent; ++k) cuts.push_back(k);
      extra = 0;
    }
    for (int k = 0; k < extra && extent > 1; ++k) {
      int64_t cut = Uniform(&random, 1, extent - 1);
      // Mostly aligned: a cut inside a digit of a view is a cut of every period.
      int64_t unit = 1;
      while (extent % (unit * 2) == 0 && unit * 4 <= extent) unit *= 2;
      if (Uniform(&random, 0, 3) > 0 && extent > 2 * unit) {
        cut = std::max<int64_t>(1, cut / unit) * unit;
      } else if (Uniform(&random, 0, 1) == 0) {
        cut = extent / 2;
      }
      cuts.push_back(cut);
    }
    partitions[extent] =
        std::make_shared<const DimPartition>(DimPartition::WithCuts(extent, std::move(cuts)));
  }
  std::vector<BlockTensorPtr<double>> result(problem_.logical.tensors.size());
  for (size_t id = 0; id < result.size(); ++id) {
    if (!IsSource(problem_.logical.tensors[id])) continue;
    result[id] = RecordedTensor(problem_, static_cast<TensorId>(id));
    if (result[id] != nullptr) continue;
    result[id] = ChooseTensor(static_cast<TensorId>(id), options, partitions, &random);
  }
  return result;
}

BlockTensorPtr<double> InputChooser::ChooseTensor(TensorId id, const ChoiceOptions& options,
                                                  const std::map<int64_t, PartitionPtr>& partitions,
                                                  Random* random) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  auto result = std::make_shared<BlockTensor<double>>();
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    const int64_t extent = tensor.shape[d];
    result->dims.push_back(Untied(id, d)
                               ? std::make_shared<const DimPartition>(DimPartition::Full(extent))
                               : partitions.at(extent));
  }
  result->int_valued = sdfg::IsInteger(tensor.dtype);
  if (result->int_valued) {
    ChooseIntegers(id, options, random, result.get(), partitions);
  } else {
    ChooseReals(id, options, random, result.get());
  }
  return result;
}

void InputChooser::ChooseReals(TensorId id, const ChoiceOptions& options, Random* random,
                               BlockTensor<double>* result) const {
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  const bool faint = options.faint && tensor.role == TensorRole::kParameter;
  const double scale = options.wild ? 1 : ScaleOf(id) * (faint ? options.faintness : 1);
  const int64_t style = Uniform(random, 0, 5);
  // The whole tensor near one literal, or its opposite: what stands for infinity, or a bound.
  double centre = 0;
  const bool centred = options.literals && !literals_.empty() && Uniform(random, 0, 1) == 0;
  if (centred) {
    centre = literals_[options.centre % literals_.size()];
    if (Uniform(random, 0, 3) == 0) centre = -centre;
  }
  const std::vector<double>& compared = ranges_.ComparedReals(id);
  const int64_t count = result->Blocks();
  for (int64_t k = 0; k < count; ++k) {
    double value;
    if (style == 0) {
      value = static_cast<double>(Uniform(random, -2, 2));
    } else if (style == 1) {
      value = Uniform(random, 0, 2) == 0 ? 0 : static_cast<double>(Uniform(random, -16, 16)) / 8;
    } else if (style == 2) {
      value = static_cast<double>(Uniform(random, 1, 24)) / 16;
    } else {
      value = static_cast<double>(Uniform(random, -64, 64)) / 32;
    }
    if (centred) {
      result->values.push_back(centre + static_cast<double>(Uniform(random, -4, 4)) / 4);
    } else if (options.literals && !literals_.empty() && Uniform(random, 0, 2) == 0) {
      const double c = literals_[Uniform(random, 0, static_cast<int64_t>(literals_.size()) - 1)];
      const double near[] = {c, -c, c + 1, c - 1, -c + 1, -c - 1};
      result->values.push_back(near[Uniform(random, 0, 5)]);
    } else if (options.literals && !compared.empty() && Uniform(random, 0, 2) == 0) {
      const double c = compared[Uniform(random, 0, static_cast<int64_t>(compared.size()) - 1)];
      result->values.push_back(c + static_cast<double>(Uniform(random, -1, 1)) / 8);
    } else {
      result->values.push_back(value * scale);
    }
  }
  if (ranges_.Domain(id).kind == ElementDomain::Kind::kTruth) {
    for (double& value : result->values) value = static_cast<double>(Uniform(random, 0, 1));
  }
  MeetPremises(id, scale, random, result);
  if (!options.interior || !IsDeclared(id, lineage::Problem::InputPremise::Kind::kNonNegative)) {
    return;
  }
  for (double& value : result->values) value = value == 0 ? scale : value;
}

void InputChooser::MeetPremises(TensorId id, double scale, Random* random,
                                BlockTensor<double>* result) const {
  using Kind = lineage::Problem::InputPremise::Kind;
  const sdfg::Tensor& tensor = problem_.logical.tensors[id];
  if (ranges_.Domain(id).kind == ElementDomain::Kind::kTruth) return MeetTruths(id, random, result);
  const int64_t count = result->Blocks();
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (ranked_.count({id, d}) == 0) continue;
    for (int64_t k = 0; k < count; ++k) {  // no two alike
      result->values[k] += std::exp2(-8) * scale * static_cast<double>(Uniform(random, 0, 255));
    }
    break;
  }
  if (IsDeclared(id, Kind::kRowUnmasked) && !result->dims.empty()) {
    const int64_t row = result->dims.back()->blocks();
    for (int64_t k = 0; k < count; k += std::max<int64_t>(row, 1)) result->values[k] = 1;
  }
  if (declared_[id] == 0) return;
  const bool positive = IsDeclared(id, Kind::kPositive), untied = IsDeclared(id, Kind::kNoTie);
  const bool nonzero = positive || IsDeclared(id, Kind::kNonZero);
  const bool nonnegative = positive || IsDeclared(id, Kind::kNonNegative);
  for (int64_t k = 0; k < count; ++k) {
    double& value = result->values[k];
    if (nonnegative) value = std::fabs(value);
    if (nonzero && value == 0) value = scale;
    if (untied) value += std::exp2(-10) * scale * static_cast<double>(k);
  }
}

// Positive numbers become true.
void InputChooser::MeetTruths(TensorId id, Random* random, BlockTensor<double>* result) const {
  std::vector<int64_t> truths;
  for (const double value : result->values) truths.push_back(value > 0 ? 1 : 0);
  if (!ranges_.Domain(id).IsEmpty()) MeetRowPremises(id, random, result->dims, &truths);
  result->values.assign(truths.begin(), truths.end());
}

// What is declared of rows and single elements, for whole numbers. Where it cannot be met the
// inputs are refused later (UnmetPremise).
void InputChooser::MeetRowPremises(TensorId id, Random* random,
                                   const std::vector<PartitionPtr>& dims,
                                   std::vector<int64_t>* values) const {
  using Kind = lineage::Problem::InputPremise::Kind;
  const ElementDomain& domain = ranges_.Domain(id);
  for (int64_t& value : *values) value = domain.Nearest(value);
  if (dims.empty()) return;
  const int64_t row = std::max<int64_t>(dims.back()->blocks(), 1);
  const bool unmasked = IsDeclared(id, Kind::kRowUnmasked), untied = IsDeclared(id, Kind::kNoTie);
  for (auto begin = values->begin(); begin != values->end(); begin += row) {
    if (unmasked) *begin = domain.Nearest(1);
    if (!untied) continue;
    // As many neighbours, in another order.
    int64_t next =
        std::max(std::min(*begin, domain.high - row - (domain.nonzero ? 1 : 0)), domain.low);
    for (int64_t i = 0; i < row; ++i, ++next) {
      if (domain.nonzero && next == 0) ++next;
      begin[i] = next;
      std::swap(begin[i], begin[Uniform(random, 0, i)]);
    }
  }
}

void InputChooser::ChooseIntegers(TensorId id, const ChoiceOptions& options, Random* random,
                                  BlockTensor<double>* result,
                                  const std::map<int64_t, PartitionPtr>& partitions) const {
  const auto [low, high] = ranges_.Usual(id);
  std::vector<int64_t> special = {low, high - 1};
  const auto edges = partitions.find(high);
  if (edges != partitions.end()) {  // block edges of the dimension that is indexed
    for (int64_t start : edges->second->Representatives()) {
      special.push_back(start);
      special.push_back(start - 1);
    }
  }
  const auto bounds = bounds_.find(high);
  if (bounds != bounds_.end()) {
    for (int64_t bound : bounds->second) {
      if (special.size() > 32) break;
      special.push_back(bound);
      special.push_back(bound - 1);
    }
  }
  const std::vector<int64_t>& compared = ranges_.ComparedIntegers(id);
  const bool compare = options.compared && !compared.empty();
  const int64_t count = result->Blocks();
  for (int64_t k = 0; k < count; ++k) {
    int64_t value = Uniform(random, low, high - 1);
    const int64_t kind = Uniform(random, 0, 3);
    if (kind < 2) value = special[Uniform(random, 0, static_cast<int64_t>(special.size()) - 1)];
    if (kind == 2 && k > 0) value = result->ints[Uniform(random, 0, k - 1)];
    if (kind != 2 || k == 0) value = std::clamp(value, low, high - 1);
    if (compare && Uniform(random, 0, 2) == 0) {
      value = compared[Uniform(random, 0, static_cast<int64_t>(compared.size()) - 1)];
    }
    result->ints.push_back(value);
  }
  if (!ranges_.Domain(id).IsEmpty()) MeetRowPremises(id, random, result->dims, &result->ints);
}

}  // namespace planproof::shape_reduction
