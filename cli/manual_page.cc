#include "cli/manual_page.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <vector>

#include "report/report.h"

namespace planproof::cli {
namespace {

std::vector<const CLI::App*> CommandsOf(const CLI::App& program) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : program.get_subcommands({})) {
    if (!command->get_group().empty()) commands.push_back(command);  // others are hidden
  }
  return commands;
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& command, bool positional) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options({})) {
    if (option->get_positional() == positional && !option->get_group().empty())
      options.push_back(option);
  }
  return options;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The words among which a value is chosen; none where any is possible.
std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t open = type.find('{'), close = type.find('}');
  std::vector<std::string> choices;
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::istringstream words(type.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

std::string Joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

// Text of a manual page: nothing in it is a request or an escape.
std::string Roff(const std::string& text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string ValueName(const CLI::Option& option) {
  const std::vector<std::string> choices = ChoicesOf(option);
  if (!choices.empty()) return Joined(choices, "|");
  const std::string type = option.get_type_name();
  return type.substr(0, std::min(type.find(':'), type.find(' ')));
}

void AddOption(const CLI::Option& option, std::string* page) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  *page += ".TP\n\\fB" + Roff(Joined(names, ", ")) + "\\fR";
  if (TakesValue(option)) *page += " \\fI" + Roff(ValueName(option)) + "\\fR";
  *page += "\n" + Roff(option.get_description());
  if (!option.get_default_str().empty())
    *page += " (default: " + Roff(option.get_default_str()) + ")";
  *page += "\n";
}

// Single quotes end and begin again around one.
std::string Quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> LongNames(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : OptionsOf(command, false)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string BashCompletion(const CLI::App& program) {
  std::string commands, cases, values;
  for (const CLI::App* command : CommandsOf(program)) {
    commands += (commands.empty() ? "" : " ") + command->get_name();
    cases +=
        "    " + command->get_name() + ") words=\"" + Joined(LongNames(*command), " ") + "\" ;;\n";
    for (const CLI::Option* option : OptionsOf(*command, false)) {
      const std::vector<std::string> choices = ChoicesOf(*option);
      for (const std::string& name : option->get_lnames()) {
        if (choices.empty()) continue;
        values += "    \"" + command->get_name() + " --" + name + "\") COMPREPLY=($(compgen -W \"" +
                  Joined(choices, " ") + "\" -- \"$current\")); return ;;\n";
      }
    }
  }
  return "# bash completion for planproof\n"
         "_planproof() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local command=\"${COMP_WORDS[1]}\" words=\"\"\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    COMPREPLY=($(compgen -W \"" +
         commands +
         " --help --version\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$command $previous\" in\n" +
         values +
         "  esac\n"
         "  case \"$command\" in\n" +
         cases +
         "  esac\n"
         "  if [[ \"$current\" == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _planproof planproof\n";
}

// Of zsh's _arguments: "--engine[which]:value:(a b)". Brackets and colons are escaped.
std::string ZshText(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string ZshCompletion(const CLI::App& program) {
  std::string commands, cases;
  for (const CLI::App* command : CommandsOf(program)) {
    commands += "    " + Quoted(command->get_name() + ":" + command->get_description()) + "\n";
    cases += "      " + command->get_name() + ")\n        _arguments \\\n";
    for (const CLI::Option* option : OptionsOf(*command, false)) {
      for (const std::string& name : option->get_lnames()) {
        std::string entry = "--" + name + "[" + ZshText(option->get_description()) + "]";
        const std::vector<std::string> choices = ChoicesOf(*option);
        if (TakesValue(*option))
          entry += choices.empty() ? ":value:_files" : ":value:(" + Joined(choices, " ") + ")";
        cases += "          " + Quoted(entry) + " \\\n";
      }
    }
    cases += "          '*:file:_files' ;;\n";
  }
  return "#compdef planproof\n"
         "local -a commands=(\n" +
         commands +
         ")\n"
         "if ((CURRENT == 2)); then\n"
         "  _describe command commands\n"
         "else\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "fi\n";
}

std::string FishCompletion(const CLI::App& program) {
  std::string script = "# fish completion for planproof\n";
  for (const CLI::App* command : CommandsOf(program)) {
    script += "complete -c planproof -f -n __fish_use_subcommand -a " + command->get_name() +
              " -d " + Quoted(command->get_description()) + "\n";
    const std::string seen = " -n " + Quoted("__fish_seen_subcommand_from " + command->get_name());
    script += "complete -c planproof" + seen + " -F\n";
    for (const CLI::Option* option : OptionsOf(*command, false)) {
      for (const std::string& name : option->get_lnames()) {
        const std::vector<std::string> choices = ChoicesOf(*option);
        std::string value = TakesValue(*option) ? " -r" : "";
        if (!choices.empty()) value = " -x -a " + Quoted(Joined(choices, " "));
        script += "complete -c planproof" + seen + " -l " + name + value + " -d " +
                  Quoted(option->get_description()) + "\n";
      }
    }
  }
  return script;
}

}  // namespace

std::string ManualPage(const CLI::App& program) {
  std::string page = ".TH PLANPROOF 1 \"\" \"planproof " + std::string(report::Version()) +
                     "\" \"User Commands\"\n.SH NAME\nplanproof \\- " +
                     Roff("prove that a distributed training plan computes its model") +
                     "\n.SH SYNOPSIS\n\\fBplanproof\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR...]\n"
                     ".SH DESCRIPTION\n" +
                     Roff(program.get_description()) + ".\n";
  for (const CLI::App* command : CommandsOf(program)) {
    page += ".SH " + Roff("PLANPROOF ") + "\\fB" + Roff(command->get_name()) + "\\fR";
    for (const CLI::Option* option : OptionsOf(*command, true)) {
      page += " \\fI" + Roff(option->get_name(true)) +
              (option->get_expected_max() > 1 ? "..." : "") + "\\fR";
    }
    page += "\n" + Roff(command->get_description()) + ".\n";
    for (const CLI::Option* option : OptionsOf(*command, true)) {
      if (option->get_description().empty()) continue;
      page += ".TP\n\\fI" + Roff(option->get_name(true)) + "\\fR\n" +
              Roff(option->get_description()) + "\n";
    }
    for (const CLI::Option* option : OptionsOf(*command, false)) AddOption(*option, &page);
    if (!command->get_footer().empty())
      page += ".PP\n.nf\n" + Roff(command->get_footer()) + "\n.fi\n";
  }
  page +=
      ".SH EXIT STATUS\n"
      "0 PROVED, 1 REFUTED, 2 MALFORMED, 3 UNKNOWN, 64 wrong usage, 70 internal error.\n"
      ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nIf set, reports on a terminal have no colours.\n";
  return page;
}

std::string CompletionScript(const CLI::App& program, const std::string& shell) {
  if (shell == "bash") return BashCompletion(program);
  if (shell == "zsh") return ZshCompletion(program);
  if (shell == "fish") return FishCompletion(program);
  return "";
}

}  // namespace planproof::cli
