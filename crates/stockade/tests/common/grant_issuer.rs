//! An operator who stores logins and grants them.

use super::Home;
use jiff::Timestamp;
use policy::{Name, Tenant};
use serde_json::Value;
use std::time::Duration;
use vault::{Database, Grant, GrantRequest, GrantedHost, Grants, Issuer};

pub struct GrantIssuer {
    runtime: tokio::runtime::Runtime,
    grants: Grants,
}

impl GrantIssuer {
    pub fn of(home: &Home) -> GrantIssuer {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        // As every command does it: the folder is made.
        drop(engine::state::State::open(&home.state()).unwrap());
        let database = runtime.block_on(async { Database::sqlite(&home.state().join("vault.db")).unwrap() });
        GrantIssuer { runtime, grants: Grants::new(database) }
    }

    pub fn in_postgres(url: &str) -> GrantIssuer {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let database = runtime.block_on(async { Database::postgres(url).unwrap() });
        GrantIssuer { runtime, grants: Grants::new(database) }
    }

    pub fn request(hosts: &[&str]) -> GrantRequest {
        GrantRequest {
            tenant: Tenant::parse("default").unwrap(),
            issuer: Issuer::Operator,
            operator: Name::parse("operator").unwrap(),
            origin_session: Name::parse("tests").unwrap(),
            hosts: hosts.iter().map(|host| GrantedHost::parse(host).unwrap()).collect(),
            lifetime: None,
            single_use: true,
            access: policy::Access::Write,
        }
    }

    /// A token, and what is known of it.
    pub fn issue(&self, request: GrantRequest) -> (String, Grant) {
        let issued = self.runtime.block_on(self.grants.issue(request, Timestamp::now())).unwrap();
        (issued.0.expose_secret().to_owned(), issued.1)
    }

    pub fn token(&self, hosts: &[&str]) -> String {
        self.issue(GrantIssuer::request(hosts)).0
    }

    /// One whose time was over before it began.
    pub fn expired(&self, hosts: &[&str]) -> String {
        let request = GrantRequest { lifetime: Some(Duration::from_secs(1)), ..GrantIssuer::request(hosts) };
        let long_ago = Timestamp::now() - Duration::from_secs(60);
        self.runtime.block_on(self.grants.issue(request, long_ago)).unwrap().0.expose_secret().to_owned()
    }

    pub fn revoke(&self, grant: &Grant) {
        self.runtime.block_on(self.grants.revoke(&grant.tenant, &grant.jti, Timestamp::now())).unwrap();
    }
}

impl Home {
    /// Stores a credential, as an operator does.
    pub fn store_credential(&self, document: &Value) {
        let (code, reply) = self.with_input(&["credential", "put"], &document.to_string());
        assert_eq!(code, 0, "{reply}");
    }
}
