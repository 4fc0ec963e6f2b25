// fleetmark-collector token create, list and revoke: the bearer tokens of people and programs, on the
// collector's host. A running collector takes what they change at once.
//
// Thread-safety: called from main alone.
#ifndef FLEETMARK_COLLECTOR_ACCESS_TOKEN_COMMANDS_H_
#define FLEETMARK_COLLECTOR_ACCESS_TOKEN_COMMANDS_H_

#include <string>
#include <vector>

namespace fleetmark::collector {

struct TokenCommandOptions {
  std::string data_dir;
  std::string folder;  // of the tokens
  bool asked = false;  // whether the configuration makes the collector ask for them
};

// The program's exit status. A new token goes to standard output, and nowhere else.
int RunTokenCommand(const std::vector<std::string>& arguments, const TokenCommandOptions& options);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_ACCESS_TOKEN_COMMANDS_H_
