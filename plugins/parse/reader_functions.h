// The functions behind the table in reader.cc, each in the file of its family. What each reads and gives is
// in docs/readers.md.
//
// Thread-safety: functions without state. Options have passed CheckOptions.
#ifndef FLEETMARK_PLUGINS_PARSE_READER_FUNCTIONS_H_
#define FLEETMARK_PLUGINS_PARSE_READER_FUNCTIONS_H_

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "plugins/parse/parsed_output.h"

namespace fleetmark::parse {

using Options = nlohmann::json;

void ReadRegex(const Options& options, Report& report);
std::string CheckRegexOptions(const Options& options);
void ReadJsonPaths(const Options& options, Report& report);
std::string CheckJsonPathOptions(const Options& options);
void ReadCsv(const Options& options, Report& report);
std::string CheckCsvOptions(const Options& options);
void ReadKeyValue(const Options& options, Report& report);
std::string CheckKeyValueOptions(const Options& options);
void ReadOpenMetrics(const Options& options, Report& report);

void ReadReframeReport(const Options& options, Report& report);
void ReadReframePerflog(const Options& options, Report& report);
void ReadMlperf(const Options& options, Report& report);
void ReadFio(const Options& options, Report& report);
void ReadIperf3(const Options& options, Report& report);
void ReadNcclTests(const Options& options, Report& report);
void ReadNvbandwidth(const Options& options, Report& report);
void ReadOsu(const Options& options, Report& report);
void ReadStream(const Options& options, Report& report);
void ReadBabelStream(const Options& options, Report& report);
void ReadHpl(const Options& options, Report& report);
void ReadHpcg(const Options& options, Report& report);
void ReadIor(const Options& options, Report& report);
void ReadMdtest(const Options& options, Report& report);
void ReadGoogleBenchmark(const Options& options, Report& report);
void ReadHyperfine(const Options& options, Report& report);
void ReadDcgmiDiag(const Options& options, Report& report);
void ReadNvidiaSmi(const Options& options, Report& report);
void ReadSuperBench(const Options& options, Report& report);
void ReadNagios(const Options& options, Report& report);
void ReadGcMonitor(const Options& options, Report& report);
void ReadPopdist(const Options& options, Report& report);
void ReadCerebras(const Options& options, Report& report);

}  // namespace fleetmark::parse

#endif  // FLEETMARK_PLUGINS_PARSE_READER_FUNCTIONS_H_
