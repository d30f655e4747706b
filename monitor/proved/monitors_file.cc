#include "monitor/proved/monitors_file.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "monitor/proved/monitors_json.h"
#include "monitor/proved/program_file.h"
#include "sdfg/status_macros.h"

namespace planproof::monitor {
namespace {

constexpr int kMonitorsVersion = 1;
constexpr size_t kMostMonitorBytes = size_t{1} << 28;
constexpr size_t kMostMonitorDepth = 16;
constexpr int64_t kMostRanks = 1 << 16;
constexpr size_t kMostAxes = 16;

constexpr MonitorWord<Sameness> kSamenessWords[] = {
    {Sameness::kBits, "bits"}, {Sameness::kAlike, "alike"}, {Sameness::kValues, "values"}};
constexpr MonitorWord<SetKind> kSetKindWords[] = {{SetKind::kParameter, "parameter"},
                                                  {SetKind::kGradient, "gradient"},
                                                  {SetKind::kState, "state"},
                                                  {SetKind::kNumberState, "number"}};

constexpr MonitorWord<CollectiveKind> kCollectiveKindWords[] = {
    {CollectiveKind::kAllReduce, "all_reduce"}, {CollectiveKind::kReduceScatter, "reduce_scatter"},
    {CollectiveKind::kAllGather, "all_gather"}, {CollectiveKind::kAllToAll, "all_to_all"},
    {CollectiveKind::kBroadcast, "broadcast"},  {CollectiveKind::kReduce, "reduce"}};

MonitorJson ToJson(const SetMonitor& set) {
  MonitorJson json = {{"set", set.set},
                      {"kind", MonitorTextOf(kSetKindWords, set.kind)},
                      {"same", MonitorTextOf(kSamenessWords, set.same)},
                      {"order", set.order}};
  if (!set.place.empty()) json["place"] = set.place;
  if (set.late) json["late"] = true;
  if (!set.ranks.empty()) json["ranks"] = set.ranks;
  if (set.definition) {
    MonitorJson terms = MonitorJson::array();
    for (const LinearTerm& term : set.definition->terms) {
      terms.push_back({{"factor", term.factor}, {"set", term.set}});
    }
    json["terms"] = std::move(terms);
    if (set.definition->constant != 0) json["constant"] = set.definition->constant;
  }
  return json;
}

MonitorJson ToJson(const TensorMonitor& tensor) {
  MonitorJson json = {{"name", tensor.name}, {"of", tensor.of}};
  if (tensor.flat) json["flat"] = *tensor.flat;
  if (!tensor.groups.empty()) json["groups"] = tensor.groups;
  if (!tensor.flat && tensor.groups.empty()) json["cut"] = tensor.cut;
  if (tensor.dtype != sdfg::DType::kUnknown) json["dtype"] = sdfg::DTypeName(tensor.dtype);
  if (tensor.clipped) json["clipped"] = true;
  if (tensor.contributions) {
    json["contributions"] = {{"factor", tensor.contributions->factor},
                             {"axes", tensor.contributions->axes}};
  }
  MonitorJson sets = MonitorJson::array();
  for (const SetMonitor& set : tensor.sets) sets.push_back(ToJson(set));
  json["sets"] = std::move(sets);
  return json;
}

absl::StatusOr<LinearDefinition> ReadDefinition(const MonitorValue& value) {
  LinearDefinition definition;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue list, value.At("terms"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> terms, list.List(64));
  for (const MonitorValue& term : terms) {
    PLAN_RETURN_IF_ERROR(term.Allow({"factor", "set"}));
    LinearTerm& own = definition.terms.emplace_back();
    PLAN_ASSIGN_OR_RETURN(const MonitorValue factor, term.At("factor"));
    PLAN_ASSIGN_OR_RETURN(own.factor, factor.Real());
    PLAN_ASSIGN_OR_RETURN(const MonitorValue set, term.At("set"));
    PLAN_ASSIGN_OR_RETURN(own.set, set.Text());
  }
  if (value.Has("constant")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue constant, value.At("constant"));
    PLAN_ASSIGN_OR_RETURN(definition.constant, constant.Real());
  }
  return definition;
}

absl::StatusOr<SetMonitor> ReadSet(const MonitorValue& value) {
  PLAN_RETURN_IF_ERROR(
      value.Allow({"set", "kind", "same", "order", "place", "late", "ranks", "terms", "constant"}));
  SetMonitor set;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue name, value.At("set"));
  PLAN_ASSIGN_OR_RETURN(set.set, name.Text());
  PLAN_ASSIGN_OR_RETURN(const MonitorValue kind, value.At("kind"));
  PLAN_ASSIGN_OR_RETURN(set.kind, kind.OneOf(kSetKindWords));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue same, value.At("same"));
  PLAN_ASSIGN_OR_RETURN(set.same, same.OneOf(kSamenessWords));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue order, value.At("order"));
  PLAN_ASSIGN_OR_RETURN(set.order, order.Whole(-1, kMostMonitorNumber));
  if (value.Has("place")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue place, value.At("place"));
    PLAN_ASSIGN_OR_RETURN(set.place, place.Text());
  }
  if (value.Has("late")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue late, value.At("late"));
    PLAN_ASSIGN_OR_RETURN(set.late, late.Truth());
  }
  if (value.Has("ranks")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue ranks, value.At("ranks"));
    PLAN_ASSIGN_OR_RETURN(set.ranks, ranks.Numbers<int32_t>(kMostRanks - 1, kMostRanks));
  }
  if (value.Has("terms")) {
    PLAN_ASSIGN_OR_RETURN(set.definition, ReadDefinition(value));
  }
  return set;
}

