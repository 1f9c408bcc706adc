#include "tools/command_set.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "proto/version.h"
#include "tools/nearest.h"
#include "tools/standard_output.h"

namespace heaptape {
namespace {

constexpr char kUsagePayload[] = "heaptape/usage";
constexpr size_t kOptionColumn = 32;
constexpr size_t kHelpWidth = 100;

// `text` with its spaces made line ends where a line would be longer than `width`.
std::string Wrapped(std::string text, size_t width) {
  size_t line = 0;
  size_t space = std::string::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') space = i;
    if (text[i] == '\n') line = i + 1;
    if (i - line < width || space == std::string::npos || space < line) continue;
    text[space] = '\n';
    line = space + 1;
  }
  return text;
}

// CLI11's help with options as they are typed, --format=text|json, and their
// defaults behind the description.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kOptionColumn); }

  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return option->get_name(true, false);
    std::string name = absl::StrReplaceAll(option->get_name(false, true), {{",", ", "}});
    if (option->get_expected_max() > 0 && !option->get_type_name().empty()) {
      absl::StrAppend(&name, "=", option->get_type_name());
    }
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_expected_max() > 1 && !option->get_positional() ? " ..." : "";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description();
    // The default is not to be torn from its name: a tab stands for that space.
    if (!option->get_default_str().empty()) absl::StrAppend(&text, " (default\t", option->get_default_str(), ")");
    return absl::StrReplaceAll(Wrapped(text, kHelpWidth - kOptionColumn), {{"\t", " "}});
  }
};

std::string OneLine(std::string text) {
  text = absl::StrReplaceAll(text, {{"\r", ""}, {"\n", "; "}});
  return std::string(absl::StripAsciiWhitespace(text));
}

void Complain(const std::string& message) { std::fprintf(stderr, "heaptape: %s\n", OneLine(message).c_str()); }

// Of "--fromat=json", the option of `app` that was probably meant, if any.
std::string NearestOption(const CLI::App& app, const std::string& argument) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return Nearest(argument.substr(0, argument.find('=')), names);
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

CommandSet::CommandSet() : app_("Records the allocations of a program and replays them under other settings.") {
  app_.name("heaptape");
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.set_help_flag("-h,--help", "Print this and exit");
  app_.set_version_flag("--version", absl::StrCat("heaptape ", kHeaptapeVersion), "Print the version and exit");
  app_.footer("`heaptape COMMAND --help` tells of one command. Exit status: 0 done, 1 failed, 2 wrong usage.");
}

CLI::App& CommandSet::Add(const std::string& name, const std::string& sentence, Run run) {
  CLI::App* app = app_.add_subcommand(name, sentence);
  app->set_help_flag("-h,--help", "Print this and exit");
  app->footer("");
  commands_.push_back({app, std::move(run)});
  return *app;
}

int CommandSet::ReportUsage(const std::string& command, const std::string& message) const {
  const std::string help = command.empty() ? "heaptape --help" : absl::StrCat("heaptape ", command, " --help");
  Complain(absl::StrCat(message, " (see ", help, ")"));
  return kExitUsage;
}

int CommandSet::Main(int argc, const char* const* argv) {
  if (argc < 2) return ReportUsage("", "what is to be done?");
  const std::string word = argv[1];
  if (word.empty() || word[0] != '-') {
    const auto known = std::find_if(commands_.begin(), commands_.end(),
                                    [&word](const Command& command) { return command.app->get_name() == word; });
    if (known == commands_.end()) {
      std::vector<std::string> names;
      for (const Command& command : commands_) names.push_back(command.app->get_name());
      const std::string meant = Nearest(word, names);
      return ReportUsage("", absl::StrCat("there is no command \"", word, "\"",
                                          meant.empty() ? "" : absl::StrCat("; did you mean \"", meant, "\"?")));
    }
  }

  const auto parsed = [this] {
    return std::find_if(commands_.begin(), commands_.end(), [](const Command& c) { return c.app->parsed(); });
  };
  const auto print = [](const std::string& text) {
    const absl::Status status = WriteStandardOutput(text);
    if (status.ok()) return kExitOk;
    Complain(std::string(status.message()));
    return kExitFailed;
  };
  // CLI11 tells by exceptions; they end here.
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print(app_.help());
  } catch (const CLI::CallForVersion& version) {
    return print(absl::StrCat(version.what(), "\n"));
  } catch (const CLI::ParseError& error) {
    const auto command = parsed();
    const bool none = command == commands_.end();
    const CLI::App& app = none ? app_ : *command->app;
    std::string message = error.what();
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
      std::vector<std::string> extras = app.remaining(true);
      if (extras.empty()) extras = app_.remaining(true);
      message = absl::StrCat("unexpected ", absl::StrJoin(extras, " "));
      const std::string meant = extras.empty() ? "" : NearestOption(app, extras.front());
      if (!meant.empty()) absl::StrAppend(&message, "; did you mean ", meant, "?");
    }
    return ReportUsage(none ? "" : app.get_name(), none ? message : absl::StrCat(app.get_name(), ": ", message));
  }

  const auto command = parsed();
  if (command == commands_.end()) return ReportUsage("", "what is to be done?");
  const absl::StatusOr<int> exit_code = command->run();
  if (exit_code.ok()) return *exit_code;
  const std::string message(exit_code.status().message());
  if (exit_code.status().GetPayload(kUsagePayload).has_value()) {
    const std::string name = command->app->get_name();
    return ReportUsage(name, absl::StrCat(name, ": ", message));
  }
  Complain(message);
  return kExitFailed;
}

CLI::Option* AddChoice(CLI::App& app, const std::string& name, std::string* value,
                       const std::vector<std::string>& choices, const std::string& description) {
  return app.add_option(name, *value, description)
      ->check(CLI::IsMember(choices).description(""))
      ->type_name(absl::StrJoin(choices, "|"))
      ->capture_default_str();
}

}  // namespace heaptape
