/**
 * The index that finds due deliveries by time. PostgreSQL creates it here in an empty table only;
 * otherwise the started service creates it (`platform/storage/engine-indexes.ts`).
 */
const index = `CREATE INDEX gh_deliveries_due_at ON gh_deliveries (next_attempt_at, webhook_no)
  WHERE state = 'pending'`.replace(/\s+/g, ' ')

export const dueTime = `
{sqlite} ${index};
{postgres} DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM gh_deliveries) THEN ${index}; END IF; END $$;
`
