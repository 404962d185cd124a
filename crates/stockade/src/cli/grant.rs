//! `stockade grant`: issues, lists and revokes grants, which let an agent sign in to named hosts for a short time.

use crate::cli::authorize::AuthorizedBy;
use crate::cli::output::{BAD, DIM, GOOD, print_progress};
use crate::cli::{Column, Context, Reply, Table};
use anstyle::Style;
use clap::{Args, Subcommand};
use engine::error::Fault;
use engine::logins::grant_view::{self, GrantStatus};
use engine::logins::{Logins, OperatorContext, parse_lifetime};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{Access, Name, Tenant};
use serde_json::json;
use std::time::Duration;
use vault::{Grant, GrantRequest, GrantedHost, Issuer};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade grant issue --host github.com
  stockade grant issue --host site:example.org --host cdn.test --for 2h --many
  stockade grant issue --host bank.test --access read
  stockade grant list
  stockade grant revoke 3f2a9c1e
  stockade grant lifetime 5m --tenant team

What a session may do without asking is its access. read: nothing that changes
something on the site. write: ordinary changes; what deletes, pays, sends to
people or hands out power asks. full: only paying and power ask.

The token goes to standard output and is shown this once. The agent passes it as
`grant`, with `credential_mode: \"operator\"`, when it opens a session.
Once an operator has a password, issuing asks for it; revoking never does.")]
pub struct GrantArgs {
    #[command(subcommand)]
    command: GrantCommand,
    /// The tenant whose agents may use it
    #[arg(long, global = true, default_value = "default", value_parser = Tenant::parse)]
    tenant: Tenant,
    #[command(flatten)]
    operator: AuthorizedBy,
}

#[derive(Debug, Subcommand)]
enum GrantCommand {
    /// Issue a grant and show its token once
    Issue {
        /// github.com for that host alone, site:github.com with all under it
        #[arg(long = "host", value_name = "HOST", required = true, value_parser = GrantedHost::parse)]
        hosts: Vec<GrantedHost>,
        /// How long it can be used: 90s, 15m, 2h [default: the tenant's lifetime]
        #[arg(long = "for", value_name = "TIME", value_parser = parse_lifetime_arg)]
        lifetime: Option<Duration>,
        /// Allow any number of sessions; without it, one
        #[arg(long)]
        many: bool,
        /// What may change on these hosts without asking: read, write or full
        #[arg(long, value_name = "ACCESS", default_value = "write", value_parser = parse_access)]
        access: Access,
    },
    /// List the grants, newest first; never their tokens
    List,
    /// Revoke a grant: no new session can use it
    Revoke {
        /// Its id, or the start of it
        id: String,
    },
    /// Set the default lifetime of a tenant's grants
    Lifetime {
        /// A time such as 90s, 15m or 2h
        #[arg(value_parser = parse_lifetime_arg)]
        time: Duration,
    },
}

/// The most grants that are listed.
const MOST_LISTED: u32 = 100;
/// Characters of an id that are shown; enough to distinguish grants.
const SHORT_ID: usize = 8;

pub(super) fn run(context: &Context, args: GrantArgs) -> Result<Reply, Fault> {
    let (tenant, authorized_by) = (args.tenant, args.operator);
    let operator = &authorized_by.as_operator;
    context.block_on(async {
        let logins = context.open_logins()?;
        match args.command {
            GrantCommand::List => list(&logins, &tenant).await,
            GrantCommand::Issue { hosts, lifetime, many, access } => {
                authorized_by.authorize(context).await?;
                let request = GrantRequest {
                    tenant: tenant.clone(),
                    issuer: Issuer::Operator,
                    operator: parse_name(operator)?,
                    origin_session: parse_name("command-line")?,
                    hosts,
                    lifetime,
                    single_use: !many,
                    access,
                };
                let log = context.open_log()?;
                issue(context, &logins, OperatorContext { log: &log, tenant: &tenant, operator }, request)
                    .await
            }
            GrantCommand::Revoke { id } => {
                let log = context.open_log()?;
                let by = OperatorContext { log: &log, tenant: &tenant, operator: "the command line" };
                let grant = logins.revoke(by, &id).await?;
                let human = format!("Grant {} for {} is revoked.\n", short_id(&grant), format_hosts(&grant));
                Ok(Reply::new(human, json!({ "revoked": grant_view::grant_json(&grant, Timestamp::now()) })))
            }
            GrantCommand::Lifetime { time } => {
                authorized_by.authorize(context).await?;
                let log = context.open_log()?;
                let by = OperatorContext { log: &log, tenant: &tenant, operator };
                logins.set_lifetime(by, time).await?;
                let human = format!("Grants of {tenant} live for {} from now on.\n", format_duration(time));
                Ok(Reply::new(human, json!({ "tenant": tenant.as_str(), "seconds": time.as_secs() })))
            }
        }
    })
}

