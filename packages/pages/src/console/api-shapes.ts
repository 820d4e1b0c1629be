/** The JSON of `/admin` that several pages of the console read. */
import type {
  LoggedRequest,
  LoggedRequestDetail,
  LoggedRequestList,
  SeriesReport,
} from './admin-types.ts'

export interface Page<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

/** A row of `GET /admin/requests`. */
export type RequestRow = LoggedRequest

export type RequestPage = LoggedRequestList

export type GateRow = LoggedRequestDetail['gates'][number]

/** `GET /admin/requests/{id}`. */
export type RequestDetail = LoggedRequestDetail

export type TotalsOfMetrics = Omit<SeriesReport['totals'], 'previous'>

/** `GET /admin/series`. */
export type SeriesBody = SeriesReport

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly hint: string
  readonly customer: string
  readonly mode: 'live' | 'test'
  readonly scopes: readonly string[]
}

export interface VersionRow {
  readonly version: string
  readonly state: string
  readonly sunset_at?: string | null
}
