/**
 * Reads from standbys of PostgreSQL (`GATEHOOK_DATABASE_READ_URLS`). A position is an address in
 * the log of the primary: a standby that has replayed it contains every commit before it. A read
 * names the position that it needs; no standby that has replayed it means a read from the primary.
 * While the primary is away, a standby serves all reads for a bounded time (decision 0057).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'
import type { CommitPosition } from './commit-position.ts'
import type { Database, Reader, Statement } from './database.ts'
import { parseLogPosition } from './log-position.ts'
import {
  isConnectionLost,
  isServerFull,
  isStandby,
  isUnopened,
  isUnsupported,
} from './postgres-errors.ts'
import {
  createPrimaryContact,
  type PrimaryContact,
  type PrimaryPosition,
} from './primary-contact.ts'
import { isFull, type PrimaryFault } from './primary-fault.ts'
import { isStorageUnavailable } from './storage-failure.ts'
import { storageUnavailable } from './transaction.ts'

/** A standby serves reads while it contains all commits that are older than this. */
const LAG_MAX_MS = 10_000
/** The least time between two comparisons of the standbys with the primary. */
const COMPARE_MS = 100
/** The time between comparisons without a read or a write. */
const IDLE_COMPARE_MS = 2_000
/** A standby that failed is left out for this time. */
const FAILED_MS = 1_000

export interface ReplicaReads {
  /**
   * Runs reads on a standby that has replayed `after`, or on the primary. Returns the result and a
   * position that includes everything that it may have read or written.
   */
  run<T>(after: bigint, body: () => Promise<T>): Promise<PositionedResult<T>>
  /**
   * Runs a request that writes. The position is that of its last commit; of the primary if it has
   * committed nothing; undefined if that cannot be read.
   */
  runWrite<T>(body: () => Promise<T>): Promise<PositionedResult<T, bigint | undefined>>
  /** Why the primary is away, so that nothing can be stored now; undefined: it is not. */
  primaryFault(): PrimaryFault | undefined
}

interface PositionedResult<T, P = bigint> {
  readonly result: T
  readonly position: P
}

interface ReplicaOptions {
  /** Notes its commits in `commits`. */
  readonly primary: Database
  readonly commits: Pick<CommitPosition, 'last'>
  /** Opens one standby each. */
  readonly open: readonly (() => Promise<Database>)[]
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
  /** Standbys serve reads for this time after the last contact with the primary. */
  readonly outageMs: number
}

/** The reads and writes of one request. */
interface RequestAccess {
  /** Serves its reads; undefined: the primary, or a standby while it is away. */
  readonly reader: Database | undefined
  hasWritten: boolean
  /** A position that includes its commits. */
  committed?: bigint
}

const ofPostgres = (text: string): Statement => ({ sql: '', text, values: [] })

/** Whether no server of the address of the primary accepts writes, or a connection. */
const isPrimaryLost = (error: unknown, primary: Database): boolean => {
  const cause = error instanceof Failure ? error.detail : error
  if (isServerFull(cause)) return isFull(primary.fault())
  return isUnopened(cause) || isConnectionLost(cause) || isStandby(cause)
}

