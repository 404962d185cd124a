-- Where a placeholder left the browser and was not replaced: an operator may allow the place.
CREATE TABLE placeholder_places (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    place TEXT NOT NULL,
    seen_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, id, kind, place)
);
