// Small plans written by hand, as text.
#ifndef PLANPROOF_TESTS_CLI_PLANS_H_
#define PLANPROOF_TESTS_CLI_PLANS_H_

#include <string>

namespace planproof::cli {

// A row-parallel matrix product on two devices, followed by silu: the partial products are summed
// by an all-reduce. `collective` is the operator between "part" and "h", empty: none.
inline std::string RowParallelPlan(
    const std::string& collective =
        R"json({"op": "all_reduce", "over": "tp", "in": "part", "out": "h"},)json") {
  const std::string start = R"json({
  "planproof": 1,
  "specification": {
    "inputs": {"x": [8, 64]},
    "parameters": {"w": [32, 64]},
    "operators": [
      {"op": "linear", "in": ["x", "w"], "out": "h", "source": "model.py:12: h = linear(x)"},
      {"op": "silu", "in": "h", "out": "y", "source": "model.py:13: y = silu(h)"}
    ],
    "outputs": {"y": {}}
  },
  "plan": {
    "mesh": {"tp": 2},
    "programs": [{
      "inputs": {"x": {"1": "tp"}, "w": {"1": "tp"}},
      "operators": [
        {"op": "linear", "in": ["x", "w"], "out": "part"},
        )json";
  const std::string activation = R"json({"op": "silu", "in": "INPUT", "out": "y"}
      ]
    }]
  }
}
)json";
  std::string end = activation;
  end.replace(end.find("INPUT"), 5, collective.empty() ? "part" : "h");
  return start + collective + end;
}

}  // namespace planproof::cli

#endif  // PLANPROOF_TESTS_CLI_PLANS_H_
