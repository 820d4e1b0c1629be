/**
 * Reads the request log as JSON: pages and single requests, of the installation or of one customer
 * and mode. `console-api.ts` serves it to operators, `pages/portal/` to customers.
 */
import { findLatestAudited } from '../../history/audit/reader.ts'
import { readKeyHints } from '../../identity/access/key-reader.ts'
import type { RightsOf } from '../../identity/access/stored-data.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Mode, Principal } from '../../kernel/principal.ts'
import type { MacKeys } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import { createTurns } from '../../kernel/turns.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { RecorderFigures, RequestLogMode } from './recorder.ts'
import {
  DEFAULT_LIMIT,
  type RequestFilter,
  type RequestQuery,
  type RequestSelection,
  requestQueryOf,
} from './request-filters.ts'
import { findRequest, readRequestPage } from './request-list.ts'
import type { RequestRecord } from './request-record.ts'
import {
  type GateSources,
  readableDetail,
  readableItem,
  requestDetail,
  requestItem,
} from './request-view.ts'
import type { MonitoringStore } from './store.ts'

/** Reads of the log that run at once: a thread serves one after the other. */
const READS_AT_ONCE = 4
/** Those of one customer, or of one operator. */
const READS_OF_READER = 2

export interface RequestReaderOptions extends GateSources {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly store: MonitoringStore
  /** The engine's database, for the hints of keys. */
  readonly db: Reader
  readonly cursorKeys: MacKeys
  readonly mode: RequestLogMode
  readonly rightsOf: RightsOf
  readonly figures: () => RecorderFigures
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
}

/** The requests of one customer and mode, without those of its portal and of operators. */
export interface LogOwner {
  readonly customer: string
  readonly mode: Mode
}

export type RequestReader = ReturnType<typeof createRequestReader>

export function createRequestReader(options: RequestReaderOptions) {
  const { store, db, cursorKeys, flush, rightsOf, clock } = options
  const inTurn = createTurns(READS_AT_ONCE, { perKey: READS_OF_READER, clock })
  const readerKey = ({ kind, subject }: Principal, owner: LogOwner | undefined) =>
    owner ? `customer ${owner.customer}` : `${kind} ${subject}`
  const requireLog = () => {
    if (options.mode !== 'off') return
    throw new Failure('not_found', 'The request log is off. Set GATEHOOK_REQUEST_LOG=all.')
  }
  return {
    /** Returns a page as `reader` may read it. Throws 404 if the log is off. */
    async list(
      reader: Principal,
      { limit = DEFAULT_LIMIT, cursor, ...selection }: RequestSelection,
      owner?: LogOwner,
    ) {
      requireLog()
      const rights = rightsOf(reader)
      const query = within(requestQueryOf(selection), owner)
      const page = await inTurn(readerKey(reader, owner), async () => {
        await flush()
        return readRequestPage(store, { query, limit, cursor, cursorKeys })
      })
      const hints = await readKeyHints(
        db,
        page.rows.flatMap(({ key_id: id }) => id ?? []),
      )
      const { sampled, dropped } = options.figures()
      return {
        data: page.rows.map((row) => readableItem(requestItem(row, hints), rights)),
        cursors: { next: page.next, prev: page.prev },
        next_cursor: page.next,
        has_more: page.next !== null,
        // Requests since the start of this node that the log does not contain.
        not_logged: { sampled, dropped },
      }
    },

    /** Returns one request as `reader` may read it. Throws 404. */
    async find(reader: Principal, id: string, owner?: LogOwner) {
      requireLog()
      const record = await inTurn(readerKey(reader, owner), async () => {
        await flush()
        return findRequest(store, id, conditionsOf(owner))
      })
      if (!record) throw new Failure('not_found')
      const hints = await readKeyHints(db, record.key_id === null ? [] : [record.key_id])
      const revocation = await readRevocation(db, record)
      return readableDetail(requestDetail(record, hints, options, revocation), rightsOf(reader))
    },
  }
}

const filtersOf = (owner: LogOwner | undefined): readonly RequestFilter[] =>
  owner
    ? [
        { condition: sql`customer = ${owner.customer}`, isIndexed: true },
        { condition: sql`mode = ${owner.mode}`, isIndexed: false },
        { condition: sql`kind NOT IN ('portal', 'admin')`, isIndexed: false },
      ]
    : []

const conditionsOf = (owner: LogOwner | undefined) =>
  filtersOf(owner).map(({ condition }) => condition)

/** The filters of the owner come first: their index selects the rows. */
const within = (query: RequestQuery, owner: LogOwner | undefined): RequestQuery => ({
  ...query,
  filters: [...filtersOf(owner), ...query.filters],
})

/** Returns the audited revocation of the key of a rejected request; null if there is none. */
async function readRevocation(db: Reader, { error, key_id: id }: RequestRecord) {
  if (error !== 'invalid_api_key' || id === null) return null
  const revocation = await findLatestAudited(db, 'key.revoke', id)
  return revocation ? { ...revocation, at: isoTime(revocation.at) } : null
}
