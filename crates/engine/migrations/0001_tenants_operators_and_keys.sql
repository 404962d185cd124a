-- Text, bigint and no other types: SQLite and PostgreSQL understand them alike. Times are milliseconds since 1970.
CREATE TABLE tenants (
    name TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);

CREATE TABLE actors (
    tenant TEXT NOT NULL REFERENCES tenants (name),
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE TABLE operators (
    name TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL
);

CREATE TABLE agent_keys (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    actor TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    FOREIGN KEY (tenant, actor) REFERENCES actors (tenant, name)
);

CREATE TABLE operator_links (
    hash TEXT PRIMARY KEY,
    operator TEXT NOT NULL REFERENCES operators (name),
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
