-- Cookies that a site rotated, until an operator accepts them.
CREATE TABLE rotated (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    sealed TEXT NOT NULL,
    data_key TEXT NOT NULL,
    master_key TEXT NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id)
);
