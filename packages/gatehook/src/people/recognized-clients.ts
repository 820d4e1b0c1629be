/**
 * The addresses and browsers that have signed in to an account (§3.8): failures of others do not
 * lock it for them. Rows hold keyed hashes. A new password makes all clients of the account
 * unknown.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { addressBlock } from '../kernel/address.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Vault } from '../kernel/secret.ts'
import type { Database, Row, Tx } from '../storage/database.ts'
import { fixed, sql } from '../storage/sql.ts'

/** The keys of stored hashes. */
export const CLIENTS_PURPOSE = 'known-clients'
/** Rows for each account; the least recently used one leaves. */
export const CLIENTS_MAX = 20
const DAY_MS = 86_400_000
/** A client that has not signed in for this long is unknown. */
export const CLIENT_LIFE_MS = 90 * DAY_MS
/** `used_at` is written at most this often. */
const REFRESH_MS = DAY_MS

/** What identifies the client of a sign-in. */
export interface SignInClient {
  readonly address: string
  /** The id in the device cookie of a browser (`devices.ts`). */
  readonly device?: string | undefined
}

/** An account as it is stored; undefined stands for a name without an account. */
export interface ClientAccount {
  readonly id: number | string
  readonly password: string
}

/** One account seen by one client. */
export interface Acquaintance {
  /** Identifies account and client when the client is known; the device before the address. */
  readonly known: string | undefined
  /** In the transaction of a successful sign-in: the client is known from now on. */
  remember(tx: Tx): Promise<void>
}

export interface RecognizedClients {
  find(
    realm: string,
    account: ClientAccount | undefined,
    client: SignInClient,
  ): Promise<Acquaintance>
  purge(): Promise<number>
}

interface KnownRow extends Row {
  readonly client: string
  readonly used_at: number
}

const select = fixed(
  `SELECT client, used_at FROM gh_known_clients
   WHERE account = ? AND client IN (?, ?) AND used_at > ?`,
)

async function store(tx: Tx, account: string, client: string, now: number): Promise<void> {
  await tx.run(sql`INSERT INTO gh_known_clients (account, client, used_at)
    VALUES (${account}, ${client}, ${now})
    ON CONFLICT (account, client) DO UPDATE SET used_at = excluded.used_at`)
  await tx.run(sql`DELETE FROM gh_known_clients WHERE account = ${account} AND client NOT IN
    (SELECT client FROM gh_known_clients WHERE account = ${account}
     ORDER BY used_at DESC, client LIMIT ${CLIENTS_MAX})`)
}

type Sought = [key: KeyObject, ...Parameters<RecognizedClients['find']>]

/** The stored forms of an account and of its client. */
function hashesOf(...[key, realm, stored, { address, device }]: Sought) {
  const hashOf = (...parts: readonly (string | number)[]): string =>
    createHmac('sha256', key).update(JSON.stringify(parts)).digest('base64url')
  const account = hashOf('account', realm, stored?.id ?? '', stored?.password ?? '')
  const ofAddress = hashOf(account, 'address', addressBlock(address))
  const ofDevice = device === undefined ? ofAddress : hashOf(account, 'device', device)
  return { account, ofAddress, ofDevice }
}

export function createRecognizedClients(
  db: Database,
  clock: Clock,
  vault: Vault,
): RecognizedClients {
  const keys = vault.macKeys(CLIENTS_PURPOSE)
  const findUnder = async (...[key, realm, stored, client]: Sought): Promise<Acquaintance> => {
    const { account, ofDevice, ofAddress } = hashesOf(key, realm, stored, client)
    const clients = [...new Set([ofDevice, ofAddress])]
    const now = clock.now()
    const values = [account, ofDevice, ofAddress, now - CLIENT_LIFE_MS]
    const rows = await db.all<KnownRow>(select(values))
    const rowOf = (client: string) => rows.find((row) => row.client === client)
    return {
      known: clients.find(rowOf),
      async remember(tx) {
        for (const client of clients) {
          const usedAt = rowOf(client)?.used_at
          if (usedAt === undefined || usedAt <= now - REFRESH_MS) {
            await store(tx, account, client, now)
          }
        }
      },
    }
  }
  return {
    async find(...sought) {
      const [current, ...older] = keys.accepted
      const acquaintance = await findUnder(current!, ...sought)
      // A client that signed in before the master secret was rotated is stored under an older key.
      let { known } = acquaintance
      for (const key of older) known ??= (await findUnder(key, ...sought)).known
      return { ...acquaintance, known }
    },
    purge: () =>
      db.write((tx) =>
        tx.run(sql`DELETE FROM gh_known_clients WHERE used_at <= ${clock.now() - CLIENT_LIFE_MS}`),
      ),
  }
}
