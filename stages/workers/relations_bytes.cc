#include "stages/workers/relations_bytes.h"

#include "stages/workers/exact_message.h"
#include "stages/workers/inferred_relations.pb.h"

namespace planproof::stages {
namespace {

// The structured bindings do not compile when a member is added that is not carried.

void Write(const sdfg::IndexDigit& digit, wire::IndexDigit* message) {
  const auto& [dim, div, mod, offset] = digit;
  message->set_dim(dim);
  message->set_div(div);
  message->set_mod(mod);
  message->set_offset(offset);
}

sdfg::IndexDigit Read(const wire::IndexDigit& message) {
  return {
      .dim = message.dim(), .div = message.div(), .mod = message.mod(), .offset = message.offset()};
}

void Write(const sdfg::IndexMap& map, wire::IndexMap* message) {
  const auto& [constant, terms] = map;
  message->set_constant(constant);
  for (const sdfg::IndexTerm& term : terms) {
    const auto& [dim, scale, div, mod, offset, gate] = term;
    wire::IndexTerm* written = message->add_terms();
    Write({dim, div, mod, offset}, written->mutable_digit());
    written->set_scale(scale);
    Write(gate, written->mutable_gate());
  }
}

sdfg::IndexMap Read(const wire::IndexMap& message) {
  sdfg::IndexMap map;
  map.constant = message.constant();
  for (const wire::IndexTerm& written : message.terms()) {
    const sdfg::IndexDigit digit = Read(written.digit());
    map.terms.push_back({.dim = digit.dim,
                         .scale = written.scale(),
                         .div = digit.div,
                         .mod = digit.mod,
                         .offset = digit.offset,
                         .gate = Read(written.gate())});
  }
  return map;
}

wire::InferredRelations AsMessage(const InferredRelations& inferred) {
  const auto& [relations, unrelated, tensors, classes] = inferred;
  wire::InferredRelations message;
  for (const auto& [parallel, logical, factor, map] : relations) {
    wire::InferredRelation* written = message.add_relations();
    written->set_parallel(parallel);
    written->set_logical(logical);
    written->set_factor(factor.ToString());
    for (const sdfg::IndexMap& expression : map) Write(expression, written->add_map());
  }
  message.mutable_unrelated()->Add(unrelated.begin(), unrelated.end());
  message.set_tensors(tensors);
  message.set_classes(classes);
  message.set_complete(true);
  return message;
}

bool Take(const wire::InferredRelations& message, InferredRelations* inferred) {
  *inferred = {};
  for (const wire::InferredRelation& written : message.relations()) {
    InferredRelation& relation = inferred->relations.emplace_back();
    relation.parallel = written.parallel();
    relation.logical = written.logical();
    if (!solver::Rational::Parse(written.factor(), &relation.factor)) return false;
    for (const wire::IndexMap& expression : written.map()) {
      relation.map.push_back(Read(expression));
    }
  }
  inferred->unrelated.assign(message.unrelated().begin(), message.unrelated().end());
  inferred->tensors = message.tensors();
  inferred->classes = message.classes();
  return true;
}

}  // namespace

std::string ToBytes(const InferredRelations& inferred) { return BytesOf(AsMessage(inferred)); }

bool FromBytes(const std::string& bytes, InferredRelations* inferred) {
  wire::InferredRelations message;
  return Parse(bytes, &message) && Take(message, inferred) && ToBytes(*inferred) == bytes;
}

}  // namespace planproof::stages
