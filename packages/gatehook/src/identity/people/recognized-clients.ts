/**
 * Recognizes the addresses and browsers that have signed in to an account (§3.8): failures of other
 * clients do not lock the account for them. Rows contain keyed hashes. A new password makes all
 * clients of the account unrecognized.
 */

import { createHmac, type KeyObject } from 'node:crypto'
import { addressBlock } from '../../kernel/address.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Vault } from '../../kernel/secret.ts'
import type { Database, Row, Tx } from '../../platform/storage/database.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { recognizedClients } from './tables.ts'

/** The purpose of the keys that hash accounts and clients. */
export const CLIENTS_PURPOSE = 'recognized-clients'
/** Rows for each account; the least recently used row is evicted. */
const MAX_CLIENTS = 20
const DAY_MS = 86_400_000
/** A client is unrecognized after this time without a sign-in. */
export const CLIENT_LIFE_MS = 90 * DAY_MS
/** `used_at` is written at most this often. */
const REFRESH_MS = DAY_MS

export interface SignInClient {
  readonly address: string
  /** The id in the device cookie of a browser (`devices.ts`). */
  readonly device?: string | undefined
  /** The id of the request, for the audit trail. */
  readonly requestId?: string | undefined
}

/** A stored account. */
export interface ClientAccount {
  readonly id: number | string
  readonly password: string
}

interface ClientRecognition {
  /** Identifies account and client; undefined for an unrecognized client. */
  readonly clientKey: string | undefined
  /** Stores the client, in the transaction of a successful sign-in. */
  remember(tx: Tx): Promise<void>
}

export interface RecognizedClients {
  /** Looks up a client; `account` is undefined for a name without an account. */
  find(
    realm: string,
    account: ClientAccount | undefined,
    client: SignInClient,
  ): Promise<ClientRecognition>
  /** Deletes expired clients and returns their number. */
  purge(): Promise<number>
}

interface ClientUseRow extends Row {
  readonly client: string
  readonly used_at: number
}

const selectClients = prepareStatement(
  `SELECT client, used_at FROM gh_recognized_clients
   WHERE account = ? AND client IN (?, ?) AND used_at > ?`,
)

async function storeClient(tx: Tx, account: string, client: string, now: number): Promise<void> {
  await tx.run(sql`INSERT INTO gh_recognized_clients (account, client, used_at)
    VALUES (${account}, ${client}, ${now})
    ON CONFLICT (account, client) DO UPDATE SET used_at = excluded.used_at`)
  await tx.run(sql`DELETE FROM gh_recognized_clients WHERE account = ${account} AND client NOT IN
    (SELECT client FROM gh_recognized_clients WHERE account = ${account}
     ORDER BY used_at DESC, client LIMIT ${MAX_CLIENTS})`)
}

export function createRecognizedClients(
  db: Database,
  clock: Clock,
  vault: Vault,
): RecognizedClients {
  const keys = vault.macKeys(CLIENTS_PURPOSE)
  const findUnderKey = async (
    key: KeyObject,
    realm: string,
    stored: ClientAccount | undefined,
    { address, device }: SignInClient,
  ): Promise<ClientRecognition> => {
    const hashOf = (...parts: readonly (string | number)[]): string =>
      createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
    const account = hashOf('account', realm, stored?.id ?? '', stored?.password ?? '')
    const addressHash = hashOf(account, 'address', addressBlock(address))
    const deviceHash = device === undefined ? addressHash : hashOf(account, 'device', device)
    // The device takes precedence over the address.
    const clients = [...new Set([deviceHash, addressHash])]
    const now = clock.now()
    const rows = await db.all<ClientUseRow>(
      selectClients([account, deviceHash, addressHash, now - CLIENT_LIFE_MS]),
    )
    const rowOf = (client: string) => rows.find((row) => row.client === client)
    return {
      clientKey: clients.find(rowOf),
      async remember(tx) {
        for (const client of clients) {
          const usedAt = rowOf(client)?.used_at
          if (usedAt === undefined || usedAt <= now - REFRESH_MS) {
            await storeClient(tx, account, client, now)
          }
        }
      },
    }
  }
  return {
    async find(realm, account, client) {
      const [currentKey, ...olderKeys] = keys.accepted
      const recognition = await findUnderKey(currentKey!, realm, account, client)
      // Clients from before a rotation of the master secret are stored under an older key.
      let { clientKey } = recognition
      for (const key of olderKeys) {
        clientKey ??= (await findUnderKey(key, realm, account, client)).clientKey
      }
      return { ...recognition, clientKey }
    },
    purge: () => purgeExpired(db, [recognizedClients], clock.now() - CLIENT_LIFE_MS),
  }
}
