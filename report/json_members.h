// Lists the members of a JSON report once, for writing and for reading (docs/report.md).
//
// An archive writes or reads one object: archive("key", value) for one member,
// archive.Optional for one that is left out where it says nothing, archive.Object("key", members)
// for one that is an object of its own, archive.List("key", size, resize, element) for a list whose
// elements are made of several things.
#ifndef PLANPROOF_REPORT_JSON_MEMBERS_H_
#define PLANPROOF_REPORT_JSON_MEMBERS_H_

#include <cstddef>
#include <type_traits>

#include "report/report.h"

namespace planproof::report {

inline constexpr int kJsonFormat = 1;  // "planproof_report"

// What is written is not changed.
template <class Archive, class T>
using Value = std::conditional_t<Archive::kReads, T&, const T&>;

template <class Archive>
void Members(Archive& archive, Value<Archive, sdfg::SourceLocation> place) {
  archive("file", place.file);
  archive("line", place.line);
  archive("text", place.text);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, sdfg::IndexDigit> digit) {
  archive("index", digit.dim);
  if (Archive::kReads || digit.div != 1) archive("div", digit.div);
  archive.Optional("mod", digit.mod);
  archive.Optional("plus", digit.offset);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, sdfg::IndexTerm> term) {
  archive("index", term.dim);
  archive("times", term.scale);
  if (Archive::kReads || term.div != 1) archive("div", term.div);
  archive.Optional("mod", term.mod);
  archive.Optional("plus", term.offset);
  if (Archive::kReads || term.gated()) archive("gate", term.gate);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, sdfg::IndexMap> map) {
  archive("constant", map.constant);
  archive("terms", map.terms);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, Relation> relation) {
  archive("tensor", relation.parallel);
  archive("shape", relation.parallel_shape);
  archive.Optional("axes", relation.axes);
  archive("is", relation.logical);
  archive("of_shape", relation.logical_shape);
  if (Archive::kReads || relation.factor != "1") archive("factor", relation.factor);
  archive("map", relation.map);
  archive.Optional("inferred", relation.inferred);
  archive("text", relation.text);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, GraphOperator> op) {
  archive("name", op.name);
  archive("label", op.label);
  archive("place", op.place);
  archive("ranks", op.ranks);
  archive.Optional("communicates", op.communicates);
  archive("inputs", op.inputs);
  archive("outputs", op.outputs);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, GraphTensor> tensor) {
  archive("name", tensor.name);
  archive("shape", tensor.shape);
  archive.Optional("axes", tensor.axes);
  archive.Optional("lineage", tensor.relation);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, Graph> graph) {
  archive("operators", graph.operators);
  archive("tensors", graph.tensors);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, StageLine> line) {
  archive("stage", line.stage);
  archive.Optional("required", line.required);
  archive("state", line.state);
  archive("class", line.class_id);
  archive.Optional("method", line.method);
  archive.Optional("reason", line.reason);
  archive.Optional("logical_term", line.logical_term);
  archive.Optional("parallel_term", line.parallel_term);
  archive.Optional("difference", line.difference);
  archive("ranks", line.ranks);
  archive("place", line.place);
  archive("relation", line.relation);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, MapCell> cell) {
  archive("layer", cell.layer);
  archive("kind", cell.kind);
  archive("state", cell.state);
  archive("ranks", cell.ranks);
  archive("count", cell.count);
  archive.Optional("operators", cell.operators);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, LayerMap> map) {
  archive("layers", map.layers);
  archive("kinds", map.kinds);
  archive("rank_sets", map.rank_sets);
  archive("operators", map.operators);
  archive("cells", map.cells);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, ElementAt> element) {
  archive("tensor", element.tensor);
  archive.Optional("axes", element.axes);
  archive("index", element.index);
  archive("is", element.logical);
  archive("of_index", element.logical_index);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, stages::Confirmation> confirmation) {
  archive("confirmed", confirmation.confirmed);
  archive("device", confirmation.device);
  archive("dtype", confirmation.dtype);
  archive("parallel", confirmation.parallel);
  archive("parallel_value", confirmation.parallel_value);
  archive("logical", confirmation.logical);
  archive("logical_value", confirmation.logical_value);
  archive("error", confirmation.error);
  archive("tolerance", confirmation.tolerance);
  archive("text", confirmation.text);
}

template <class Archive>
void FindingMembers(Archive& archive, Value<Archive, stages::Violation> violation,
                    Value<Archive, FindingGraphs> graphs) {
  archive("verdict", violation.verdict);
  archive("kind", violation.kind);
  archive("stage", violation.stage);
  archive("advice", violation.advice);
  archive("cause", violation.cause);
  archive.Optional("cause_of_stage", violation.cause_of_stage);
  archive("message", violation.message);
  archive("logical_operator", violation.logical_operator);
  archive("logical_source", violation.logical_source);
  archive("parallel_operators", violation.parallel_operators);
  archive("devices", violation.devices);
  archive("microbatches", violation.microbatches);
  archive("lineage", violation.lineage);
  archive.Object("witness", [&](auto& witness) {
    witness("place", violation.witness_place);
    witness("logical", violation.witness_logical);
    witness("parallel", violation.witness_parallel);
    witness("logical_short", violation.witness_logical_short);
    witness("parallel_short", violation.witness_parallel_short);
    witness("precision_bits", violation.witness_precision);
    witness("inputs", violation.witness_inputs);
    witness("example", violation.witness_example);
    if (Archive::kReads || !graphs.witness.tensor.empty()) witness("element", graphs.witness);
  });
  archive("logical_place", violation.logical_place);
  archive("parallel_places", violation.parallel_places);
  archive("relation", graphs.relation);
  archive.Object("stage_operators", [&](auto& operators) {
    operators("logical", graphs.logical);
    operators("parallel", graphs.parallel);
    operators("suspected", graphs.suspected);
  });
}

template <class Archive>
void Members(Archive& archive, Value<Archive, stages::AssumedRelation> assumed) {
  archive("tensor", assumed.tensor);
  archive("operator", assumed.op);
  archive("place", assumed.place);
  archive("stands_for", assumed.logical);
  archive("relation", assumed.relation);
  archive("reason", assumed.reason);
  archive("stated_at", assumed.stated_at);
  archive("need", assumed.need);
}

template <class Archive>
void CountMembers(Archive& archive, Value<Archive, stages::Result> result) {
  archive.Object("stages", [&](auto& stages) {
    stages("total", result.stages.total);
    stages("classes", result.stages.classes);
    stages("proved", result.stages.proved);
    stages("refuted", result.stages.refuted);
    stages("unknown", result.stages.unknown);
  });
  archive("tiers", result.tiers);
  archive.Object("cache", [&](auto& cache) {
    cache("used", result.cache.used);
    cache("hits", result.cache.hits);
    cache("misses", result.cache.misses);
    cache("solved", result.cache.solved);
  });
  archive.Object("inference", [&](auto& inference) {
    inference("used", result.inference.used);
    inference("tensors", result.inference.tensors);
    inference("classes", result.inference.classes);
    inference("inferred", result.inference.inferred);
    inference("proved", result.inference.proved);
    inference.Object("end", [&](auto& end) {
      end("logical_operator", result.inference.end.logical_operator);
      end("elsewhere", result.inference.end.elsewhere);
      end("nearest", result.inference.end.nearest);
      end("difference", result.inference.end.difference);
    });
  });
  archive.Object("operators", [&](auto& operators) {
    operators("logical", result.operators.logical);
    operators("parallel", result.operators.parallel);
    operators("covered", result.operators.covered);
  });
  archive.Object("outputs", [&](auto& outputs) {
    outputs("required", result.outputs.required);
    outputs("claimed", result.outputs.claimed);
  });
}

template <class Archive>
void CostMembers(Archive& archive, Value<Archive, stages::Result> result) {
  archive.Object("time_s", [&](auto& time) {
    time("read", result.time_s.read);
    time.Optional("anchor", result.time_s.anchor);
    time("check", result.time_s.check);
    time("infer", result.time_s.infer);
    time("cut", result.time_s.cut);
    time("reduce", result.time_s.reduce);
    time("evaluate", result.time_s.evaluate);
    time("decide", result.time_s.decide);
    time("workers", result.time_s.workers);
    time("total", result.time_s.total);
  });
  archive.Object("peak_rss_mb", [&](auto& memory) {
    memory("total", result.peak_rss_mb.total);
    memory("largest", result.peak_rss_mb.largest);
  });
  archive("engine", result.engine);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, stages::RecordedDifference> difference) {
  archive("tensor", difference.tensor);
  archive("ranks", difference.ranks);
  archive("index", difference.index);
  archive("value", difference.value);
  archive("expected", difference.expected);
  archive.Optional("cause", difference.cause);
  archive.Optional("usual", difference.usual);
  archive.Optional("operator", difference.op);
  archive.Optional("source", difference.source);
  archive("text", difference.text);
}

template <class Archive>
void Members(Archive& archive, Value<Archive, stages::AnchorReport> anchor) {
  archive("outcome", anchor.outcome);
  archive.Optional("why", anchor.why);
  archive.Optional("text", anchor.text);
  archive("held", anchor.held);
  archive("results", anchor.results);
  archive("computed", anchor.computed);
  archive("blind", anchor.blind);
  archive.Optional("differences", anchor.differences);
}

// All but the format and the exit code, which follow from it.
template <class Archive>
void Members(Archive& archive, Value<Archive, Report> report) {
  Value<Archive, stages::Result> result = report.result;
  archive("files", report.files);
  CountMembers(archive, result);
  archive("relations", result.relations);
  const auto resize = [&](size_t size) {
    if constexpr (Archive::kReads) {
      result.violations.resize(size);
      report.graphs.resize(size);
    }
  };
  archive.List("violations", result.violations.size(), resize, [&](auto& finding, size_t i) {
    FindingMembers(finding, result.violations[i], report.graphs[i]);
  });
  archive("premises", result.premises);
  archive("restrictions", result.restrictions);
  archive("assumptions", result.assumptions);
  if (Archive::kReads || !result.assumed.empty()) archive("assumed", result.assumed);
  archive.Optional("behind_assumptions", result.behind_assumptions);
  archive("warnings", result.warnings);
  archive("without_effect", result.without_effect);
  archive.Optional("confirmations", result.confirmations);
  if (Archive::kReads || result.anchor.outcome != stages::AnchorOutcome::kNotRecorded)
    archive("anchor", result.anchor);
  CostMembers(archive, result);
  archive("version", report.version);
  archive("claims", report.stages);
  archive.Object("graphs", [&](auto& graphs) {
    graphs("logical", report.logical);
    graphs("parallel", report.parallel);
  });
  archive("map", report.map);
}

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_JSON_MEMBERS_H_
