// Tells the service manager about the process's state: systemd's notification protocol (sd_notify(3)),
// one datagram to the socket that $NOTIFY_SOCKET names. Does nothing where there is none.
//
// Thread-safety: any thread.
#ifndef FLEETMARK_COMMON_BASE_SD_NOTIFY_H_
#define FLEETMARK_COMMON_BASE_SD_NOTIFY_H_

#include <string_view>

#include "absl/time/time.h"

namespace fleetmark {

// For example "READY=1", "STOPPING=1", "WATCHDOG=1", "RELOADING=1\nMONOTONIC_USEC=…", "STATUS=text".
// True when a manager was told. Never blocks.
bool SdNotify(std::string_view state);

// How often the manager wants WATCHDOG=1 at the latest ($WATCHDOG_USEC); InfiniteDuration if never.
absl::Duration SdWatchdogInterval();

}  // namespace fleetmark

#endif  // FLEETMARK_COMMON_BASE_SD_NOTIFY_H_
