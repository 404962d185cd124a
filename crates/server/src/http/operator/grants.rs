//! Lists grants and credentials, issues and revokes grants. A token is returned once, to the operator who issued it.

use super::OperatorState;
use super::guard::{Caller, Form};
use super::login::status;
use axum::Json;
use axum::extract::{Extension, Path, Query, State};
use axum::response::{IntoResponse, Response};
use engine::error::Fault;
use engine::logins::{OperatorContext, grant_view, parse_lifetime};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{Access, Name, Tenant};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use vault::{GrantRequest, GrantedHost, Issuer};

/// The most grants that are listed.
const MAX_LISTED: u32 = 100;

#[derive(Deserialize)]
pub struct TenantQuery {
    #[serde(default)]
    tenant: String,
}

pub async fn list(State(state): State<OperatorState>, Query(query): Query<TenantQuery>) -> Response {
    respond(async {
        let now = Timestamp::now();
        let grants = state.control.logins.grants.list(&tenant(&query.tenant)?, MAX_LISTED).await?;
        Ok(json!({ "grants": grants.iter().map(|grant| grant_view::grant_json(grant, now)).collect::<Vec<_>>() }))
    })
    .await
}

pub async fn credentials(State(state): State<OperatorState>, Query(query): Query<TenantQuery>) -> Response {
    respond(async {
        let (logins, tenant) = (&state.control.logins, tenant(&query.tenant)?);
        let vault = logins.vault()?;
        let credentials = vault.list(&tenant).await?;
        let rotated = logins.store.rotated(&tenant).await?;
        Ok(json!({
            "backend": vault.name(),
            "credentials": credentials.iter().map(grant_view::credential_json).collect::<Vec<_>>(),
            "rotated": rotated.iter().map(grant_view::rotation_json).collect::<Vec<_>>(),
        }))
    })
    .await
}

/// `hosts` is separated by blanks or commas; `access`, `for`, `many`, `tenant` and `origin_session` have defaults. S2's
/// names for them are accepted too.
pub async fn issue(
    State(state): State<OperatorState>,
    Extension(caller): Extension<Caller>,
    Extension(form): Extension<Form>,
) -> Response {
    respond(async {
        let either = |own: &str, of_s2: &str| match form.get(own) {
            "" => form.get(of_s2).to_owned(),
            given => given.to_owned(),
        };
        let tenant = tenant(&either("tenant", "tenant_id"))?;
        let hosts = either("hosts", "allowed_domains");
        let hosts = hosts.split([' ', ',', '\n', '\r']).filter(|host| !host.is_empty());
        let origin = either("origin_session", "origin_session_id");
        let request = GrantRequest {
            tenant: tenant.clone(),
            issuer: Issuer::Operator,
            operator: name(&caller.session.operator)?,
            origin_session: match origin.as_str() {
                "" => name("console")?,
                given => Name::parse(given).map_err(|error| bad(&format!("origin_session: {error}")))?,
            },
            hosts: hosts.map(GrantedHost::parse).collect::<Result<_, _>>()?,
            lifetime: lifetime(form.get("for"))?,
            single_use: match form.get("many") {
                "" | "false" => true,
                "true" => false,
                _ => return Err(bad("many is true or false")),
            },
            access: match form.get("access") {
                "" => Access::default(),
                given => Access::parse(given).ok_or_else(|| bad("access is read, write or full"))?,
            },
        };
        let by = OperatorContext { log: &state.control.log, tenant: &tenant, operator: &caller.session.operator };
        let (token, grant) = state.control.logins.issue(by, request).await?;
        Ok(json!({ "token": token.expose_secret(), "grant": grant_view::grant_json(&grant, Timestamp::now()) }))
    })
    .await
}

pub async fn revoke(
    State(state): State<OperatorState>,
    Extension(caller): Extension<Caller>,
    Extension(form): Extension<Form>,
    Path(id): Path<String>,
) -> Response {
    respond(async {
        let tenant = tenant(form.get("tenant"))?;
        let by =
            OperatorContext { log: &state.control.log, tenant: &tenant, operator: &caller.session.operator };
        let grant = state.control.logins.revoke(by, &id).await?;
        Ok(json!({ "revoked": grant_view::grant_json(&grant, Timestamp::now()) }))
    })
    .await
}

async fn respond(work: impl Future<Output = Result<Value, Fault>>) -> Response {
    match work.await {
        Ok(body) => Json(body).into_response(),
        Err(fault) => (status(&fault), Json(fault)).into_response(),
    }
}

fn tenant(text: &str) -> Result<Tenant, Fault> {
    let text = if text.is_empty() { "default" } else { text };
    Tenant::parse(text).map_err(|error| bad(&format!("tenant: {error}")))
}

fn lifetime(text: &str) -> Result<Option<Duration>, Fault> {
    if text.is_empty() {
        return Ok(None);
    }
    parse_lifetime(text).map(Some).ok_or_else(|| bad("for is a time such as 90s, 15m or 2h"))
}

fn bad(why: &str) -> Fault {
    Fault::outside_sessions(ErrorCode::BadArguments, why)
        .hint("The fields are form and hosts, and optionally access, for, many and tenant.")
}

fn name(text: &str) -> Result<Name, Fault> {
    Name::parse(text).map_err(|error| Fault::caused(ErrorCode::Internal, &error))
}
