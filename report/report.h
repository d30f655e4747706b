// Holds what a report says, as data: text, JSON, HTML, SARIF and JUnit are views of it, and a JSON
// report is read back into it. Texts in it are for people and come, in part, from untrusted files.
#ifndef PLANPROOF_REPORT_REPORT_H_
#define PLANPROOF_REPORT_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sdfg/index_map.h"
#include "sdfg/types.h"
#include "stages/result.h"

namespace planproof::report {

// Ascending, not adjacent; both ends belong to a range. At 8,192 ranks most sets are one range.
using RankSet = std::vector<std::pair<int, int>>;

// What a tensor of the plan is: its elements are those of a tensor of the model at a map.
struct Relation {
  std::string parallel;           // tensor of the plan
  sdfg::Shape parallel_shape;     // coordinates of `axes` first
  std::vector<std::string> axes;  // of the plan's tensor: its leading dimensions
  std::string logical;            // tensor of the model; empty: no relation
  sdfg::Shape logical_shape;
  std::string factor = "1";         // of the logical values
  std::vector<sdfg::IndexMap> map;  // by dimension of the model's tensor, from the plan's
  bool inferred = false;            // nobody stated it
  std::string text;                 // for people
};

// A part of the model or of the plan: what findings mention.
struct GraphOperator {
  std::string name, label;  // "linear", "layers.0.q"
  sdfg::SourceLocation place;
  RankSet ranks;  // empty in the model
  bool communicates = false;
  std::vector<int> inputs, outputs;  // in Graph::tensors
};
struct GraphTensor {
  std::string name;
  sdfg::Shape shape;
  std::vector<std::string> axes;
  std::string relation;  // of the plan's, in words; may be empty
};
struct Graph {
  std::vector<GraphOperator> operators;
  std::vector<GraphTensor> tensors;
};

// The element that a witness shows.
struct ElementAt {
  std::string tensor;  // of the plan; empty: there is no witness, or nothing is known of it
  std::vector<std::string> axes;
  std::vector<int64_t> index;  // coordinates of `axes` first
  std::string logical;         // what it should be: an element of a tensor of the model
  std::vector<int64_t> logical_index;
};

// Of one violation of the result: the two sides of its stage.
struct FindingGraphs {
  Relation relation;                   // empty: none is known
  std::vector<int> logical, parallel;  // operators in Report::logical and Report::parallel; the
                                       // suspected ones of the plan first
  int suspected = 0;                   // so many of `parallel` are
  ElementAt witness;
};

// How much is known, the worse the higher.
enum class State : uint8_t {
  kNoEffect,  // no required output depends on it
  kProved,
  kGivenUp,     // the plan was proved without this relation
  kAfterFault,  // not shown, or resting on what is not; the plan is refuted elsewhere
  kUnknown,
  kRefuted,
};
// "proved"; false: there is no such word.
const char* StateName(State state);
bool StateFromName(const std::string& name, State* state);

// A claim: required, or a relation of a tensor in between.
struct StageLine {
  std::string stage;     // the tensor of the model
  std::string required;  // what is required; empty: nothing, it is a step of the proof
  State state = State::kUnknown;
  int class_id = -1;   // equal claims are one class
  std::string method;  // how it was proved
  std::string reason;  // why it was not
  std::string logical_term, parallel_term, difference;
  RankSet ranks;               // that hold the tensor
  sdfg::SourceLocation place;  // of the model's operator
  Relation relation;
};

// Operators of one kind in one layer that are known equally well on the same ranks.
struct MapCell {
  int layer = 0, kind = 0;  // in LayerMap
  State state = State::kUnknown;
  int ranks = 0;               // in LayerMap::rank_sets
  std::vector<int> operators;  // in LayerMap::operators; those that are proved are only counted
  int64_t count = 0;
};
// Layers x kinds of operators x ranks.
struct LayerMap {
  std::vector<std::string> layers;  // "layers.0"; "" for what belongs to none
  std::vector<std::string> kinds;   // "linear", "all_reduce", "linear.backward"
  std::vector<RankSet> rank_sets;
  std::vector<std::string> operators;  // names
  std::vector<MapCell> cells;          // by layer, kind, state
};

struct Report {
  stages::Result result;  // without its account and its witness as data
  std::vector<std::string> files;
  std::string version;  // of the program that verified
  Graph logical, parallel;
  std::vector<FindingGraphs> graphs;  // by violation of the result
  std::vector<StageLine> stages;
  LayerMap map;
};

// Takes out of the result, and its account if it has one, what there is to say.
Report Describe(const stages::Result& result, const std::vector<std::string>& files);

// Version of the program, "0.1.0".
const char* Version();

}  // namespace planproof::report

#endif  // PLANPROOF_REPORT_REPORT_H_
