-- Text, bigint and no other types: SQLite and PostgreSQL understand them alike. Sealed bytes are base64.
CREATE TABLE credentials (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    domain TEXT NOT NULL,
    grant_scope TEXT NOT NULL,
    sealed TEXT NOT NULL,
    data_key TEXT NOT NULL,
    master_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_refreshed_at BIGINT,
    last_injected_at BIGINT,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE vault_state (
    one BIGINT PRIMARY KEY,
    master_key TEXT NOT NULL,
    writes BIGINT NOT NULL
);

CREATE TABLE grants (
    jti TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    issuer TEXT NOT NULL,
    operator TEXT NOT NULL,
    origin_session TEXT NOT NULL,
    hosts TEXT NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    single_use BIGINT NOT NULL,
    uses BIGINT NOT NULL,
    used_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE grant_lifetimes (
    tenant TEXT PRIMARY KEY,
    seconds BIGINT NOT NULL
);
