/**
 * New requests of the stream, on top of a list: at most five a second, and none while the reader
 * reads. Requests that wait are counted.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Query } from '../../api.ts'
import { every, idleMs } from '../../clock.ts'
import { useStream } from '../../stream.ts'
import type { RequestRow } from '../api-shapes.ts'
import { rowsMissingIn } from './missing-rows.ts'

/** Rows that the page has at most. */
const MAX_ROWS = 500
const PER_SECOND = 5
/** Rows that wait are inserted together below this number; above, the reader requests them. */
const FLOOD = 20
const SCROLLED_PX = 120
/** How long a focused row holds the list after the last input. */
const FOCUS_HOLDS_MS = 5000

interface Tail {
  /** Rows that have arrived, newest first. */
  readonly rows: readonly RequestRow[]
  /** Rows that wait, those that the server has dropped included. */
  readonly waiting: number
  /** The ids of the last insertion. */
  readonly fresh: ReadonlySet<string>
}

const NONE: Tail = { rows: [], waiting: 0, fresh: new Set() }

/** Whether the reader looks at a place that must not move. */
function isReading(): boolean {
  if (document.hidden || scrollY > SCROLLED_PX) return true
  if (document.querySelector('.drawer, main tr:hover')) return true
  // A row that was closed has the focus; it holds the list only while the reader uses the keyboard.
  if (document.querySelector('main tr:focus-within') && idleMs() < FOCUS_HOLDS_MS) return true
  return getSelection()?.type === 'Range'
}

interface TailOptions {
  readonly isOn: boolean
  /** Parameters of the stream. */
  readonly parameters: Query
  /** Whether the list would have the row. */
  readonly accepts: (row: RequestRow) => boolean
  /** Loads the list again: the stream opened after it, or the server has dropped rows. */
  readonly reload: () => void
  /** The rows below, newest first; undefined if these are not the newest ones. */
  readonly list: readonly RequestRow[] | undefined
}

export function useLiveTail({ isOn, parameters, accepts, reload, list }: TailOptions) {
  const [tail, setTail] = useState<Tail>(NONE)
  const queue = useRef<RequestRow[]>([])
  const uncounted = useRef(0)
  const receive = (topic: string, data: unknown) => {
    if (topic === 'dropped') uncounted.current += (data as { requests?: number }).requests ?? 0
    else if (accepts(data as RequestRow)) {
      queue.current.unshift(data as RequestRow)
      if (queue.current.length > MAX_ROWS) {
        queue.current.length = MAX_ROWS
        uncounted.current++
      }
    }
  }
  useStream(isOn ? ['requests'] : [], parameters, receive, reload)
  const insert = (count: number) => {
    const rows = queue.current.splice(Math.max(0, queue.current.length - count), count)
    setTail((last) => ({
      rows: rows.length === 0 ? last.rows : [...rows, ...last.rows].slice(0, MAX_ROWS),
      waiting: queue.current.length + uncounted.current,
      fresh: rows.length === 0 ? last.fresh : new Set(rows.map(({ id }) => id)),
    }))
  }
  const missing = (rows: readonly RequestRow[]) =>
    list ? rowsMissingIn(list, rows).filter(accepts) : []
  useEffect(() => {
    queue.current = [...missing(queue.current)]
    uncounted.current = 0
    setTail(({ rows, fresh }) => ({ rows: missing(rows), waiting: queue.current.length, fresh }))
  }, [list])
  // Rows of another selection are no rows of this one.
  useEffect(() => {
    queue.current = []
    uncounted.current = 0
    setTail(NONE)
  }, [JSON.stringify(parameters)])
  useEffect(() => {
    if (!isOn) return
    return every(1000, () => {
      const { length } = queue.current
      if (length === 0 && uncounted.current === 0) return
      insert(isReading() || length > FLOOD ? 0 : PER_SECOND)
    })
  }, [isOn])
  const insertAll = () => {
    insert(MAX_ROWS)
    if (uncounted.current > 0) reload()
  }
  return { ...tail, insertAll }
}
