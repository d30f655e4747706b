#include "solver/z3_request.h"

#include <sstream>
#include <utility>

namespace planproof::solver {

bool ParseZ3Request(const char* text, Z3Request* request) {
  std::istringstream in(text);
  std::string word;
  while (in >> word) {
    if (word == "timeout_ms") {
      in >> request->timeout_ms;
    } else if (word == "domain") {
      request->domain = true;
    } else if (word == "dump") {
      in >> std::ws;
      std::getline(in, request->dump);
    } else if (word == "comment") {
      in >> std::ws;
      std::getline(in, request->comments.emplace_back());
    } else if (word == "nodes") {
      int count = 0;
      in >> count >> request->left_nodes;
      for (int n = 0; n < count; ++n) {
        Z3Request::Node node;
        int op = 0, args = 0;
        in >> op >> node.low >> node.high >> node.value >> node.name >> args;
        node.op = static_cast<RawOp>(op);
        for (int k = 0; k < args; ++k) {
          int a = -1;
          in >> a;
          if (a < 0 || a >= n) return false;
          node.args.push_back(a);
        }
        request->nodes.push_back(std::move(node));
      }
    } else if (word == "compare") {
      in >> request->left >> request->right;
    } else if (word == "premise") {
      in >> request->premises.emplace_back();
    } else if (word == "end") {
      return !in.fail();
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace planproof::solver