async fn issue(
    context: &Context,
    logins: &Logins,
    by: OperatorContext<'_>,
    request: GrantRequest,
) -> Result<Reply, Fault> {
    let (token, grant) = logins.issue(by, request).await?;
    let now = Timestamp::now();
    let often = if grant.single_use { "for one session" } else { "for any number of sessions" };
    let time = grant.expires_at.duration_since(grant.issued_at).unsigned_abs();
    // To standard error, so that a script reads the token alone.
    print_progress(
        context,
        &format!(
            "Grant {} {often}, within {}, with {} access, for",
            short_id(&grant),
            format_duration(time),
            grant.access.as_str()
        ),
    );
    for host in &grant.hosts {
        print_progress(context, &format!("  {host}"));
    }
    print_progress(
        context,
        "The token is shown this once. Give it to the agent, which passes it when it opens",
    );
    print_progress(context, "a session, as `grant` with `credential_mode: \"operator\"`.");
    let human = format!("{}\n", token.expose_secret());
    Ok(Reply::new(
        human,
        json!({ "token": token.expose_secret(), "grant": grant_view::grant_json(&grant, now) }),
    ))
}

async fn list(logins: &Logins, tenant: &Tenant) -> Result<Reply, Fault> {
    let (grants, now) = (logins.grants.list(tenant, MOST_LISTED).await?, Timestamp::now());
    let mut table = Table::new(&[
        Column::Whole("ID"),
        Column::Short("HOSTS"),
        Column::Short("ACCESS"),
        Column::Short("STATE"),
        Column::Short("LEFT"),
        Column::Short("ISSUED BY"),
    ]);
    for grant in &grants {
        let standing = GrantStatus::of(grant, now);
        let (state, style) = match standing {
            GrantStatus::Unused => (standing.as_str().to_owned(), GOOD),
            GrantStatus::Used if !grant.single_use => (format!("used {}×", grant.uses), GOOD),
            GrantStatus::Revoked => (standing.as_str().to_owned(), BAD),
            GrantStatus::Used | GrantStatus::Expired => (standing.as_str().to_owned(), DIM),
        };
        let left = grant_view::time_left(grant, now)
            .map_or_else(|| "-".to_owned(), |left| format_duration(left.unsigned_abs()));
        table.add_styled_row([
            (short_id(grant).to_owned(), Style::new()),
            (format_hosts(grant), Style::new()),
            (grant.access.as_str().to_owned(), Style::new()),
            (state, style),
            (left, Style::new()),
            (grant.operator.to_string(), Style::new()),
        ]);
    }
    let mut human = table.render("There are no grants. Issue one: stockade grant issue --host HOST");
    if grants.len() == MOST_LISTED as usize {
        human.push_str(&format!("{DIM}Older ones are not shown.{DIM:#}\n"));
    }
    let all: Vec<_> = grants.iter().map(|grant| grant_view::grant_json(grant, now)).collect();
    Ok(Reply::new(human, json!({ "grants": all })))
}

fn short_id(grant: &Grant) -> &str {
    grant.jti.get(..SHORT_ID).unwrap_or(&grant.jti)
}

fn format_hosts(grant: &Grant) -> String {
    grant.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Formats a duration in its two largest units.
pub fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, 0) => format!("{minutes}m"),
        (0, minutes, seconds) => format!("{minutes}m {seconds}s"),
        (hours, 0, _) => format!("{hours}h"),
        (hours, minutes, _) => format!("{hours}h {minutes}m"),
    }
}

fn parse_lifetime_arg(text: &str) -> Result<Duration, String> {
    parse_lifetime(text).ok_or_else(|| "a time such as 90s, 15m or 2h".to_owned())
}

fn parse_access(text: &str) -> Result<Access, String> {
    Access::parse(text).ok_or_else(|| "read, write or full".to_owned())
}

fn parse_name(text: &str) -> Result<Name, Fault> {
    Name::parse(text).map_err(|error| Fault::caused(ErrorCode::Internal, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_formatted_with_units() {
        for (text, seconds, formatted) in [
            ("90s", 90, "1m 30s"),
            ("15m", 900, "15m"),
            ("2h", 7200, "2h"),
            ("1h 30m", 5400, "1h 30m"),
            ("5s", 5, "5s"),
        ] {
            let time = parse_lifetime_arg(text).unwrap();
            assert_eq!((time.as_secs(), format_duration(time).as_str()), (seconds, formatted), "{text}");
        }
        for bad in ["", "15", "-5m", "soon", "1 day ago"] {
            assert!(parse_lifetime_arg(bad).is_err(), "{bad}");
        }
    }
}
