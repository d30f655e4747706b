#include "frontend/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "frontend/load_problem.h"
#include "tests/temporary_directory.h"

namespace planproof::frontend {
namespace {

class TextLinesTest : public testing::Test {
 protected:
  std::string File(const std::string& content) {
    const std::string path = directory_.path() + "lines";
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  TemporaryDirectory directory_{"lines"};
};

TEST_F(TextLinesTest, AreWordsAndTheNumbersBehindThem) {
  std::vector<std::string> read;
  const absl::Status status =
      ReadTextLines(File("# a comment\n\ninput x 4 16\r\n 7\nlast 3 x\t5 -1\nend 6"), 1000,
                    [&](const TextLine& line) {
                      read.push_back(absl::StrCat(absl::StrJoin(line.words, " "), " | ",
                                                  absl::StrJoin(line.numbers, " ")));
                      return absl::OkStatus();
                    });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(read, testing::ElementsAre("input x | 4 16", "7 | ", "last 3 x 5 -1 | ", "end | 6"));
}

TEST_F(TextLinesTest, TheFirstErrorHasItsPlaceAndEndsTheFile) {
  const std::string path = File("one\n# two\nthree\nfour\n");
  int lines = 0;
  const absl::Status status = ReadTextLines(path, 1000, [&](const TextLine& line) {
    ++lines;
    return line.words[0] == "three" ? absl::UnimplementedError("not known") : absl::OkStatus();
  });
  EXPECT_EQ(status, absl::UnimplementedError(path + ":3: not known"));
  EXPECT_EQ(lines, 2);
}

TEST_F(TextLinesTest, FilesAreBounded) {
  const auto never = [](const TextLine&) { return absl::InternalError("called"); };
  EXPECT_TRUE(absl::IsResourceExhausted(ReadTextLines(File(std::string(1001, 'x')), 1000, never)));
  EXPECT_TRUE(absl::IsNotFound(ReadTextLines(directory_.path() + "none", 1000, never)));
}

}  // namespace
}  // namespace planproof::frontend
