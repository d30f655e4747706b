// Generates the manual page and the shell completions from the commands as they are parsed.
#ifndef PLANPROOF_CLI_MANUAL_PAGE_H_
#define PLANPROOF_CLI_MANUAL_PAGE_H_

#include <string>

namespace CLI {
class App;
}

namespace planproof::cli {

// planproof(1) in man(7) macros.
std::string ManualPage(const CLI::App& program);

// Completion of commands, options and the values that an option takes, as a script for the shell:
// "bash", "zsh" or "fish"; empty for another one.
std::string CompletionScript(const CLI::App& program, const std::string& shell);

}  // namespace planproof::cli

#endif  // PLANPROOF_CLI_MANUAL_PAGE_H_