/** Returns the database, whose reads may use a standby, and `run`. */
export function withReplicas(options: ReplicaOptions): {
  readonly db: Database
  readonly replicas: ReplicaReads
} {
  const { primary, commits } = options
  const inside = new AsyncLocalStorage<RequestAccess>()
  const replicas = options.open.map((open) => createReplica(open, options))
  const contact = createPrimaryContact(options)
  const refresh = createComparison(replicas, contact, options)
  const timer = setInterval(refresh, IDLE_COMPARE_MS).unref()
  let lastIndex = 0
  const take = (isUsable: (replica: Replica) => boolean) => {
    const usable = replicas.filter(isUsable)
    return usable[++lastIndex % usable.length]
  }
  const choose = (after: bigint) => {
    const replica = take(({ hasReplayed, isFresh }) => hasReplayed(after) && isFresh())
    refresh()
    return replica
  }
  /** Returns a standby while the primary is away. */
  const chooseInOutage = (after: bigint) => {
    const least = contact.outagePosition()
    if (least === undefined) return undefined
    refresh()
    return take((replica) => replica.hasReplayed(after > least ? after : least))
  }
  let polling: Promise<unknown> | undefined
  /** Reads the positions of all standbys; requests at one moment share a run. */
  const poll = () =>
    (polling ??= Promise.all(replicas.map((replica) => replica.poll())).finally(() => {
      polling = undefined
    }))
  /** Runs `read` on the primary; on a standby with the position `after` while it is away. */
  const readFromPrimary = async <T>(
    after: bigint,
    read: (replica: Replica | undefined) => Promise<T>,
  ): Promise<T> => {
    const standby = chooseInOutage(after)
    if (standby) return readFrom(standby, read)
    try {
      return await read(undefined)
    } catch (error) {
      if (!isPrimaryLost(error, primary)) throw error
      contact.lose()
      // The last comparison may have waited for the primary, too.
      await poll()
      const replica = chooseInOutage(after)
      if (!replica) throw error
      return readFrom(replica, read)
    }
  }
  const readFrom = async <T>(replica: Replica, read: (replica: Replica) => Promise<T>) => {
    try {
      return await read(replica)
    } catch (error) {
      if (isUnsupported(error)) throw storageUnavailable(error)
      if (isStorageUnavailable(error)) replica.fail(error)
      throw error
    }
  }
  const read = <T>(body: (db: Database) => Promise<T>): Promise<T> => {
    const reader = inside.getStore()?.reader
    if (reader) return body(reader)
    return readFromPrimary(0n, (replica) => body(replica?.db() ?? primary))
  }
  const position = () => readPosition(primary, PRIMARY_POSITION)
  const runOnPrimary = <T>(after: bigint, body: () => Promise<T>) =>
    readFromPrimary(after, async (replica) => {
      const request = { reader: replica?.db() ?? primary, hasWritten: false }
      const result = await inside.run(request, body)
      return { result, position: await (replica?.position ?? position)() }
    })
  return {
    db: {
      ...primary,
      all: (statement) => read((db) => db.all(statement)),
      get: (statement) => read((db) => db.get(statement)),
      arrays: (statement) => read((db) => db.arrays(statement)),
      snapshot: (body, of) => read((db) => db.snapshot(body, of)),
      columns: (table, tx) => read((db) => db.columns(table, tx)),
      longRead: (customer, body) => read((db) => db.longRead(customer, body)),
      async write(change, of) {
        const request = inside.getStore()
        if (request) request.hasWritten = true
        try {
          const result = await primary.write(change, of)
          if (request) request.committed = commits.last()
          return result
        } catch (error) {
          if (isPrimaryLost(error, primary)) contact.lose()
          throw error
        } finally {
          refresh()
        }
      },
      async close() {
        clearInterval(timer)
        await Promise.all([primary.close(), ...replicas.map((replica) => replica.close())])
      },
    },
    replicas: {
      primaryFault: () => primary.fault() ?? (contact.isLost() ? 'lost' : undefined),
      async run(after, body) {
        const replica = choose(after)
        if (!replica) return runOnPrimary(after, body)
        const request: RequestAccess = { reader: replica.db(), hasWritten: false }
        try {
          const result = await inside.run(request, body)
          const [read, { committed = 0n }] = [await replica.position(), request]
          return { result, position: read > committed ? read : committed }
        } catch (error) {
          const isOfReplica = isUnsupported(error)
          if (request.hasWritten || !(isOfReplica || isStorageUnavailable(error))) throw error
          if (!isOfReplica) replica.fail(error)
          return runOnPrimary(after, body)
        }
      },
      async runWrite(body) {
        const request: RequestAccess = { reader: undefined, hasWritten: false }
        const result = await inside.run(request, body)
        return { result, position: request.committed ?? (await position().catch(() => undefined)) }
      },
    },
  }
}

const PRIMARY_POSITION = ofPostgres('SELECT pg_current_wal_insert_lsn()::text AS position')
/** `flushed` contains every acknowledged commit, and a crash of the primary loses nothing of it. */
const PRIMARY_POSITIONS = ofPostgres(`SELECT pg_current_wal_insert_lsn()::text AS position,
  pg_current_wal_flush_lsn()::text AS flushed`)
