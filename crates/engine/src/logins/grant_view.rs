//! JSON views of grants and credentials. They never contain a token or a secret value.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vault::{Grant, GrantScope, Host, PendingRotation, Summary};

/// The status of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantStatus {
    Unused,
    Used,
    Expired,
    Revoked,
}

impl GrantStatus {
    pub fn of(grant: &Grant, now: Timestamp) -> GrantStatus {
        if grant.revoked_at.is_some() {
            GrantStatus::Revoked
        } else if grant.uses > 0 && (grant.single_use || grant.expires_at > now) {
            GrantStatus::Used
        } else if grant.expires_at <= now {
            GrantStatus::Expired
        } else {
            GrantStatus::Unused
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            GrantStatus::Unused => "unused",
            GrantStatus::Used => "used",
            GrantStatus::Expired => "expired",
            GrantStatus::Revoked => "revoked",
        }
    }
}

/// The time until the grant expires; `None` if it can no longer be used.
pub fn time_left(grant: &Grant, now: Timestamp) -> Option<SignedDuration> {
    let is_usable = match GrantStatus::of(grant, now) {
        GrantStatus::Unused => true,
        GrantStatus::Used => !grant.single_use,
        GrantStatus::Expired | GrantStatus::Revoked => false,
    };
    is_usable.then(|| grant.expires_at.duration_since(now))
}

/// Our names for the fields, and beside them those of S2's grant token: `iss`, `tenant_id`, `origin_session_id` and
/// `allowed_domains`.
pub fn grant_json(grant: &Grant, now: Timestamp) -> Value {
    let hosts: Vec<String> = grant.hosts.iter().map(ToString::to_string).collect();
    json!({
        "jti": grant.jti,
        "tenant": grant.tenant.as_str(),
        "tenant_id": grant.tenant.as_str(),
        "issuer": grant.issuer.as_str(),
        "iss": grant.issuer.as_str(),
        "operator": grant.operator.as_str(),
        "origin_session": grant.origin_session.as_str(),
        "origin_session_id": grant.origin_session.as_str(),
        "allowed_domains": hosts,
        "hosts": hosts,
        "issued_at": grant.issued_at,
        "expires_at": grant.expires_at,
        "single_use": grant.single_use,
        "access": grant.access.as_str(),
        "uses": grant.uses,
        "used_at": grant.used_at,
        "revoked_at": grant.revoked_at,
        "state": GrantStatus::of(grant, now).as_str(),
    })
}

pub fn credential_json(one: &Summary) -> Value {
    json!({
        "id": one.id.as_str(),
        "domain": one.domain.as_ref().map(Host::as_str),
        "grant_scope": one.grant_scope.map(GrantScope::as_str),
        "created_at": one.created_at,
        "last_refreshed_at": one.last_refreshed_at,
        "last_injected_at": one.last_injected_at,
    })
}

pub fn rotation_json(one: &PendingRotation) -> Value {
    json!({ "id": one.id.as_str(), "domain": one.domain.as_str(), "cookies": one.names, "kept_at": one.kept_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Name, Tenant};
    use vault::{GrantedHost, Issuer};

    #[test]
    fn a_grant_is_unused_used_expired_or_revoked() {
        let now = Timestamp::now();
        let soon = now + SignedDuration::from_secs(60);
        for (single_use, uses, revoked, at, state, left) in [
            (true, 0, false, now, "unused", true),
            (true, 1, false, now, "used", false),
            (false, 3, false, now, "used", true),
            (true, 0, false, soon, "expired", false),
            (true, 1, false, soon, "used", false),
            (false, 3, false, soon, "expired", false),
            (false, 3, true, now, "revoked", false),
        ] {
            let grant = Grant {
                jti: "j".to_owned(),
                tenant: Tenant::parse("default").unwrap(),
                issuer: Issuer::Operator,
                operator: Name::parse("ada").unwrap(),
                origin_session: Name::parse("console").unwrap(),
                hosts: vec![GrantedHost::parse("github.com").unwrap()],
                issued_at: now,
                expires_at: soon,
                single_use,
                access: policy::Access::Write,
                uses,
                used_at: None,
                revoked_at: revoked.then_some(now),
            };
            assert_eq!(GrantStatus::of(&grant, at).as_str(), state);
            assert_eq!(time_left(&grant, at).is_some(), left, "{state}");
        }
    }
}
