// The spool's tables, by format: made in a new database, upgraded in an older one.
//
// Thread-safety: none; the owner of the database locks. Blocks on the disk.
#ifndef FLEETMARK_AGENT_SPOOL_SCHEMA_H_
#define FLEETMARK_AGENT_SPOOL_SCHEMA_H_

#include "absl/status/status.h"

#include "agent/spool/database.h"

namespace fleetmark::agent {

// Makes the tables of the newest format, with a new epoch, or brings older ones up to it, in one transaction.
// FailedPrecondition: of a newer format. Else Database's errors.
absl::Status PrepareTables(Database& database);

}  // namespace fleetmark::agent

#endif  // FLEETMARK_AGENT_SPOOL_SCHEMA_H_