/** Not a fault where the addresses name all hosts of a cluster. */
const NO_STANDBY = 'the server of a replica is no standby'

/** Null on a server that is no longer a standby. */
const REPLICA_POSITION = ofPostgres(`SELECT CASE WHEN pg_is_in_recovery()
  THEN pg_last_wal_replay_lsn()::text END AS position`)

async function readPosition(reader: Reader, statement: Statement): Promise<bigint> {
  const row = await reader.get<{ position: string | null }>(statement)
  const position = parseLogPosition(row?.position ?? '')
  if (position === undefined) throw storageUnavailable(NO_STANDBY)
  return position
}

type Replica = ReturnType<typeof createReplica>

function createReplica(
  open: () => Promise<Database>,
  { clock, log }: Pick<ReplicaOptions, 'clock' | 'log'>,
) {
  const later = openLater(open)
  let replayed = -1n
  /** The standby contains all commits that the primary had at this instant. */
  let freshMs = Number.NEGATIVE_INFINITY
  /** A position of the primary, and when it was current. */
  let target: { readonly position: bigint; readonly atMs: number } | undefined
  let failedUntilMs = Number.NEGATIVE_INFINITY
  let hasFailed = false
  const fail = (error: unknown) => {
    if (later.isClosing()) return
    replayed = -1n
    failedUntilMs = clock.elapsedMs() + FAILED_MS
    const isExpected = error instanceof Failure && error.detail === NO_STANDBY
    if (!hasFailed && !isExpected)
      log.warn({ err: error }, 'a replica cannot be read; others serve its reads')
    hasFailed = !isExpected
  }
  const position = async () => {
    const current = await readPosition(await later.ready(), REPLICA_POSITION)
    if (current > replayed) replayed = current
    if (hasFailed) log.info('a replica can be read again')
    hasFailed = false
    return current
  }
  return {
    db: later.db,
    fail,
    position,
    hasReplayed: (after: bigint) => replayed >= 0n && replayed >= after,
    isFresh: () => clock.elapsedMs() - freshMs <= LAG_MAX_MS,
    /** Reads the position without a comparison. */
    async poll() {
      if (clock.elapsedMs() >= failedUntilMs) await position().catch(fail)
    },
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
    close: later.close,
  }
}

/** A database that its first use opens; one that could not be opened is opened again. */
function openLater(open: () => Promise<Database>) {
  let opening: Promise<Database> | undefined
  let database: Database | undefined
  let isClosing = false
  return {
    /** The database, after `ready`. */
    db: () => database!,
    isClosing: () => isClosing,
    async ready(): Promise<Database> {
      // A comparison may still run then.
      if (isClosing) throw storageUnavailable('the replicas are closed')
      return (opening ??= open().then(
        (db) => (database = db),
        (error) => {
          opening = undefined
          throw error
        },
      ))
    },
    async close() {
      isClosing = true
      await opening?.then((db) => db.close()).catch(() => undefined)
    },
  }
}

/** Returns a function that compares the standbys with the primary in the background. */
function createComparison(
  replicas: readonly Replica[],
  contact: PrimaryContact,
  { primary, clock, log }: ReplicaOptions,
): () => void {
  let isRunning = false
  let lastMs = Number.NEGATIVE_INFINITY
  const compare = async () => {
    const atMs = clock.elapsedMs()
    try {
      const current = await readPositions(primary)
      contact.store(current, atMs)
      await Promise.all(replicas.map((replica) => replica.compare(current.position, atMs)))
    } catch (error) {
      if (isPrimaryLost(error, primary)) contact.lose()
      await Promise.all(replicas.map((replica) => replica.poll()))
      throw error
    }
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

async function readPositions(primary: Reader): Promise<PrimaryPosition> {
  const row = await primary.get<{ position: string; flushed: string }>(PRIMARY_POSITIONS)
  const position = parseLogPosition(row!.position)!
  return { position, flushed: parseLogPosition(row!.flushed)! }
}
