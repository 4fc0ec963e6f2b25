// fleetmark-collector ca init, token, revoke and list: the collector's own certificate authority.
//
// They work on its folder, beside a collector that runs or not. Started by root, they first become the owner
// of the data folder, so that the collector can read what they leave.
//
// Thread-safety: called from main alone, before any thread.
#ifndef FLEETMARK_COLLECTOR_JOIN_CA_COMMANDS_H_
#define FLEETMARK_COLLECTOR_JOIN_CA_COMMANDS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

#include "collector/join/authority_folder.h"

namespace fleetmark::collector {

// `arguments` are those after "ca". The program's exit status. A token is the only line on standard output.
int RunCaCommand(const std::vector<std::string>& arguments, const AuthorityFolder::Options& options,
                 const std::string& data_dir);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_JOIN_CA_COMMANDS_H_