// Positions of axes.
absl::StatusOr<std::vector<int32_t>> ReadAxes(const MonitorValue& value, size_t axes) {
  return value.Numbers<int32_t>(static_cast<int64_t>(axes) - 1, kMostAxes);
}

absl::StatusOr<sdfg::DType> ReadType(const MonitorValue& value) {
  PLAN_ASSIGN_OR_RETURN(const std::string text, value.Text());
  const sdfg::DType dtype = sdfg::DTypeFromName(text);
  if (dtype == sdfg::DType::kUnknown) return value.Error("is no element type");
  return dtype;
}

absl::Status ReadLayout(const MonitorValue& value, size_t axes, TensorMonitor* tensor) {
  if (value.Has("flat")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue flat, value.At("flat"));
    PLAN_ASSIGN_OR_RETURN(tensor->flat, ReadAxes(flat, axes));
  } else if (value.Has("groups")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue groups, value.At("groups"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, groups.List(kMostRanks));
    for (const MonitorValue& group : list) {
      PLAN_ASSIGN_OR_RETURN(std::vector<int32_t> ranks,
                            group.Numbers<int32_t>(kMostRanks - 1, kMostRanks));
      if (ranks.empty()) return group.Error("has no rank");
      tensor->groups.push_back(std::move(ranks));
    }
    if (tensor->groups.empty()) return groups.Error("has no group");
  } else {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue cut, value.At("cut"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> dims, cut.List(16));
    if (dims.size() != tensor->of.size()) return cut.Error("has not as many entries as \"of\"");
    for (const MonitorValue& dim : dims) {
      PLAN_ASSIGN_OR_RETURN(tensor->cut.emplace_back(), ReadAxes(dim, axes));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TensorMonitor> ReadTensor(const MonitorValue& value, size_t axes) {
  PLAN_RETURN_IF_ERROR(value.Allow(
      {"name", "of", "dtype", "cut", "flat", "groups", "clipped", "contributions", "sets"}));
  TensorMonitor tensor;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue name, value.At("name"));
  PLAN_ASSIGN_OR_RETURN(tensor.name, name.Text());
  PLAN_ASSIGN_OR_RETURN(const MonitorValue of, value.At("of"));
  PLAN_ASSIGN_OR_RETURN(tensor.of, of.Numbers<int64_t>(kMostMonitorNumber, 16));
  PLAN_RETURN_IF_ERROR(ReadLayout(value, axes, &tensor));
  if (value.Has("dtype")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue dtype, value.At("dtype"));
    PLAN_ASSIGN_OR_RETURN(tensor.dtype, ReadType(dtype));
  }
  if (value.Has("clipped")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue clipped, value.At("clipped"));
    PLAN_ASSIGN_OR_RETURN(tensor.clipped, clipped.Truth());
  }
  if (value.Has("contributions")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue own, value.At("contributions"));
    PLAN_RETURN_IF_ERROR(own.Allow({"factor", "axes"}));
    ContributionMonitor& contributions = tensor.contributions.emplace();
    PLAN_ASSIGN_OR_RETURN(const MonitorValue factor, own.At("factor"));
    PLAN_ASSIGN_OR_RETURN(contributions.factor, factor.Real());
    PLAN_ASSIGN_OR_RETURN(const MonitorValue along, own.At("axes"));
    PLAN_ASSIGN_OR_RETURN(contributions.axes, ReadAxes(along, axes));
  }
  PLAN_ASSIGN_OR_RETURN(const MonitorValue sets, value.At("sets"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, sets.List(64));
  for (const MonitorValue& set : list) {
    PLAN_ASSIGN_OR_RETURN(tensor.sets.emplace_back(), ReadSet(set));
  }
  return tensor;
}

