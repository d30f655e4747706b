#include "frontend/plan/read_plan.h"

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/plan/json_form.h"
#include "frontend/plan/loops.h"
#include "frontend/plan/program.h"
#include "frontend/plan/raw_form.h"
#include "frontend/plan/specification.h"
#include "frontend/plan/write_file.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/util/json_util.h"
#include "sdfg/limit.h"
#include "sdfg/status_macros.h"

namespace planproof::plan {
namespace {

constexpr char kMagic[] = "planproof-plan";
constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// The first byte of a serialised PlanFile: field 15 (magic) is written last, field 1 (version)
// first.
constexpr char kVersionTag = 0x08;

// A field that this program does not know would be lost, and with it what it says. Nothing if all
// are known; else its number and message.
std::string UnknownField(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) {
    return absl::StrCat("field ", unknown.field(0).number(), " of ",
                        message.GetDescriptor()->name());
  }
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  std::string found;
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      found = UnknownField(reflection.GetMessage(message, field));
    } else {
      const int size = reflection.FieldSize(message, field);
      for (int i = 0; i < size && found.empty(); ++i) {
        found = UnknownField(reflection.GetRepeatedMessage(message, field, i));
      }
    }
    if (!found.empty()) break;
  }
  return found;
}

absl::Status CheckStrings(const PlanFile& file, const std::string& name) {
  if (file.magic() != kMagic) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no plan file: neither JSON that starts with { nor the binary form"));
  }
  if (file.version() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": version ", file.version(),
                                                   " is not known; this program reads version 1"));
  }
  if (file.has_problem() && (file.has_specification() || file.has_plan())) {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     ": holds a raw problem beside a specification or plan; one of them is "
                     "expected"));
  }
  return absl::OkStatus();
}

}  // namespace

bool LooksLikePlanFile(const std::string& content) {
  const size_t first = content.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && content[first] == '{') return true;
  return content.size() > sizeof(kMagic) && content[0] == kVersionTag &&
         content.rfind(kMagic) != std::string::npos;  // it is written last
}

absl::StatusOr<PlanFile> ParsePlanFile(const std::string& content, const std::string& name) {
  const size_t first = content.find_first_not_of(" \t\r\n");
  PlanFile file;
  if (first == std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": the file is empty"));
  }
  if (content[first] == '{') {
    PLAN_ASSIGN_OR_RETURN(file, ReadJsonForm(content, name));
  } else {
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(content.data()),
                                                  static_cast<int>(content.size()));
    stream.SetRecursionLimit(32);
    const google::protobuf::LogSilencer silence;  // the one line of the error is ours
    if (!file.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": no plan file: neither JSON that starts with { nor the binary form"));
    }
    if (const std::string unknown = UnknownField(file); !unknown.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": ", unknown, " is not known, or has another type, in version 1 of the format"));
    }
  }
  PLAN_RETURN_IF_ERROR(CheckStrings(file, name));
  return file;
}

absl::StatusOr<PlanFile> ReadPlanFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  const int64_t size = stream.tellg();
  if (size < 0) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  if (size > kMaxFileBytes) {
    return sdfg::BeyondLimit(absl::StrCat(path, ": bytes"), size, kMaxFileBytes);
  }
  std::string content(static_cast<size_t>(size), '\0');
  stream.seekg(0);
  if (!stream.read(content.data(), size)) {
    return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  return ParsePlanFile(content, path);
}

