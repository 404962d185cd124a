//! What is told of grants and credentials to those who may ask. Never a token, never a value.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vault::{Grant, GrantScope, Host, PendingRotation, Summary};

/// How a grant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Unused,
    Used,
    Expired,
    Revoked,
}

impl Standing {
    pub fn of(grant: &Grant, now: Timestamp) -> Standing {
        if grant.revoked_at.is_some() {
            Standing::Revoked
        } else if grant.uses > 0 && (grant.single_use || grant.expires_at > now) {
            Standing::Used
        } else if grant.expires_at <= now {
            Standing::Expired
        } else {
            Standing::Unused
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Standing::Unused => "unused",
            Standing::Used => "used",
            Standing::Expired => "expired",
            Standing::Revoked => "revoked",
        }
    }
}

/// How long it can still be used; `None` if it cannot.
pub fn time_left(grant: &Grant, now: Timestamp) -> Option<SignedDuration> {
    let good = match Standing::of(grant, now) {
        Standing::Unused => true,
        Standing::Used => !grant.single_use,
        Standing::Expired | Standing::Revoked => false,
    };
    good.then(|| grant.expires_at.duration_since(now))
}

pub fn grant(grant: &Grant, now: Timestamp) -> Value {
    json!({
        "jti": grant.jti,
        "tenant": grant.tenant.as_str(),
        "issuer": grant.issuer.as_str(),
        "operator": grant.operator.as_str(),
        "origin_session": grant.origin_session.as_str(),
        "hosts": grant.hosts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "issued_at": grant.issued_at,
        "expires_at": grant.expires_at,
        "single_use": grant.single_use,
        "uses": grant.uses,
        "used_at": grant.used_at,
        "revoked_at": grant.revoked_at,
        "state": Standing::of(grant, now).as_str(),
    })
}

pub fn credential(one: &Summary) -> Value {
    json!({
        "id": one.id.as_str(),
        "domain": one.domain.as_ref().map(Host::as_str),
        "grant_scope": one.grant_scope.map(GrantScope::as_str),
        "created_at": one.created_at,
        "last_refreshed_at": one.last_refreshed_at,
        "last_injected_at": one.last_injected_at,
    })
}

pub fn waiting(one: &PendingRotation) -> Value {
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
                uses,
                used_at: None,
                revoked_at: revoked.then_some(now),
            };
            assert_eq!(Standing::of(&grant, at).as_str(), state);
            assert_eq!(time_left(&grant, at).is_some(), left, "{state}");
        }
    }
}