absl::Status ReadMesh(const MonitorValue& root, ProvedMonitors* monitors) {
  PLAN_ASSIGN_OR_RETURN(const MonitorValue axes, root.At("axes"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, axes.List(kMostAxes));
  monitors->world = 1;
  for (const MonitorValue& axis : list) {
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> pair, axis.List(2));
    if (pair.size() != 2) return axis.Error("is no pair of a name and an extent");
    ProvedAxis& own = monitors->axes.emplace_back();
    PLAN_ASSIGN_OR_RETURN(own.name, pair[0].Text());
    PLAN_ASSIGN_OR_RETURN(own.extent, pair[1].Whole(1, kMostRanks));
    monitors->world *= own.extent;
    if (monitors->world > kMostRanks) return axes.Error("has too many ranks");
  }
  return absl::OkStatus();
}

absl::StatusOr<ClipMonitor> ReadClip(const MonitorValue& value) {
  PLAN_RETURN_IF_ERROR(value.Allow({"bound", "epsilon", "order", "place", "only_above"}));
  ClipMonitor clip;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue bound, value.At("bound"));
  PLAN_ASSIGN_OR_RETURN(clip.bound, bound.Real());
  PLAN_ASSIGN_OR_RETURN(const MonitorValue epsilon, value.At("epsilon"));
  PLAN_ASSIGN_OR_RETURN(clip.epsilon, epsilon.Real());
  if (!(clip.bound > 0) || clip.epsilon < 0) return value.Error("is no bound of a norm");
  PLAN_ASSIGN_OR_RETURN(const MonitorValue order, value.At("order"));
  PLAN_ASSIGN_OR_RETURN(clip.order, order.Whole(-1, kMostMonitorNumber));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue place, value.At("place"));
  PLAN_ASSIGN_OR_RETURN(clip.place, place.Text());
  if (value.Has("only_above")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue only_above, value.At("only_above"));
    PLAN_ASSIGN_OR_RETURN(clip.only_above, only_above.Truth());
  }
  return clip;
}

