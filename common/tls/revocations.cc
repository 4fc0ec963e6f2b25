#include "common/tls/revocations.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <memory>

#include "absl/strings/ascii.h"

#include "common/base/status.h"
#include "common/tls/openssl_types.h"

namespace fleetmark {
namespace {

using openssl::Error;

absl::StatusOr<absl::Time> ToTime(const ASN1_TIME* time) {
  std::tm parts = {};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return Error("revocation list: time");
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string ToHex(const ASN1_INTEGER* serial) {
  const std::unique_ptr<BIGNUM, openssl::Deleter<BN_free>> number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* hex = number == nullptr ? nullptr : BN_bn2hex(number.get());
  std::string out = hex == nullptr ? "" : absl::AsciiStrToLower(hex);
  OPENSSL_free(hex);
  return out;
}

std::string Name(const X509_NAME* name) {
  const openssl::Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  return openssl::Content(bio.get());
}

bool SignedByOneOf(X509_CRL* crl, std::string_view authorities_pem) {
  const openssl::Bio bio = openssl::ReadBio(authorities_pem);
  bool found = false;
  while (!found) {
    const openssl::X509Ptr authority(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (authority == nullptr) break;
    found = X509_NAME_cmp(X509_get_subject_name(authority.get()), X509_CRL_get_issuer(crl)) == 0 &&
            X509_CRL_verify(crl, X509_get0_pubkey(authority.get())) == 1;
  }
  ERR_clear_error();
  return found;
}

}  // namespace

absl::StatusOr<Revocations> Revocations::Read(std::string_view crl_pem, std::string_view authorities_pem) {
  Revocations out;
  const openssl::Bio bio = openssl::ReadBio(crl_pem);
  int lists = 0;
  while (true) {
    const openssl::CrlPtr crl(PEM_read_bio_X509_CRL(bio.get(), nullptr, nullptr, nullptr));
    if (crl == nullptr) break;
    ++lists;
    if (!SignedByOneOf(crl.get(), authorities_pem)) {
      return absl::PermissionDeniedError("revocation list: none of the authorities signed it");
    }
    const std::string issuer = Name(X509_CRL_get_issuer(crl.get()));
    if (X509_CRL_get0_nextUpdate(crl.get()) != nullptr) {
      FM_ASSIGN_OR_RETURN(const absl::Time next, ToTime(X509_CRL_get0_nextUpdate(crl.get())));
      out.next_update_ = std::min(out.next_update_, next);
    }
    STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(crl.get());
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
      const X509_REVOKED* entry = sk_X509_REVOKED_value(entries, i);
      FM_ASSIGN_OR_RETURN(const absl::Time when, ToTime(X509_REVOKED_get0_revocationDate(entry)));
      out.entries_.push_back({ToHex(X509_REVOKED_get0_serialNumber(entry)), when});
      out.revoked_.emplace(issuer, out.entries_.back().serial);
    }
  }
  const unsigned long code = ERR_peek_last_error();
  if (code != 0 && ERR_GET_REASON(code) != PEM_R_NO_START_LINE) return Error("revocation list");
  ERR_clear_error();
  if (lists == 0) return absl::InvalidArgumentError("no revocation list in PEM");
  return out;
}

}  // namespace fleetmark