namespace {

using NamedFile = std::pair<std::string, PlanFile>;

// The files that have the roles; one file may have both.
struct Roles {
  const NamedFile* specification = nullptr;
  const NamedFile* plan = nullptr;
};

absl::StatusOr<Roles> FindRoles(const std::vector<NamedFile>& files) {
  Roles roles;
  for (const NamedFile& file : files) {
    if (file.second.has_problem()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.first, ": a raw problem is complete and stands alone"));
    }
    if (file.second.has_specification()) {
      if (roles.specification != nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(file.first, ": a second specification; ",
                                                       roles.specification->first, " has one"));
      }
      roles.specification = &file;
    }
    if (file.second.has_plan()) {
      if (roles.plan != nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat(file.first, ": a second plan; ", roles.plan->first, " has one"));
      }
      roles.plan = &file;
    }
  }
  const std::string first = files.empty() ? "no file" : files[0].first;
  if (roles.specification == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(first, ": no \"specification\"; give the file that has it too"));
  }
  if (roles.plan == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(first, ": no \"plan\"; give the file that has it too"));
  }
  return roles;
}

// `library`, or `extended` with these declarations as well.
absl::StatusOr<const sdfg::OperatorLibrary*> With(const std::string& declarations,
                                                  const std::string& where,
                                                  const sdfg::OperatorLibrary& library,
                                                  sdfg::OperatorLibrary* extended) {
  if (declarations.empty()) return &library;
  *extended = library.Copy();
  PLAN_RETURN_IF_ERROR(extended->AddDeclarations(declarations, where));
  return extended;
}

// Operators of the plan that `extended` knows and `library` does not.
std::set<std::string> UsedOfThePlan(const Plan& plan, const sdfg::OperatorLibrary& library,
                                    const sdfg::OperatorLibrary& extended) {
  std::set<std::string> used;
  const auto add = [&](const Operator& op) {
    if (extended.Contains(op.op()) && !library.Contains(op.op())) used.insert(op.op());
  };
  for (const Program& program : plan.programs()) {
    for (const Operator& op : program.operators()) add(op);
    for (const Exception& exception : program.exceptions()) {
      for (const Operator& op : exception.operators()) add(op);
    }
  }
  return used;
}

