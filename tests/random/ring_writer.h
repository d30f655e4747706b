// Writes the rounds of a random ring, and the model that it computes, step by step.
#ifndef PLANPROOF_TESTS_RANDOM_RING_WRITER_H_
#define PLANPROOF_TESTS_RANDOM_RING_WRITER_H_

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace planproof::random_tests {

class RingWriter {
 public:
  explicit RingWriter(uint64_t seed);

  // Some steps, each of what earlier ones made.
  void Write();
  // One operand becomes another one of its kind, in one round or in all; or a piece is handed on
  // the other way, or too far. What was changed, in words; empty if there was nothing to change.
  std::string PutInFault();
  std::string Text() const;

  int ranks() const { return ranks_; }
  const std::string& steps() const { return steps_; }

 private:
  // What a tensor is of: of one form within a kind.
  enum class Kind : uint8_t { kScores, kPiece, kMask, kBias, kRow, kRows };
  struct Value {
    std::string model, plan;  // names; of a family without the round
    Kind kind = Kind::kScores;
    bool of_rounds = false;
    std::string first;  // of a family: its member of round 0, if it has another name
    int maximum = -1;   // weights: the running maximum that they are relative to
  };
  // Values: the sum is -1 until there is one.
  struct Softmax {
    int scores = -1, maximum = -1, last = -1, sum = -1;
  };
  struct Operator {
    std::string name;
    std::vector<std::string> inputs;
    std::string output;
    std::string attributes;     // as JSON; empty if there are none
    int shift = 0;              // of a permute
    Kind kind = Kind::kScores;  // of the output
  };

  int Random(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  std::string Fresh(const char* what) { return what + std::to_string(names_++); }
  std::string In(int value, int round) const;
  std::string NameIn(const std::string& base, int round) const;
  // A value of the kind, of rounds or of none, but no weights; -1 if there is none.
  int Pick(Kind kind, bool of_rounds);
  int Add(Value value);
  void Model(const char* name, const std::vector<int>& inputs, const std::string& output,
             const std::string& attributes = "");
  void Plan(const char* name, std::vector<std::string> inputs, const std::string& output, Kind kind,
            const std::string& attributes = "", int shift = 0);
  std::string Json(const Operator& op) const;

  // The same operator in the model and in each round.
  int InRounds(const char* name, const std::vector<int>& inputs, Kind kind, const char* what,
               const std::string& attributes = "");
  int Travel(int piece);
  int RunningMaximum(int scores);
  // Of what each round makes of its values, on one rank or travelling with the pieces.
  int Total(const char* name, const std::vector<int>& inputs, Kind kind,
            const std::string& attributes);
  int TravellingTotal(int scores, int rows);
  // Of weights, or of their products with pieces.
  int RescaledTotal(int weights, int piece);
  bool Shares();
  void Mask();
  bool Step();  // whether there was what it needs

  std::mt19937_64 random_;
  int ranks_, shift_, copies_, rows_, positions_;
  std::string hidden_;  // what is added to a masked score
  std::vector<Value> values_;
  std::vector<Operator> model_, plan_;
  std::vector<int> required_;
  std::vector<Softmax> softmaxes_;
  int names_ = 0;
  std::string steps_;
};

}  // namespace planproof::random_tests

#endif  // PLANPROOF_TESTS_RANDOM_RING_WRITER_H_
