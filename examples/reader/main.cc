// planproof with one reader more.
#include "cli/program.h"
#include "examples/reader/toy_reader.h"
#include "frontend/registry.h"

int main(int argc, char** argv) {
  planproof::frontend::AddReader(planproof::toy::ToyPlans());
  return planproof::cli::Main(argc, argv);
}
