-- Operators log in with a password. The first start is a milestone of its own: a database with operators has had it.
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
