// The collector's configuration file and its one loader. configs/collector.yaml is the commented default;
// docs/configuration.md lists every key.
//
// Thread-safety: plain data. Errors: InvalidArgument with every fault at once, each as
// "file:line:column: key: what is wrong"; NotFound and so on when a file can't be read.
#ifndef FLEETMARK_COLLECTOR_CONFIG_H_
#define FLEETMARK_COLLECTOR_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "collector/action_config.h"
#include "collector/alert_config.h"
#include "collector/people_config.h"
#include "collector/promql/query_options.h"
#include "common/daemon/config_sections.h"
#include "common/daemon/suite_file.h"
#include "common/http/http_client.h"
#include "common/model/labels.h"
#include "common/net/endpoint.h"
#include "common/obs/log.h"
#include "fleetmark/v1/types.pb.h"

namespace fleetmark::collector {

// An operator's expectation for the series that match; an empty field matches everything.
struct ReferenceConfig {
  std::string node;  // exact name
  Labels node_labels;
  std::string benchmark;
  std::string metric;
  Labels labels;
  v1::Reference reference;
  std::string where;  // "file:line:column"
};

// How many nodes may run these benchmarks at once; either max_nodes or max_share is above 0.
struct LimitConfig {
  std::string name;
  std::vector<std::string> benchmarks;  // names, or patterns with * and ?
  Labels node_labels;
  int64_t max_nodes = 0;
  double max_share = 0;  // above 0, at most 1
  std::vector<std::string> per;
  absl::Duration longest;
};

// Where samples are sent on to by remote write.
struct RemoteWriteConfig {
  HttpUrl url;  // no server: nowhere
  std::string bearer_token_file;
  std::string ca_file;
  absl::Duration timeout;
  int64_t queue_bytes = 0;
};

struct CollectorConfig {
  std::string data_dir;
  HostPort grpc;
  HostPort http;  // no host: no HTTP
  TlsFiles tls;
  std::vector<std::string> node_name_rules;  // NodeNames
  std::string authority_folder;              // empty: the site's own authority, or none
  absl::Duration node_certificate_lifetime;
  HostPort join;                 // where nodes join; no host: nowhere
  bool allow_plaintext = false;  // listen in plain text beyond this machine
  PeopleConfig people;
  std::string web_dir;  // empty: no dashboard
  LogOptions log;
  int64_t cache_bytes = 0;
  int64_t write_buffer_bytes = 0;
  int64_t reserve_bytes = 0;
  uint64_t max_series = 0;
  uint64_t max_series_per_node = 0;
  double max_records_per_second = 0;  // of one agent; 0: no bound
  std::string backup_dir;             // empty: no backups are made
  int64_t backups_kept = 0;           // at least 1
  // Infinite: for ever.
  absl::Duration keep_samples;
  absl::Duration keep_hourly;
  absl::Duration keep_daily;
  absl::Duration keep_runs;
  absl::Duration keep_events;
  absl::Duration keep_silent_series;
  int64_t max_store_bytes = 0;       // 0: no bound
  double false_alarms_per_week = 0;  // expected, of the whole fleet
  std::vector<ReferenceConfig> references;
  std::vector<LimitConfig> limits;
  std::vector<Suite> suites;  // what the nodes are to run
  promql::QueryOptions prometheus;
  RemoteWriteConfig remote_write;
  bool receive_remote_write = false;
  bool receive_reframe = false;
  AlertsConfig alerts;
  ActionsConfig actions;
};

absl::StatusOr<CollectorConfig> LoadCollectorConfig(const std::string& path,
                                                    TlsFilesAre tls = TlsFilesAre::kThere);
absl::StatusOr<CollectorConfig> ParseCollectorConfig(std::string_view text, const std::string& origin,
                                                     const std::string& folder,
                                                     TlsFilesAre tls = TlsFilesAre::kThere);

}  // namespace fleetmark::collector

#endif  // FLEETMARK_COLLECTOR_CONFIG_H_
