#include "cli/program.h"

int main(int argc, char** argv) { return planproof::cli::Main(argc, argv); }
