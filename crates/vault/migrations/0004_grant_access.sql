-- How much a session with this grant does on its sites without asking: read, write or full.
ALTER TABLE grants ADD COLUMN access TEXT NOT NULL DEFAULT 'write';
