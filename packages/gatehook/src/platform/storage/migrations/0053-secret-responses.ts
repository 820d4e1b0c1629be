/**
 * Marks the idempotency records whose response contains a secret, which are purged after an hour.
 * PostgreSQL has an index of them; in a table with rows, its conversion creates the index
 * (`platform/storage/partitions/conversion.ts`).
 */
const index = `CREATE INDEX gh_idempotency_secret ON gh_idempotency (expires_at)
  WHERE secret = 1`.replace(/\s+/g, ' ')

export const secretResponses = `
ALTER TABLE gh_idempotency ADD COLUMN secret {int};
{postgres} DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM gh_idempotency) THEN ${index}; END IF; END $$;
`
