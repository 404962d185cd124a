-- Questions to people, and how they ended.
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
