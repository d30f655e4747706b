// Choice of experts. Which experts are the best is an uninterpreted function of a row of scores:
// the same scores give the same choice, and nothing else is assumed about it.
#include <string>
#include <vector>

#include "sdfg/native_operators.h"

namespace planproof::sdfg {
namespace {

class Gate {
 public:
  explicit Gate(const NativeCall& call) : call_(call), builder_(call.name) {}

  absl::StatusOr<IndexFunction> Run() {
    absl::Status status = Read();
    if (!status.ok()) return status;
    int weights = builder_.AddOutput("weights", Shape{tokens_, topk_}, call_.operands[0].dtype);
    builder_.SetBody(weights, Weights(builder_.OutputDims(weights)));
    int indices = builder_.AddOutput("indices", Shape{tokens_, topk_}, DType::kInt64);
    const std::vector<VarId>& dims = builder_.OutputDims(indices);
    ExprId token = builder_.Index(dims[0]);
    builder_.SetBody(indices, Choice(token, builder_.Index(dims[1])));
    IndexFunction function;
    status = builder_.Finish(&function);
    if (!status.ok()) return status;
    return function;
  }

 private:
  absl::Status Read() {
    absl::StatusOr<Shape> x = call_.TensorShape(0, "x");
    absl::StatusOr<Shape> w = call_.TensorShape(1, "w");
    if (!x.ok()) return x.status();
    if (!w.ok()) return w.status();
    if (x->size() != 2 || w->size() != 2) {
      return call_.Error("expected operands x[t, k] and w[e, k] of 2 dimensions");
    }
    if ((*x)[1] != (*w)[1]) {
      return call_.Error("operand w has extent " + std::to_string((*w)[1]) +
                         " in dimension 1, but operand x has extent " + std::to_string((*x)[1]));
    }
    tokens_ = (*x)[0];
    hidden_ = (*x)[1];
    experts_ = (*w)[0];
    builder_.AddInput("x", *x, call_.operands[0].dtype);
    builder_.AddInput("w", *w, call_.operands[1].dtype);
    biased_ = call_.operands.size() > 2 && call_.operands[2].kind != Operand::Kind::kAbsent;
    if (biased_) {
      absl::StatusOr<Shape> bias = call_.TensorShape(2, "bias");
      if (!bias.ok()) return bias.status();
      if (*bias != Shape{experts_}) {
        return call_.Error("operand bias must have the shape [" + std::to_string(experts_) + "]");
      }
      builder_.AddInput("bias", *bias, call_.operands[2].dtype);
    }
    sigmoid_ = call_.Text("score_func") == "sigmoid";
    topk_ = call_.Int("topk");
    int64_t groups = call_.Int("n_groups");
    int64_t topk_groups = call_.Int("topk_groups");
    if (topk_ < 1 || groups < 1 || topk_groups < 1 || topk_groups > groups || experts_ < 1 ||
        experts_ % groups != 0 || topk_ > experts_ / groups * topk_groups) {
      return call_.Error("topk = " + std::to_string(topk_) + ", n_groups = " +
                         std::to_string(groups) + ", topk_groups = " + std::to_string(topk_groups) +
                         " do not fit " + std::to_string(experts_) + " experts");
    }
    choice_ = "topk_index(k=" + std::to_string(topk_);
    if (groups > 1) {
      choice_ += ",groups=" + std::to_string(groups) +
                 ",topk_groups=" + std::to_string(topk_groups) +
                 ",group_score=" + (biased_ ? "top2_sum" : "max");
    }
    choice_ += ")";
    return absl::OkStatus();
  }

  // sum over k of x[t, k] w[e, k]
  ExprId Logit(ExprId token, ExprId expert) {
    VarId k = builder_.AddVar("k", hidden_);
    ExprId product = builder_.Binary(Op::kMul, builder_.Element(0, {token, builder_.Index(k)}),
                                     builder_.Element(1, {expert, builder_.Index(k)}));
    return builder_.Reduce(Op::kSum, k, product);
  }

  ExprId Score(ExprId token, ExprId expert) {
    ExprId logit = Logit(token, expert);
    ExprId one = builder_.Real(1);
    if (sigmoid_) {
      ExprId e = builder_.Unary(Op::kExp, builder_.Unary(Op::kNeg, logit));
      return builder_.Binary(Op::kDiv, one, builder_.Binary(Op::kAdd, one, e));
    }
    VarId other = builder_.AddVar("e", experts_);
    ExprId all = builder_.Unary(Op::kExp, Logit(token, builder_.Index(other)));
    return builder_.Binary(Op::kDiv, builder_.Unary(Op::kExp, logit),
                           builder_.Reduce(Op::kSum, other, all));
  }

  // The expert that is chosen as number `rank` for the token.
  ExprId Choice(ExprId token, ExprId rank) {
    VarId expert = builder_.AddVar("e", experts_);
    ExprId index = builder_.Index(expert);
    ExprId score = Score(token, index);
    if (biased_) score = builder_.Binary(Op::kAdd, score, builder_.Element(2, {index}));
    return builder_.Opaque(choice_, true, expert, {score, rank});
  }

  // The original score of that expert.
  ExprId ChosenScore(ExprId token, ExprId rank) {
    ExprId choice = Choice(token, rank);
    VarId expert = builder_.AddVar("e", experts_);
    ExprId index = builder_.Index(expert);
    ExprId here = builder_.Unary(Op::kIndicator, builder_.Binary(Op::kIntEq, choice, index));
    return builder_.Reduce(Op::kSum, expert, builder_.Binary(Op::kMul, here, Score(token, index)));
  }

  ExprId Weights(const std::vector<VarId>& dims) {
    ExprId token = builder_.Index(dims[0]);
    ExprId weight = ChosenScore(token, builder_.Index(dims[1]));
    if (sigmoid_) {
      VarId rank = builder_.AddVar("a", topk_);
      ExprId total = builder_.Reduce(Op::kSum, rank, ChosenScore(token, builder_.Index(rank)));
      weight = builder_.Binary(Op::kDiv, weight, total);
    }
    solver::Rational scale = call_.Real("route_scale");
    return scale.IsOne() ? weight : builder_.Binary(Op::kMul, builder_.Real(scale), weight);
  }

  const NativeCall& call_;
  IndexFunctionBuilder builder_;
  int64_t tokens_ = 0;
  int64_t hidden_ = 0;
  int64_t experts_ = 0;
  int64_t topk_ = 0;
  bool biased_ = false;
  bool sigmoid_ = false;
  std::string choice_;
};

}  // namespace

void AddRoutingOperators(std::vector<NativeOperator>* operators) {
  std::string attributes =
      "score_func in (\"softmax\", \"sigmoid\") = \"softmax\", only bias = none, n_groups = 1, "
      "topk_groups = 1, topk: int, "
      "route_scale: real = 1";
  operators->push_back(
      {"gate_fw",
       "gate_fw(x[t, k], w[e, k], bias[e]?) {" + attributes +
           "} -> weights[t, topk], indices[t, topk]",
       "The topk best experts of each token and their weights. Scores are the softmax or the "
       "logistic function of x w^T; `bias` is added for choosing only; with groups, the experts of "
       "the topk_groups best groups count (a group's score is its best, with bias the sum of its "
       "two best). Weights are the scores of the chosen experts, normalized to sum 1 for sigmoid, "
       "times route_scale. The choice is an uninterpreted function of the row of scores. Source: "
       "nnScaler's DeepSeek example, gate_fw.",
       2, 3, ParseAttributes(attributes), [](const NativeCall& call) { return Gate(call).Run(); }});
}

}  // namespace planproof::sdfg