absl::StatusOr<CollectiveMonitor> ReadCollective(const MonitorValue& value, size_t axes) {
  PLAN_RETURN_IF_ERROR(value.Allow({"kind", "axes", "dtype", "count", "place", "ranks"}));
  CollectiveMonitor collective;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue kind, value.At("kind"));
  PLAN_ASSIGN_OR_RETURN(collective.kind, kind.OneOf(kCollectiveKindWords));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue along, value.At("axes"));
  PLAN_ASSIGN_OR_RETURN(collective.axes, ReadAxes(along, axes));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue dtype, value.At("dtype"));
  PLAN_ASSIGN_OR_RETURN(collective.dtype, ReadType(dtype));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue count, value.At("count"));
  PLAN_ASSIGN_OR_RETURN(collective.count, count.Whole(0, kMostMonitorNumber));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue place, value.At("place"));
  PLAN_ASSIGN_OR_RETURN(collective.place, place.Text());
  if (value.Has("ranks")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue ranks, value.At("ranks"));
    PLAN_ASSIGN_OR_RETURN(collective.ranks, ranks.Numbers<int32_t>(kMostRanks - 1, kMostRanks));
  }
  return collective;
}

absl::StatusOr<ProvedMonitors> ReadRoot(const MonitorValue& root) {
  PLAN_RETURN_IF_ERROR(root.Allow({"planproof_monitors", "anchored", "axes", "clip", "collectives",
                                   "assumptions", "without", "tensors", "program"}));
  PLAN_ASSIGN_OR_RETURN(const MonitorValue version, root.At("planproof_monitors"));
  PLAN_ASSIGN_OR_RETURN(const int64_t number, version.Whole(0, kMostMonitorNumber));
  if (number != kMonitorsVersion) {
    return version.Error("is another version; export the monitors anew");
  }
  ProvedMonitors monitors;
  PLAN_ASSIGN_OR_RETURN(const MonitorValue anchored, root.At("anchored"));
  PLAN_ASSIGN_OR_RETURN(monitors.anchored, anchored.Truth());
  PLAN_RETURN_IF_ERROR(ReadMesh(root, &monitors));
  const size_t axes = monitors.axes.size();
  if (root.Has("clip")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue clip, root.At("clip"));
    PLAN_ASSIGN_OR_RETURN(monitors.clip, ReadClip(clip));
  }
  if (root.Has("collectives")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue collectives, root.At("collectives"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, collectives.List());
    for (const MonitorValue& value : list) {
      PLAN_ASSIGN_OR_RETURN(monitors.collectives.emplace_back(), ReadCollective(value, axes));
    }
  }
  if (root.Has("assumptions")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue assumptions, root.At("assumptions"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, assumptions.List());
    for (const MonitorValue& value : list) {
      PLAN_ASSIGN_OR_RETURN(monitors.assumptions.emplace_back(), value.Text());
    }
  }
  if (root.Has("without")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue without, root.At("without"));
    PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, without.List());
    for (const MonitorValue& value : list) {
      PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> pair, value.List(2));
      if (pair.size() != 2) return value.Error("is no pair of a name and a reason");
      auto& own = monitors.without.emplace_back();
      PLAN_ASSIGN_OR_RETURN(own.first, pair[0].Text());
      PLAN_ASSIGN_OR_RETURN(own.second, pair[1].Text());
    }
  }
  PLAN_ASSIGN_OR_RETURN(const MonitorValue tensors, root.At("tensors"));
  PLAN_ASSIGN_OR_RETURN(const std::vector<MonitorValue> list, tensors.List());
  for (const MonitorValue& value : list) {
    PLAN_ASSIGN_OR_RETURN(monitors.tensors.emplace_back(), ReadTensor(value, axes));
  }
  if (root.Has("program")) {
    PLAN_ASSIGN_OR_RETURN(const MonitorValue program, root.At("program"));
    PLAN_ASSIGN_OR_RETURN(monitors.programs, ReadPrograms(program));
  }
  return monitors;
}

}  // namespace

