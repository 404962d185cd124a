//! Vendors' formats of keys and tokens: a prefix and a length.

use regex::Regex;
use std::sync::LazyLock;

/// A prefix and what follows it, from the vendors' documentation of their token formats.
const FORMATS: &[&str] = &[
    // Clouds
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"AIza[0-9A-Za-z_-]{35}",
    r"ya29\.[0-9A-Za-z_-]{20,}",
    r"GOCSPX-[0-9A-Za-z_-]{20,}",
    r"1//0[0-9A-Za-z_-]{30,}",
    r"do[opr]_v1_[a-f0-9]{40,}",
    r"LTAI[A-Za-z0-9]{16,26}\b",
    r"AKID[A-Za-z0-9]{32}\b",
    r"HRKU-[0-9A-Za-z_-]{30,}",
    r"FlyV1 fm[12]_[A-Za-z0-9+/=,_-]{40,}",
    r"fo1_[A-Za-z0-9_-]{40,}",
    r"nfp_[A-Za-z0-9]{36,}",
    r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,}",
    r"sbp_[a-f0-9]{40}",
    r"scw-secret-[A-Za-z0-9-]{20,}",
    // Code and packages
    r"gh[pousr]_[A-Za-z0-9]{36,}",
    r"github_pat_[A-Za-z0-9_]{22,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_.-]{20,}",
    r"ATATT3[A-Za-z0-9_=-]{40,}",
    r"ATBB[A-Za-z0-9]{28,}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-[A-Za-z0-9_-]{50,}",
    r"rubygems_[a-f0-9]{48}",
    r"cio[A-Za-z0-9]{32}\b",
    r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
    r"oy2[a-z0-9]{43}\b",
    r"CCIPAT_[A-Za-z0-9_]{20,}",
    r"bkua_[a-f0-9]{40}",
    r"sgp_[A-Za-z0-9_-]{40,}",
    r"tfp_[A-Za-z0-9_-]{30,}",
    // Machine learning
    r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_-]{20,}[A-Z0-9][A-Za-z0-9_-]{10,}",
    r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{20,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"r8_[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{40,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"pplx-[A-Za-z0-9]{40,}",
    // Messaging
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]+",
    r"hooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,}",
    r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,}",
    r"\b[MNO][A-Za-z0-9_-]{23,26}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"\bkey-[0-9a-f]{32}\b",
    r"\b[0-9a-f]{32}-us\d{1,2}\b",
    r"\b(?:SK|AC)[0-9a-f]{32}\b",
    r"xkeysib-[a-f0-9]{64}",
    // Money and shops
    r"\b[srp]k_(?:live|test)_[A-Za-z0-9]{16,}",
    r"whsec_[A-Za-z0-9+/=]{24,}",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}",
    r"access_token\$production\$[a-z0-9]{16}\$[a-f0-9]{32}",
    r"access-(?:production|sandbox|development)-[a-f0-9-]{36}",
    r"EAAA[A-Za-z0-9_-]{50,}",
    r"EAA[A-Za-z0-9]{60,}",
    r"\bxprv[A-Za-z0-9]{100,}",
    // Tools
    r"lin_api_[A-Za-z0-9]{32,}",
    r"ntn_[A-Za-z0-9]{40,}",
    r"figd_[A-Za-z0-9_-]{30,}",
    r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
    r"dapi[a-f0-9]{32}",
    r"\bhv[sbr]\.[A-Za-z0-9_-]{20,}",
    r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{30,}",
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,}",
    r"\bpul-[a-f0-9]{40}",
    r"glc_[A-Za-z0-9+/=]{32,}",
    r"glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}",
    r"NRAK-[A-Z0-9]{27}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
    r"\bsl\.[A-Za-z0-9_-]{60,}",
    r"tskey-[a-z]+-[A-Za-z0-9]+-[A-Za-z0-9]{20,}",
    r"CFPAT-[A-Za-z0-9_-]{40,}",
    r"ops_eyJ[A-Za-z0-9+/=_-]{40,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"phc_[A-Za-z0-9]{40,}",
    r"phx_[A-Za-z0-9]{40,}",
    r"AccountKey=[A-Za-z0-9+/]{80,}={0,2}",
    r"sig=[A-Za-z0-9%]{40,}%3D",
];

static ALL: LazyLock<Regex> = LazyLock::new(|| super::pattern(&FORMATS.join("|")));

pub(super) fn is_match(text: &str) -> bool {
    ALL.is_match(text)
}

pub(super) fn find_all(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    ALL.find_iter(text).map(|hit| hit.range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_a_valid_pattern_and_unique() {
        for (at, form) in FORMATS.iter().enumerate() {
            assert!(Regex::new(form).is_ok(), "{form}");
            assert!(!FORMATS[..at].contains(form), "{form}");
        }
    }
}
