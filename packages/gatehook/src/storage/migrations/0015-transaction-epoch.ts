/**
 * Positions of events and revocations contain transaction ids, which begin anew on another server.
 * On PostgreSQL they are counted from an epoch, which a start on a restored database moves
 * (`transaction-epoch.ts`).
 */
const EPOCH = 'RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE'
const TXID = '(pg_current_xact_id()::text::bigint + gh_txid_epoch())'

export const transactionEpoch = `
{postgres} CREATE FUNCTION gh_txid_epoch() ${EPOCH} AS 'SELECT 0::bigint';
{postgres} ALTER TABLE gh_events ALTER COLUMN txid SET DEFAULT ${TXID};
{postgres} ALTER TABLE gh_revocations ALTER COLUMN txid SET DEFAULT ${TXID};
`