std::string MonitorsToText(const ProvedMonitors& monitors) {
  MonitorJson axes = MonitorJson::array();
  for (const ProvedAxis& axis : monitors.axes) axes.push_back({axis.name, axis.extent});
  std::string text = absl::StrCat("{\"planproof_monitors\": ", kMonitorsVersion,
                                  ",\n\"anchored\": ", monitors.anchored ? "true" : "false",
                                  ",\n\"axes\": ", axes.dump());
  if (monitors.clip) {
    const ClipMonitor& clip = *monitors.clip;
    MonitorJson json = {{"bound", clip.bound},
                        {"epsilon", clip.epsilon},
                        {"order", clip.order},
                        {"place", clip.place}};
    if (clip.only_above) json["only_above"] = true;
    absl::StrAppend(&text, ",\n\"clip\": ", json.dump());
  }
  const auto append_list = [&text](const char* key, const std::vector<std::string>& entries) {
    absl::StrAppend(&text, ",\n\"", key, "\": [");
    for (size_t k = 0; k < entries.size(); ++k) {
      absl::StrAppend(&text, k == 0 ? "\n" : ",\n", entries[k]);
    }
    absl::StrAppend(&text, "]");
  };
  std::vector<std::string> collectives, assumptions, without, tensors;
  for (const CollectiveMonitor& each : monitors.collectives) {
    MonitorJson json = {{"kind", MonitorTextOf(kCollectiveKindWords, each.kind)},
                        {"axes", each.axes},
                        {"dtype", sdfg::DTypeName(each.dtype)},
                        {"count", each.count},
                        {"place", each.place}};
    if (!each.ranks.empty()) json["ranks"] = each.ranks;
    collectives.push_back(json.dump(-1, ' ', false, MonitorJson::error_handler_t::replace));
  }
  const auto quoted = [](const std::string& each) {
    return MonitorJson(each).dump(-1, ' ', false, MonitorJson::error_handler_t::replace);
  };
  for (const std::string& each : monitors.assumptions) assumptions.push_back(quoted(each));
  for (const auto& [name, why] : monitors.without) {
    without.push_back(absl::StrCat("[", quoted(name), ", ", quoted(why), "]"));
  }
  for (const TensorMonitor& each : monitors.tensors) {
    tensors.push_back(ToJson(each).dump(-1, ' ', false, MonitorJson::error_handler_t::replace));
  }
  append_list("collectives", collectives);
  append_list("assumptions", assumptions);
  append_list("without", without);
  append_list("tensors", tensors);
  if (!monitors.programs.empty()) {
    absl::StrAppend(&text, ",\n\"program\": ", ProgramsToText(monitors.programs));
  }
  return absl::StrCat(text, "}\n");
}

absl::StatusOr<ProvedMonitors> MonitorsFromText(std::string_view text) {
  if (text.size() > kMostMonitorBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a file of monitors has at most ", kMostMonitorBytes, " bytes"));
  }
  bool deep = false;
  const auto limit_depth = [&deep](int depth, MonitorJson::parse_event_t, MonitorJson&) {
    deep = deep || depth > static_cast<int>(kMostMonitorDepth);
    return !deep;
  };
  const MonitorJson json = MonitorJson::parse(text.begin(), text.end(), limit_depth, false);
  if (deep) return absl::InvalidArgumentError("/: is nested too deeply");
  if (json.is_discarded()) return absl::InvalidArgumentError("/: is no JSON");
  return ReadRoot(MonitorValue(json, ""));
}

absl::Status WriteMonitors(const std::string& path, const ProvedMonitors& monitors) {
  std::ofstream file(path, std::ios::binary);
  file << MonitorsToText(monitors);
  file.close();
  if (file.good()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot write ", path));
}

absl::StatusOr<ProvedMonitors> ReadMonitors(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.good()) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  std::string text;
  std::string chunk(size_t{1} << 16, '\0');
  while (file && text.size() <= kMostMonitorBytes) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<size_t>(file.gcount()));
  }
  absl::StatusOr<ProvedMonitors> monitors = MonitorsFromText(text);
  if (monitors.ok()) return monitors;
  return absl::Status(monitors.status().code(),
                      absl::StrCat(path, ": ", monitors.status().message(),
                                   "; write it with planproof verify --monitors-out"));
}

}  // namespace planproof::monitor
