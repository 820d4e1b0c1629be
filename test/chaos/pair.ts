/** A primary and its standby, and what nodes behind a pooler know of both. */
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../rig/pgbouncer.ts'
import {
  createDatabase,
  type PostgresServer,
  queryAsAdmin,
  startPostgres,
} from '../rig/postgres.ts'
import { needHaproxy, SETTINGS } from './under-load.ts'

const POOL_SIZE = 10

export interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** The address with both hosts, and with one alone. */
  readonly url: string
  readonly primaryUrl: string
  readonly standbyUrl: string
}

export async function withPair<T>(run: (pair: Pair) => Promise<T>): Promise<T> {
  const primary = await startPostgres(SETTINGS)
  let standby: PostgresServer | undefined
  try {
    const single = await createDatabase(primary.url)
    standby = await primary.openStandby()
    const hosts = [primary, standby].map(({ url }) => new URL(url).host)
    const url = single.replace(hosts[0]!, hosts.join())
    const standbyUrl = single.replace(hosts[0]!, hosts[1]!)
    return await run({ primary, standby, url, primaryUrl: single, standbyUrl })
  } finally {
    await standby?.stop()
    await primary.stop()
  }
}

/** Commits of nodes with `replica` then wait for the standby. */
export async function requireReplica({ primary }: Pick<Pair, 'primary'>): Promise<void> {
  await queryAsAdmin(primary.url, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
  await queryAsAdmin(primary.url, 'SELECT pg_reload_conf()')
}

/** Runs with PgBouncer before the primary; nodes know both servers by their own addresses. */
export function withPooledPair<T>(
  run: (
    pair: Pair & {
      readonly pooler: Pgbouncer
      readonly pooledUrl: string
      readonly environment: Readonly<Record<string, string>>
    },
  ) => Promise<T>,
): Promise<T> {
  return withPair(async (pair) => {
    const pooler = await startPgbouncer(pair.primaryUrl, POOL_SIZE)
    const environment = {
      GATEHOOK_DATABASE_POOLER: 'transaction',
      GATEHOOK_DATABASE_DIRECT_URL: pair.url,
      GATEHOOK_DATABASE_READ_URLS: pair.standbyUrl,
    }
    const pooledUrl = pooler.through(pair.primaryUrl)
    return run({ ...pair, pooler, pooledUrl, environment }).finally(pooler.stop)
  })
}

export const needPooler = () =>
  needHaproxy() ?? (hasPgbouncer ? undefined : 'pgbouncer is not installed')
