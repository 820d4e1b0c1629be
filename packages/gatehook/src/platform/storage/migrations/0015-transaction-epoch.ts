/**
 * The epoch that PostgreSQL adds to transaction ids in positions of events and revocations.
 * Transaction ids start again at a lower number on another server, so a start on a restored
 * database raises the epoch (`transaction-epoch.ts`).
 */
const EPOCH = 'RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE'
const TXID = '(pg_current_xact_id()::text::bigint + gh_txid_epoch())'

export const transactionEpoch = `
{postgres} CREATE FUNCTION gh_txid_epoch() ${EPOCH} AS 'SELECT 0::bigint';
{postgres} ALTER TABLE gh_events ALTER COLUMN txid SET DEFAULT ${TXID};
{postgres} ALTER TABLE gh_revocations ALTER COLUMN txid SET DEFAULT ${TXID};
`
