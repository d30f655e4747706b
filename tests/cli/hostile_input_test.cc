// Damaged and hostile files of every reader: one clear line, the right exit code, no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/plan/read_plan.h"
#include "tests/cli/command_line.h"

namespace planproof::cli {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kMalformed = 2, kUnknown = 3, kUsage = 64;
const std::vector<std::string> kReaders = {"pickle", "json", "binary", "raw", "operators"};
const std::vector<std::string> kKinds = {"truncated",        "corrupted",   "bad opcode",
                                         "huge list",        "cyclic",      "wrong type",
                                         "unknown operator", "absurd shape"};

struct Hostile {
  std::string reader, kind, content;
  int exit_code;
  std::string says;
};

std::string ReadBytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

std::string ExampleText() { return ReadBytes(RepositoryPath("examples/mlp_tp2.json")); }

plan::PlanFile ExampleMessage() { return *plan::ParsePlanFile(ExampleText(), "example"); }

plan::PlanFile RawMessage() {
  std::vector<std::pair<std::string, plan::PlanFile>> files;
  files.emplace_back("example", ExampleMessage());
  const auto problem = plan::BuildProblemFromFiles(files, sdfg::OperatorLibrary::BuiltIn());
  return *plan::ParsePlanFile(*plan::SerializePlan(*problem, plan::PlanFormat::kBinary), "raw");
}

// The message after `change`, in the binary form.
template <typename Change>
std::string Changed(plan::PlanFile file, const Change& change) {
  change(&file);
  return file.SerializeAsString();
}

// A pickle in nnScaler's format by the script beside the reader's tests; empty without Python.
std::string SmallPickle(const std::string& name, const std::string& arguments) {
  const std::string path = TemporaryFile(name, "");
  const std::string command = "python3 '" +
                              RepositoryPath("tests/frontend/write_nnscaler_plan.py") + "' '" +
                              path + "' " + arguments + " 2>/dev/null";
  return std::system(command.c_str()) == 0 ? path : "";
}

void AddPickles(std::vector<Hostile>* cases) {
  const std::string path = SmallPickle("whole.pkl", "--plan tp2");
  if (path.empty()) return;
  const std::string whole = ReadBytes(path);
  const auto faulty = [](const std::string& fault) {
    return ReadBytes(SmallPickle("faulty.pkl", "--plan tp2 --fault " + fault));
  };
  const auto add = [&](const std::string& kind, std::string content, int exit_code,
                       std::string says) {
    cases->push_back({"pickle", kind, std::move(content), exit_code, std::move(says)});
  };
  add("truncated", whole.substr(0, whole.size() / 2), kMalformed, "the file is damaged");
  add("truncated", whole.substr(0, whole.size() - 1), kMalformed, "ends without STOP");
  add("truncated", "\x80\x04"s, kMalformed, "ends without STOP");
  add("corrupted", Replaced(whole, "_nodes", "_nodse"), kMalformed, "_nodes");
  add("corrupted", "\x80\x04"s + std::string(4000, '\0'), kMalformed, "byte 2, opcode 0x00");
  add("bad opcode", "\x80\x04N\xff."s, kMalformed, "byte 3, opcode 0xff");
  add("bad opcode", "\x80\x04\x82\x01."s, kUnknown, "opcode EXT1");
  add("huge list", "\x80\x04"s + "B\x00\xca\x9a\x3b"s + "short"s, kMalformed,
      "needs 1000000000 more bytes");
  add("huge list", "\x80\x04]r\xff\xff\xff\x3f."s, kMalformed, "memo entry 1073741823");
  add("huge list", "\x80\x04]("s + std::string(400000, 'N') + "e."s, kMalformed,
      "holds a list, expected");
  add("cyclic", "\x80\x04]\x94h\x00\x61."s, kMalformed, "holds a list, expected");
  add("cyclic", faulty("cyclic_segment"), kMalformed, "nested too deeply");
  add("cyclic", faulty("cyclic_tensor"), kMalformed, "expected an IRFullTensor");
  add("cyclic", "\x80\x04"s + std::string(300000, ']') + std::string(299999, 'a') + "."s,
      kMalformed, "holds a list, expected");
  add("wrong type", faulty("wrong_type"), kMalformed, "_outputs: is a int, expected a list");
  add("wrong type", "\x80\x04G\x7f\xf8\0\0\0\0\0\0."s, kMalformed, "holds a float");
  add("unknown operator", faulty("unknown_operator"), kUnknown, "'frobnicate' is not declared");
  add("absurd shape", faulty("big_shape"), kUnknown, "2^60 elements");
}

void AddJson(std::vector<Hostile>* cases) {
  const std::string whole = ExampleText();
  const auto add = [&](const std::string& kind, std::string content, int exit_code,
                       std::string says) {
    cases->push_back({"json", kind, std::move(content), exit_code, std::move(says)});
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    return Replaced(whole, from, to);
  };
  add("truncated", whole.substr(0, whole.size() / 2), kMalformed, "not valid JSON");
  add("truncated", "{", kMalformed, "not valid JSON");
  add("corrupted", with("\"op\": \"gelu\"", "\"op\": \"ge\xff\xfelu\""), kMalformed,
      "ill-formed UTF-8");
  add("corrupted", with("\"op\": \"gelu\"", "\"op\": \"ge\\u001b[31mlu\""), kMalformed,
      "control character");
  add("corrupted", whole + whole, kMalformed, "expected end of input");
  add("corrupted", with("\"x\": [16, 64],", "\"x\": [16, 64], \"x\": [16, 64],"), kMalformed,
      "stands twice");
  add("bad opcode", with("[16, 64]", "[16, NaN]"), kMalformed, "not valid JSON");
  add("huge list", "{\"a\":" + std::string(1000000, '[') + "}", kMalformed,
      "nested deeper than 64");
  std::string ones = "1";
  for (int i = 0; i < 300000; ++i) ones += ",1";
  add("huge list", with("[16, 64]", "[" + ones + "]"), kUnknown, "dimensions: 300001");
  add("huge list", with("\"tp\": 2", "\"tp\": 1000000000"), kUnknown,
      "devices of the mesh: 1000000000");
  add("cyclic", with("\"in\": \"h\", \"out\": \"a\"", "\"in\": \"y\", \"out\": \"a\""), kMalformed,
      "");
  add("cyclic",
      with("{\"op\": \"gelu\", \"in\": \"h\", \"out\": \"a\"},\n        {",
           "{\"op\": \"gelu\", \"in\": \"a\", \"out\": \"a\"},\n        {"),
      kMalformed, "\"a\" is read before it is written");
  add("wrong type", with("\"in\": \"h\"", "\"in\": {\"a\": [1]}"), kMalformed, "/in");
  add("wrong type", with("[16, 64]", "[16, \"64\"]"), kMalformed, "an integer is expected");
  add("wrong type", with("[16, 64]", "[16, 1e999]"), kMalformed, "overflow");
  add("unknown operator", with("\"op\": \"gelu\"", "\"op\": \"wobble\""), kUnknown,
      "operator 'wobble' is not declared");
  add("absurd shape", with("[16, 64]", "[1099511627776, 1099511627776]"), kMalformed,
      "1099511627776");
  add("absurd shape", with("[16, 64]", "[16, 99999999999999999999999]"), kMalformed,
      "an integer is expected");
  add("absurd shape", with("[16, 64]", "[16, -64]"), kMalformed, "out of range");
}

void AddBinary(std::vector<Hostile>* cases) {
  const std::string whole = ExampleMessage().SerializeAsString();
  const auto add = [&](const std::string& kind, std::string content, int exit_code,
                       std::string says) {
    cases->push_back({"binary", kind, std::move(content), exit_code, std::move(says)});
  };
  const auto changed = [&](const auto& change) { return Changed(ExampleMessage(), change); };
  add("truncated", whole.substr(0, whole.size() / 2), kMalformed, "no plan file");
  add("truncated", whole.substr(0, whole.size() - 1), kMalformed, "no plan file");
  add("truncated", "\x08"s, kMalformed, "no plan file");
  add("corrupted", "\x08\x01"s + std::string(4000, '\xff'), kMalformed, "no plan file");
  add("corrupted", changed([](plan::PlanFile* f) { f->set_version(7); }), kMalformed,
      "version 7 is not known");
  add("corrupted", Replaced(whole, "gelu", "ge\nu"), kUnknown, "is not declared");
  add("bad opcode", "\x08\x01\x2e planproof-plan"s, kMalformed, "no plan file");  // wire type 6
  add("huge list", "\x08\x01\x2a\x80\x94\xeb\xdc\x03planproof-plan"s, kMalformed, "no plan file");
  add("huge list",
      changed([](plan::PlanFile* f) { f->mutable_plan()->set_microbatches(1000000000); }), kUnknown,
      "microbatches: 1000000000");
  add("huge list", changed([](plan::PlanFile* f) {
        for (int i = 0; i < 300000; ++i) {
          f->mutable_specification()->mutable_tensors(0)->add_shape(1);
        }
      }),
      kUnknown, "dimensions: 300002");
  add("cyclic", changed([](plan::PlanFile* f) {
        auto* op = f->mutable_specification()->mutable_operators(1);
        op->mutable_inputs(0)->set_tensor(op->outputs(0));
      }),
      kMalformed, "");
  add(
      "cyclic",
      "\x08\x01"s +
          [] {
            std::string nested;
            for (int i = 0; i < 20000; ++i) nested += "\x2a\x80\x80\x40"s;
            return nested;
          }(),
      kMalformed, "no plan file");
  add("wrong type", changed([](plan::PlanFile* f) {
        f->mutable_specification()->mutable_tensors(0)->set_dtype("complex7");
      }),
      kMalformed, "complex7");
  add("unknown operator", changed([](plan::PlanFile* f) {
        f->mutable_specification()->mutable_operators(1)->set_op("wobble");
      }),
      kUnknown, "operator 'wobble' is not declared");
  for (const int64_t extent : {int64_t{1} << 62, int64_t{-1}, INT64_MIN}) {
    add("absurd shape", changed([&](plan::PlanFile* f) {
          f->mutable_specification()->mutable_tensors(0)->set_shape(0, extent);
        }),
        extent > 0 ? kUnknown : kMalformed, "");
  }
}

void AddRaw(std::vector<Hostile>* cases) {
  const std::string whole = RawMessage().SerializeAsString();
  const auto add = [&](const std::string& kind, std::string content, int exit_code,
                       std::string says) {
    cases->push_back({"raw", kind, std::move(content), exit_code, std::move(says)});
  };
  const auto changed = [&](const auto& change) {
    return Changed(RawMessage(), [&](plan::PlanFile* f) { change(f->mutable_problem()); });
  };
  add("truncated", whole.substr(0, whole.size() / 2), kMalformed, "no plan file");
  add("truncated", changed([](plan::RawProblem* p) { p->clear_lineage(); }), kMalformed, "");
  add("corrupted", changed([](plan::RawProblem* p) {
        p->mutable_logical()->mutable_operators(0)->set_function(1000000000);
      }),
      kMalformed, "names no function");
  add("corrupted", changed([](plan::RawProblem* p) { p->mutable_required(0)->set_parallel(-7); }),
      kMalformed, "");
  add("bad opcode", changed([](plan::RawProblem* p) {
        p->mutable_functions(0)->mutable_nodes(0)->set_op("jump");
      }),
      kMalformed, "unknown op \"jump\"");
  add("huge list", changed([](plan::RawProblem* p) {
        p->mutable_parallel()->mutable_axes(0)->set_extent(int64_t{1} << 60);
      }),
      kUnknown, "axis");
  add("huge list", changed([](plan::RawProblem* p) {
        p->mutable_functions(0)->mutable_vars(0)->set_extent(int64_t{1} << 62);
      }),
      kUnknown, "extent of a variable");
  add("cyclic", changed([](plan::RawProblem* p) {
        auto* nodes = p->mutable_functions(0)->mutable_nodes();
        const int last = nodes->size() - 1;
        nodes->Mutable(last)->set_args(0, last);
      }),
      kMalformed, "does not precede it");
  add("cyclic", changed([](plan::RawProblem* p) {
        auto* op = p->mutable_logical()->mutable_operators(0);
        op->set_inputs(0, op->outputs(0));
      }),
      kMalformed, "");
  add("wrong type", changed([](plan::RawProblem* p) {
        p->mutable_logical()->mutable_tensors(0)->set_dtype("string");
      }),
      kMalformed, "\"string\" is no element type");
  add("wrong type", changed([](plan::RawProblem* p) {
        for (auto& function : *p->mutable_functions()) {
          for (auto& node : *function.mutable_nodes()) {
            if (!node.real().empty()) node.set_real("1/0");
          }
        }
      }),
      kMalformed, "no rational number");
  // Raw operators are functions: what stands for an operator nobody declared is one without
  // meaning.
  add("unknown operator", changed([](plan::RawProblem* p) {
        p->mutable_functions(0)->mutable_outputs(0)->set_body(1 << 30);
      }),
      kMalformed, "");
  add("absurd shape", changed([](plan::RawProblem* p) {
        p->mutable_logical()->mutable_tensors(0)->set_shape(0, int64_t{1} << 62);
      }),
      kUnknown, "extent of a dimension");
}

void AddOperators(std::vector<Hostile>* cases) {
  const auto add = [&](const std::string& kind, std::string content, std::string says) {
    cases->push_back({"operators", kind, std::move(content), kUsage, std::move(says)});
  };
  add("truncated", "op a(x[i]) -> y[i] = x[i] +", ":1:28: found the end of the file");
  add("corrupted", "op a(x\0[i]) -> y[i] = x[i]"s, ":1:7: unexpected byte 0");
  add("corrupted", "\x1f\x8b\x08 gzip", ":1:1: unexpected byte 31");
  add("bad opcode", "op a(x) -> y = x $ x", ":1:18: unexpected '$'");
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "op a" + std::to_string(i) + "(x) -> y = x\n";
  add("huge list", many, ":4097:1: too many declarations");
  add("huge list", "# " + std::string(2000000, 'x'), "at most 1048576");
  add("huge list", "op a(x) -> y = " + std::string(100000, '(') + "x", "nest too deeply");
  add("cyclic", "op a(x)\n  let q = q + x\n  -> y = q", ":2:11: 'q' is not known here");
  add("wrong type", "op a(x) {n: float = 1} -> y = x * n", ":1:");
  add("unknown operator", "op a(x) -> y = frob(x)", ":1:16: 'frob' is no function");
  add("absurd shape", "op a(x[i, k]) -> y[i, k] = x[i, k, 0]",
      ":1:28: operand 'x' has 2 dimensions");
  add("absurd shape", "op a(x) -> y = x * 1e999999999", ":1:20: the exponent of the number");
}

std::vector<Hostile> AllCases() {
  std::vector<Hostile> cases;
  AddPickles(&cases);
  AddJson(&cases);
  AddBinary(&cases);
  AddRaw(&cases);
  AddOperators(&cases);
  return cases;
}

void ExpectOneLine(const std::string& text, const std::string& what) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << what << text.substr(0, 2000);
  EXPECT_LE(text.size(), 1500u) << what;
  EXPECT_TRUE(
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 || c == '\n'; }))
      << what << text;
}

