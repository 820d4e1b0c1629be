/**
 * Reads from standbys of PostgreSQL (`GATEHOOK_DATABASE_READ_URLS`). A position is an address in
 * the log of the primary: a standby that has replayed it contains every commit before it. A read
 * names the position that it needs; no standby that has replayed it means a read from the primary.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import type { Database, Reader, Statement } from './database.ts'
import { parseLogPosition } from './log-position.ts'
import { storageUnavailable } from './transaction.ts'

/** A standby serves reads while it contains all commits that are older than this. */
const LAG_MAX_MS = 10_000
/** The least time between two comparisons of the standbys with the primary. */
const COMPARE_MS = 100
/** A standby that failed is left out for this time. */
const FAILED_MS = 1_000

export interface ReplicaReads {
  /**
   * Runs reads on a standby that has replayed `after`, or on the primary. Returns the result and a
   * position that includes everything that it may have read or written.
   */
  run<T>(after: bigint, body: () => Promise<T>): Promise<{ result: T; position: bigint }>
  /** Returns the current position of the primary. */
  position(): Promise<bigint>
}

interface ReplicaOptions {
  readonly primary: Database
  /** Opens one standby each. */
  readonly open: readonly (() => Promise<Database>)[]
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

/** The reads of one request. */
interface RequestReads {
  /** Undefined: the primary. */
  readonly replica: Database | undefined
  hasWritten: boolean
}

const ofPostgres = (text: string): Statement => ({ sql: '', text, values: [] })

/** Returns the database, whose reads inside `run` may use a standby, and `run`. */
export function withReplicas(options: ReplicaOptions): {
  readonly db: Database
  readonly replicas: ReplicaReads
} {
  const { primary } = options
  const inside = new AsyncLocalStorage<RequestReads>()
  const source = (): Database => inside.getStore()?.replica ?? primary
  const replicas = options.open.map((open) => createReplica(open, options))
  const refresh = createComparison(replicas, options)
  let lastIndex = 0
  const choose = (after: bigint) => {
    const usable = replicas.filter((replica) => replica.hasReplayed(after))
    refresh()
    return usable[++lastIndex % usable.length]
  }
  const position = () => readPosition(primary, PRIMARY_POSITION)
  const runOnPrimary = async <T>(body: () => Promise<T>) => {
    const result = await inside.run({ replica: undefined, hasWritten: false }, body)
    return { result, position: await position() }
  }
  return {
    db: {
      ...primary,
      all: (statement) => source().all(statement),
      get: (statement) => source().get(statement),
      arrays: (statement) => source().arrays(statement),
      snapshot: (read, of) => source().snapshot(read, of),
      longRead: (customer, read) => source().longRead(customer, read),
      write(change, of) {
        const request = inside.getStore()
        if (request) request.hasWritten = true
        return primary.write(change, of)
      },
      async close() {
        await Promise.all([primary.close(), ...replicas.map((replica) => replica.close())])
      },
    },
    replicas: {
      position,
      async run(after, body) {
        const replica = choose(after)
        if (!replica) return runOnPrimary(body)
        const request: RequestReads = { replica: replica.db(), hasWritten: false }
        try {
          const result = await inside.run(request, body)
          const read = request.hasWritten ? position() : replica.position()
          return { result, position: await read }
        } catch (error) {
          const isUnavailable = error instanceof Failure && error.code === 'storage_unavailable'
          if (!isUnavailable || request.hasWritten) throw error
          replica.fail(error)
          return runOnPrimary(body)
        }
      },
    },
  }
}

const PRIMARY_POSITION = ofPostgres('SELECT pg_current_wal_insert_lsn()::text AS position')
/** Null on a server that is no longer a standby. */
const REPLICA_POSITION = ofPostgres(`SELECT CASE WHEN pg_is_in_recovery()
  THEN pg_last_wal_replay_lsn()::text END AS position`)

async function readPosition(reader: Reader, statement: Statement): Promise<bigint> {
  const row = await reader.get<{ position: string | null }>(statement)
  const position = parseLogPosition(row?.position ?? '')
  if (position === undefined) throw storageUnavailable('a replica is not a standby')
  return position
}

type Replica = ReturnType<typeof createReplica>

function createReplica(
  open: () => Promise<Database>,
  { clock, log }: Pick<ReplicaOptions, 'clock' | 'log'>,
) {
  let opening: Promise<Database> | undefined
  let database: Database | undefined
  let replayed = -1n
  /** The standby contains all commits that the primary had at this instant. */
  let freshMs = Number.NEGATIVE_INFINITY
  /** A position of the primary, and when it was current. */
  let target: { readonly position: bigint; readonly atMs: number } | undefined
  let failedUntilMs = Number.NEGATIVE_INFINITY
  const fail = (error: unknown) => {
    replayed = -1n
    failedUntilMs = clock.elapsedMs() + FAILED_MS
    log.warn({ err: error }, 'a replica cannot be read; the primary serves its reads')
  }
  const ready = () =>
    (opening ??= open().then(
      (db) => (database = db),
      (error) => {
        opening = undefined
        throw error
      },
    ))
  const position = async () => {
    const current = await readPosition(await ready(), REPLICA_POSITION)
    if (current > replayed) replayed = current
    return current
  }
  return {
    db: () => database!,
    fail,
    position,
    hasReplayed: (after: bigint) => replayed >= after && clock.elapsedMs() - freshMs <= LAG_MAX_MS,
    /** Compares the standby with a position of the primary that was current at `atMs`. */
    async compare(primaryPosition: bigint, atMs: number) {
      if (clock.elapsedMs() < failedUntilMs) return
      try {
        const current = await position()
        if (current >= primaryPosition) freshMs = atMs
        else if (target && current >= target.position) freshMs = target.atMs
        if (!target || current >= target.position) target = { position: primaryPosition, atMs }
      } catch (error) {
        fail(error)
      }
    },
    async close() {
      await opening?.then((db) => db.close()).catch(() => undefined)
    },
  }
}

/** Returns a function that compares the standbys with the primary in the background. */
function createComparison(
  replicas: readonly Replica[],
  { primary, clock, log }: ReplicaOptions,
): () => void {
  let isRunning = false
  let lastMs = Number.NEGATIVE_INFINITY
  const compare = async () => {
    const atMs = clock.elapsedMs()
    const position = await readPosition(primary, PRIMARY_POSITION)
    await Promise.all(replicas.map((replica) => replica.compare(position, atMs)))
  }
  return () => {
    if (isRunning || clock.elapsedMs() - lastMs < COMPARE_MS) return
    isRunning = true
    lastMs = clock.elapsedMs()
    compare()
      .catch((error: unknown) => log.debug({ err: error }, 'replicas were not compared'))
      .finally(() => {
        isRunning = false
      })
  }
}
