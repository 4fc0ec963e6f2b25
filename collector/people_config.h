// The section `people` of the collector's configuration: who may use it, and how they show who they are.
//
// Thread-safety: plain data and functions without state. Faults are noted in the YamlValue's reader.
#ifndef FLEETMARK_COLLECTOR_PEOPLE_CONFIG_H_
#define FLEETMARK_COLLECTOR_PEOPLE_CONFIG_H_

#include <map>
#include <string>

#include "absl/time/time.h"

#include "collector/access/people.h"
#include "collector/access/role.h"
#include "common/config/yaml_reader.h"

namespace fleetmark::collector {

struct PeopleConfig {
  bool asked = false;        // is there such a section?
  std::string token_folder;  // also without
  std::map<std::string, Role> certificates;
  TrustedProxy proxy;
  Role anonymous = Role::kNobody;
  double requests_per_second = 0;
  absl::Duration keep_audit;
};

PeopleConfig ReadPeople(YamlValue section, const std::string& data_dir);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_PEOPLE_CONFIG_H_