void ExpectClearLine(const Hostile& hostile, const std::string& what) {
  const std::string path = TemporaryFile("hostile", hostile.content);
  if (hostile.reader == "operators") {
    for (const std::string& command :
         {"operators --operators " + path,
          "verify " + RepositoryPath("examples/mlp_tp2.json") + " --operators " + path}) {
      const Finished finished = RunProgram(command);
      EXPECT_EQ(finished.exit_code, kUsage) << what << finished.output.substr(0, 300);
      EXPECT_EQ(finished.output, "") << what;
      ExpectOneLine(finished.errors, what);
      EXPECT_THAT(finished.errors, HasSubstr(hostile.says)) << what;
    }
    return;
  }
  const std::string files = hostile.reader == "pickle"
                                ? RepositoryPath("tests/fuzz/single_device_plan.pkl") + " " + path
                                : path;
  const Finished finished = RunProgram("verify -q " + files);
  EXPECT_EQ(finished.exit_code, hostile.exit_code) << what << finished.errors;
  EXPECT_THAT(finished.output,
              StartsWith(hostile.exit_code == kUnknown ? "UNKNOWN: " : "MALFORMED: "))
      << what;
  EXPECT_THAT(finished.output, HasSubstr(hostile.says)) << what;
  ExpectOneLine(finished.output, what);
  EXPECT_EQ(finished.errors, "") << what;
}