// A plan that defined what the specification says would be its own judge.
absl::Status CheckOwnDefinitions(const Roles& roles, const sdfg::OperatorLibrary& own,
                                 const sdfg::OperatorLibrary& of_plan) {
  const Specification& specification = roles.specification->second.specification();
  for (int i = 0; i < specification.operators_size(); ++i) {
    const Operator& op = specification.operators(i);
    if (own.Contains(op.op()) || !of_plan.Contains(op.op())) continue;
    return At(
        PositionOf(op, roles.specification->first, "/specification", i),
        absl::UnimplementedError(absl::StrCat(
            "operator '", op.op(), "' is declared for the plan alone, by ", roles.plan->first,
            "; what the specification uses is declared in its own file or with --operators")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<lineage::Problem> BuildProblemFromFiles(
    const std::vector<std::pair<std::string, PlanFile>>& files,
    const sdfg::OperatorLibrary& library) {
  for (const auto& [path, file] : files) {
    if (!HasLoops(file)) continue;
    std::vector<std::pair<std::string, PlanFile>> unrolled = files;
    for (auto& [name, content] : unrolled) PLAN_RETURN_IF_ERROR(UnrollLoops(name, &content));
    return BuildProblemFromFiles(unrolled, library);
  }
  if (files.size() == 1 && files[0].second.has_problem()) {
    absl::StatusOr<lineage::Problem> problem = ReadRawProblem(files[0].second.problem());
    if (problem.ok()) return problem;
    return absl::Status(
        problem.status().code(),
        absl::StrCat(files[0].first, ": ", std::string(problem.status().message())));
  }
  PLAN_ASSIGN_OR_RETURN(const Roles roles, FindRoles(files));
  const auto& [specification_file, specification] = *roles.specification;
  const auto& [plan_file, plan] = *roles.plan;
  const bool one_file = roles.specification == roles.plan;
  // What the plan alone may use: the operators of its file, if that is another, and its own.
  const std::string of_file = one_file ? "" : plan.operators();
  sdfg::OperatorLibrary extended, extended_by_file, extended_by_plan;
  PLAN_ASSIGN_OR_RETURN(const sdfg::OperatorLibrary* of_specification,
                        With(specification.operators(),
                             absl::StrCat(specification_file, "/operators"), library, &extended));
  PLAN_ASSIGN_OR_RETURN(
      const sdfg::OperatorLibrary* of_plan,
      With(of_file, absl::StrCat(plan_file, "/operators"), *of_specification, &extended_by_file));
  PLAN_ASSIGN_OR_RETURN(
      of_plan, With(plan.plan().declarations(), absl::StrCat(plan_file, "/plan/declarations"),
                    *of_plan, &extended_by_plan));
  if (of_plan != of_specification) {
    PLAN_RETURN_IF_ERROR(CheckOwnDefinitions(roles, *of_specification, *of_plan));
  }
  PLAN_ASSIGN_OR_RETURN(
      LogicalModel logical,
      BuildLogicalModel(specification.specification(), specification_file, *of_specification));
  PLAN_ASSIGN_OR_RETURN(lineage::Problem problem,
                        BuildProblem(std::move(logical), specification.specification(),
                                     specification_file, plan.plan(), plan_file, *of_plan));
  // In one file what the specification does not use is there for the plan.
  std::set<std::string> used =
      UsedOfThePlan(plan.plan(), one_file ? library : *of_specification, *of_plan);
  for (const Operator& op : specification.specification().operators()) used.erase(op.op());
  if (!used.empty()) {
    problem.assumptions.push_back(
        absl::StrCat(plan_file, " declares operators of the plan: ", absl::StrJoin(used, ", ")));
  }
  return problem;
}

absl::StatusOr<PlanFile> MergePlanFiles(
    const std::vector<std::pair<std::string, PlanFile>>& files) {
  PLAN_ASSIGN_OR_RETURN(const Roles roles, FindRoles(files));
  PlanFile whole = roles.specification->second;
  if (roles.plan == roles.specification) return whole;
  const PlanFile& plan = roles.plan->second;
  *whole.mutable_plan() = plan.plan();
  whole.mutable_plan()->set_declarations(
      plan.operators().empty() || plan.plan().declarations().empty()
          ? absl::StrCat(plan.operators(), plan.plan().declarations())
          : absl::StrCat(plan.operators(), "\n", plan.plan().declarations()));
  return whole;
}

absl::StatusOr<lineage::Problem> ReadPlan(const std::vector<std::string>& paths,
                                          const sdfg::OperatorLibrary& library) {
  std::vector<std::pair<std::string, PlanFile>> files;
  for (const std::string& path : paths) {
    PLAN_ASSIGN_OR_RETURN(PlanFile file, ReadPlanFile(path));
    files.emplace_back(path, std::move(file));
  }
  return BuildProblemFromFiles(files, library);
}

absl::StatusOr<std::string> SerializePlan(const lineage::Problem& problem, PlanFormat format) {
  PlanFile file;
  file.set_magic(kMagic);
  file.set_version(1);
  PLAN_RETURN_IF_ERROR(WriteRawProblem(problem, file.mutable_problem()));
  std::string out;
  if (format == PlanFormat::kBinary) {
    if (!file.SerializeToString(&out)) {
      return absl::InvalidArgumentError("the plan is too large for the binary form");
    }
    return out;
  }
  PlanFile raw;
  raw.mutable_problem()->Swap(file.mutable_problem());
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  const auto status = google::protobuf::util::MessageToJsonString(raw, &out, options);
  if (!status.ok()) return absl::InternalError(status.ToString());
  // {"problem":...} gains the version in front.
  return absl::StrCat("{\"planproof\":1,", out.substr(1), "\n");
}

absl::Status WritePlan(const lineage::Problem& problem, const std::string& path,
                       PlanFormat format) {
  PLAN_ASSIGN_OR_RETURN(std::string content, SerializePlan(problem, format));
  return WriteFile(path, content);
}

}  // namespace planproof::plan
