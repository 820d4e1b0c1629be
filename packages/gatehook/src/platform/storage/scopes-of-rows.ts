/**
 * The tables whose rows have the scope of the key, client or registration that they belong to.
 * Earlier releases stored those rows without it. Migration 55 adds the column, a trigger for rows
 * of a previous release that runs beside this one, and `fillScopes` fills existing rows.
 */
import type { Database } from './database.ts'
import { prepareStatement } from './sql.ts'

interface OwnedTable {
  readonly table: string
  /** The primary key. */
  readonly key: string
  /** The column that identifies the owner. */
  readonly column: string
  readonly owner: string
  /** The column of the owner's table that identifies it. */
  readonly ownerKey: string
}

const WEBHOOK = { column: 'webhook_no', owner: 'gh_webhooks', ownerKey: 'no' } as const
const KEY = { column: 'key_id', owner: 'gh_api_keys', ownerKey: 'id' } as const
const CLIENT = { column: 'client_id', owner: 'gh_clients', ownerKey: 'client_id' } as const

const ownedTables: readonly OwnedTable[] = [
  { table: 'gh_api_key_secrets', key: 'hash', ...KEY },
  { table: 'gh_client_secrets', key: 'hash', ...CLIENT },
  { table: 'gh_webhook_secrets', key: 'no', ...WEBHOOK },
  { table: 'gh_webhook_replays', key: 'webhook_no', ...WEBHOOK },
  { table: 'gh_webhook_outcomes', key: 'webhook_no', ...WEBHOOK },
]

/** Returns SQL for the scope of the owner of a row. */
const ownerScope = ({ table, owner, ownerKey, column }: OwnedTable): string =>
  `(SELECT scope FROM ${owner} WHERE ${ownerKey} = ${table}.${column})`

const BATCH_ROWS = 1_000

/** Fills the scopes of rows of earlier releases, in transactions of 1,000 rows. */
export async function fillScopes(db: Database): Promise<void> {
  for (const owned of ownedTables) {
    const { table, key } = owned
    const without = `SELECT ${key} FROM ${table} WHERE scope IS NULL LIMIT`
    // The scope of a row without an owner is 0, that of no customer.
    const batch = prepareStatement(`UPDATE ${table} SET scope = COALESCE(${ownerScope(owned)}, 0)
      WHERE ${key} IN (${without} ${BATCH_ROWS})`)
    const first = prepareStatement(`${without} 1`)
    while (await db.get(first([]))) await db.write((tx) => tx.run(batch([])))
  }
}