class HostileInput : public testing::TestWithParam<std::string> {};

TEST_P(HostileInput, GetsOneClearLineAndTheRightExitCode) {
  int count = 0;
  std::map<std::string, int> of_kind;
  for (const Hostile& hostile : AllCases()) {
    if (hostile.reader != GetParam()) continue;
    const std::string number = std::to_string(++of_kind[hostile.kind]);
    ExpectClearLine(hostile, hostile.reader + ", " + hostile.kind + " " + number + ": ");
    ++count;
  }
  if (GetParam() == "pickle" && count == 0) GTEST_SKIP() << "python3 is not there";
  for (const std::string& kind : kKinds) {
    EXPECT_GE(of_kind[kind], 1) << GetParam() << " has no case of kind " << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, HostileInput, testing::ValuesIn(kReaders),
                         [](const auto& info) { return info.param; });

// Bytes changed at many places: any verdict may come out, but no crash and no silence.
TEST(HostileInputs, DamageAnywhereEndsInAVerdict) {
  const std::vector<std::pair<std::string, std::string>> files = {
      {"raw", RawMessage().SerializeAsString()}, {"binary", ExampleMessage().SerializeAsString()}};
  for (const auto& [name, whole] : files) {
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 25) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
      const Finished finished = RunProgram("verify -q " + TemporaryFile("damaged", damaged));
      EXPECT_LE(finished.exit_code, kUnknown) << name << " at " << at << finished.errors;
      ExpectOneLine(finished.output, name + " at " + std::to_string(at) + ": ");
    }
  }
}

