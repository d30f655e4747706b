#include "strategy/witness_bytes.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "stages/workers/exact_message.h"
#include "strategy/counterexample.pb.h"
#include "witness/witness_file.h"

namespace planproof::strategy {

using shape_reduction::Sample;
using shape_reduction::UndefinedBy;
using shape_reduction::Witness;

namespace {

static_assert(stages::SameNumber(Witness::Outcome::kNone, wire::WITNESS_NONE) &&
              stages::SameNumber(Witness::Outcome::kConfirmed, wire::WITNESS_CONFIRMED) &&
              stages::SameNumber(Witness::Outcome::kUnconfirmed, wire::WITNESS_UNCONFIRMED) &&
              stages::SameNumber(Witness::Outcome::kExhausted, wire::WITNESS_EXHAUSTED));
static_assert(stages::SameNumber(UndefinedBy::kNothing, wire::UNDEFINED_NOTHING) &&
              stages::SameNumber(UndefinedBy::kRootOfNegative, wire::UNDEFINED_ROOT_OF_NEGATIVE) &&
              stages::SameNumber(UndefinedBy::kLogarithm, wire::UNDEFINED_LOGARITHM) &&
              stages::SameNumber(UndefinedBy::kDivisionByZero, wire::UNDEFINED_DIVISION_BY_ZERO) &&
              stages::SameNumber(UndefinedBy::kMaskTimesZero, wire::UNDEFINED_MASK_TIMES_ZERO) &&
              stages::SameNumber(UndefinedBy::kBothInfinities, wire::UNDEFINED_BOTH_INFINITIES) &&
              stages::SameNumber(UndefinedBy::kInfinityByInfinity,
                                 wire::UNDEFINED_INFINITY_BY_INFINITY));
static_assert(stages::SameNumber(stages::Verdict::kProved, wire::VERDICT_PROVED) &&
              stages::SameNumber(stages::Verdict::kUnknown, wire::VERDICT_UNKNOWN) &&
              stages::SameNumber(stages::Verdict::kRefuted, wire::VERDICT_REFUTED) &&
              stages::SameNumber(stages::Verdict::kMalformed, wire::VERDICT_MALFORMED));
static_assert(stages::SameNumber(Sample::Outcome::kFound, wire::SAMPLE_FOUND) &&
              stages::SameNumber(Sample::Outcome::kNone, wire::SAMPLE_NONE) &&
              stages::SameNumber(Sample::Outcome::kExhausted, wire::SAMPLE_EXHAUSTED));

// Empty where there is none, or none that can be written.
std::string AsFile(const witness::Witness* data) {
  if (data == nullptr) return "";
  absl::StatusOr<std::string> bytes = witness::ToBytes(*data);
  return bytes.ok() ? *std::move(bytes) : "";
}

bool TakeData(const std::string& file, std::shared_ptr<const witness::Witness>* data) {
  data->reset();
  if (file.empty()) return true;
  absl::StatusOr<witness::Witness> read = witness::FromBytes(file);
  if (!read.ok()) return false;
  *data = std::make_shared<const witness::Witness>(*std::move(read));
  return true;
}

template <typename List, typename Field>
void Write(const List& list, Field* field) {
  for (const auto& item : list) *field->Add() = item;
}

template <typename Field, typename List>
void Read(const Field& field, List* list) {
  list->assign(field.begin(), field.end());
}

// The structured bindings do not compile when a member is added that is not carried.

// `file`: the data as it is sent.
wire::Witness AsMessage(const Witness& witness, std::string file) {
  const auto& [outcome, required, parallel_index, logical_index, logical_low, logical_high,
               parallel_low, parallel_high, logical_value, parallel_value, undefined, precision,
               first, seed, evaluation, focus, numbers_explain, inputs, data, example, attempts,
               undefined_seen, message] = witness;
  wire::Witness out;
  out.set_outcome(static_cast<wire::WitnessOutcome>(outcome));
  out.set_required(required);
  Write(parallel_index, out.mutable_parallel_index());
  Write(logical_index, out.mutable_logical_index());
  out.set_logical_low(logical_low);
  out.set_logical_high(logical_high);
  out.set_parallel_low(parallel_low);
  out.set_parallel_high(parallel_high);
  out.set_logical_value(logical_value);
  out.set_parallel_value(parallel_value);
  out.set_undefined_tensor(undefined.tensor);
  out.set_undefined_by(static_cast<wire::UndefinedBy>(undefined.by));
  out.set_precision(precision);
  out.set_seed(seed);
  Write(inputs, out.mutable_inputs());
  Write(example, out.mutable_example());
  out.set_attempts(attempts);
  out.set_undefined_seen(undefined_seen);
  out.set_message(message);
  out.set_file(std::move(file));
  out.set_complete(true);
  return out;
}

bool Take(const wire::Witness& in, Witness* witness) {
  if (!wire::WitnessOutcome_IsValid(in.outcome()) || !wire::UndefinedBy_IsValid(in.undefined_by()))
    return false;
  witness->outcome = static_cast<Witness::Outcome>(in.outcome());
  witness->required = in.required();
  Read(in.parallel_index(), &witness->parallel_index);
  Read(in.logical_index(), &witness->logical_index);
  witness->logical_low = in.logical_low();
  witness->logical_high = in.logical_high();
  witness->parallel_low = in.parallel_low();
  witness->parallel_high = in.parallel_high();
  witness->logical_value = in.logical_value();
  witness->parallel_value = in.parallel_value();
  witness->undefined.tensor = in.undefined_tensor();
  witness->undefined.by = static_cast<UndefinedBy>(in.undefined_by());
  witness->precision = in.precision();
  witness->seed = in.seed();
  Read(in.inputs(), &witness->inputs);
  Read(in.example(), &witness->example);
  witness->attempts = in.attempts();
  witness->undefined_seen = in.undefined_seen();
  witness->message = in.message();
  return TakeData(in.file(), &witness->data);
}

void Write(const sdfg::SourceLocation& place, wire::Place* out) {
  const auto& [file, line, text] = place;
  out->set_file(file);
  out->set_line(line);
  out->set_text(text);
}

sdfg::SourceLocation PlaceOf(const wire::Place& in) { return {in.file(), in.line(), in.text()}; }

void Write(const stages::Violation& violation, wire::Violation* out) {
  const auto& [verdict, kind, stage, logical_operator, logical_source, parallel_operators, devices,
               microbatches, lineage, cause, cause_of_stage, place, logical, parallel,
               logical_short, parallel_short, precision, inputs, example, message, advice,
               logical_place, parallel_places, at, element] = violation;
  out->set_verdict(static_cast<wire::Verdict>(verdict));
  out->set_kind(kind);
  out->set_stage(stage);
  out->set_logical_operator(logical_operator);
  out->set_logical_source(logical_source);
  Write(parallel_operators, out->mutable_parallel_operators());
  Write(devices, out->mutable_devices());
  out->set_microbatches(microbatches);
  out->set_lineage(lineage);
  out->set_cause(cause);
  out->set_cause_of_stage(cause_of_stage);
  out->set_place(place);
  out->set_logical(logical);
  out->set_parallel(parallel);
  out->set_logical_short(logical_short);
  out->set_parallel_short(parallel_short);
  out->set_precision(precision);
  Write(inputs, out->mutable_inputs());
  Write(example, out->mutable_example());
  out->set_message(message);
  out->set_advice(advice);
  Write(logical_place, out->mutable_logical_place());
  for (const sdfg::SourceLocation& place : parallel_places)
    Write(place, out->add_parallel_places());
  out->set_parallel_tensor(at.parallel);
  out->set_logical_tensor(at.logical);
  Write(at.operators, out->mutable_operators());
  out->set_witness_parallel_tensor(element.parallel);
  out->set_witness_logical_tensor(element.logical);
  Write(element.index, out->mutable_witness_index());
  Write(element.logical_index, out->mutable_witness_logical_index());
}

bool Take(const wire::Violation& in, stages::Violation* v) {
  if (!wire::Verdict_IsValid(in.verdict())) return false;
  v->verdict = static_cast<stages::Verdict>(in.verdict());
  v->kind = in.kind();
  v->stage = in.stage();
  v->logical_operator = in.logical_operator();
  v->logical_source = in.logical_source();
  Read(in.parallel_operators(), &v->parallel_operators);
  Read(in.devices(), &v->devices);
  v->microbatches = in.microbatches();
  v->lineage = in.lineage();
  v->cause = in.cause();
  v->cause_of_stage = in.cause_of_stage();
  v->witness_place = in.place();
  v->witness_logical = in.logical();
  v->witness_parallel = in.parallel();
  v->witness_logical_short = in.logical_short();
  v->witness_parallel_short = in.parallel_short();
  v->witness_precision = in.precision();
  Read(in.inputs(), &v->witness_inputs);
  Read(in.example(), &v->witness_example);
  v->message = in.message();
  v->advice = in.advice();
  v->logical_place = PlaceOf(in.logical_place());
  for (const wire::Place& place : in.parallel_places())
    v->parallel_places.push_back(PlaceOf(place));
  v->at.parallel = in.parallel_tensor();
  v->at.logical = in.logical_tensor();
  Read(in.operators(), &v->at.operators);
  v->witness_element.parallel = in.witness_parallel_tensor();
  v->witness_element.logical = in.witness_logical_tensor();
  Read(in.witness_index(), &v->witness_element.index);
  Read(in.witness_logical_index(), &v->witness_element.logical_index);
  return true;
}

}  // namespace

std::string ToBytes(const Witness& witness) {
  return stages::BytesOf(AsMessage(witness, AsFile(witness.data.get())));
}

bool FromBytes(const std::string& bytes, Witness* witness) {
  wire::Witness message;
  return stages::Parse(bytes, &message) && Take(message, witness) &&
         stages::BytesOf(AsMessage(*witness, std::move(*message.mutable_file()))) == bytes;
}

std::string ToBytes(const std::vector<stages::Violation>& violations) {
  wire::Violations message;
  for (const stages::Violation& violation : violations) Write(violation, message.add_violations());
  message.set_complete(true);
  return stages::BytesOf(message);
}

bool FromBytes(const std::string& bytes, std::vector<stages::Violation>* violations) {
  wire::Violations message;
  if (!stages::Parse(bytes, &message)) return false;
  violations->clear();
  for (const wire::Violation& violation : message.violations()) {
    if (!Take(violation, &violations->emplace_back())) return false;
  }
  return ToBytes(*violations) == bytes;
}

std::string ToBytes(const Sample& sample) {
  const auto& [outcome, text] = sample;
  wire::Sample message;
  message.set_outcome(static_cast<wire::SampleOutcome>(outcome));
  message.set_message(text);
  message.set_complete(true);
  return stages::BytesOf(message);
}

bool FromBytes(const std::string& bytes, Sample* sample) {
  wire::Sample message;
  if (!stages::Parse(bytes, &message) || !wire::SampleOutcome_IsValid(message.outcome()))
    return false;
  sample->outcome = static_cast<Sample::Outcome>(message.outcome());
  sample->message = message.message();
  return ToBytes(*sample) == bytes;
}

}  // namespace planproof::strategy
