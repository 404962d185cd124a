-- The schema of the first release, which recorded its steps in `schema_steps`. Tests build old databases of it.
CREATE TABLE schema_steps (step BIGINT PRIMARY KEY);
-- step 1
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
INSERT INTO schema_steps (step) VALUES (1);
-- step 2
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    kind TEXT NOT NULL,
    tenant TEXT NOT NULL,
    actor TEXT NOT NULL,
    session TEXT NOT NULL,
    session_name TEXT,
    card TEXT NOT NULL,
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    decided_by TEXT,
    door TEXT,
    decided_at BIGINT,
    for_session BIGINT NOT NULL,
    note TEXT,
    outcome TEXT
);

CREATE INDEX approvals_by_state ON approvals (state, asked_at);
INSERT INTO schema_steps (step) VALUES (2);
-- step 3
ALTER TABLE operators ADD COLUMN password TEXT;

CREATE TABLE operator_sessions (
    hash TEXT PRIMARY KEY,
    operator TEXT NOT NULL REFERENCES operators (name),
    created_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL
);

CREATE TABLE milestones (
    name TEXT PRIMARY KEY,
    reached_at BIGINT NOT NULL
);

INSERT INTO milestones (name, reached_at)
    SELECT 'first_start', created_at FROM operators ORDER BY created_at LIMIT 1;
INSERT INTO schema_steps (step) VALUES (3);