// Nothing is read into memory beyond the limits: 2 GiB that take no room on disk.
TEST(HostileInputs, FilesBeyondTheLimitAreRefusedUnread) {
  for (const std::string& start : {"{"s, "\x80\x04"s, "\x08\x01"s}) {
    const std::string path = TemporaryFile("sparse", start);
    std::error_code error;
    std::filesystem::resize_file(path, uintmax_t{1} << 31, error);
    if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
    const std::string files = start[0] == '\x80' ? path + " " + path : path;
    const Finished finished = RunProgram("verify -q " + files);
    EXPECT_EQ(finished.exit_code, kUnknown) << finished.errors;
    EXPECT_THAT(finished.output, HasSubstr("1073741824"));
    ExpectOneLine(finished.output, "2 GiB: ");
    std::filesystem::remove(path);
  }
}

// The start of a plan, in which its format is seen, would be missing when its reader opens it.
TEST(HostileInputs, PipesAndDevicesAreRefusedUnread) {
  const std::string pipe = TemporaryFile("plan.json", "");
  ASSERT_EQ(std::system(("rm " + pipe + "; mkfifo " + pipe).c_str()), 0);
  for (const std::string& file : {pipe, std::string("/dev/zero"), std::string("/dev/null")}) {
    for (const char* command : {"verify ", "show ", "convert -o /dev/null "}) {
      const Finished finished = RunCommand("timeout 20 " PLANPROOF_PROGRAM " " + (command + file));
      EXPECT_EQ(finished.exit_code, 64) << command << file << finished.errors;
      EXPECT_THAT(finished.errors, HasSubstr(file + ": is a pipe or device"));
    }
  }
  std::filesystem::remove(pipe);  // another test of this process would wait for a reader
}

TEST(HostileInputs, OtherCommandsSayTheSame) {
  const std::string broken = TemporaryFile("broken", "\x80\x04N.");
  const std::string out = TemporaryFile("out.plan", "");
  for (const std::string& command :
       {"show " + broken, "convert " + broken + " " + broken + " -o " + out,
        "mutate " + broken + " " + broken + " --kind BR1 -o " + out}) {
    const Finished finished = RunProgram(command);
    EXPECT_EQ(finished.exit_code, kMalformed) << command << finished.output;
    EXPECT_THAT(finished.errors, HasSubstr(broken)) << command;
    ExpectOneLine(finished.errors, command + ": ");
  }
}

}  // namespace
}  // namespace planproof::cli
