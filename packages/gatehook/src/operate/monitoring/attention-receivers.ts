/** Receivers that fail, with the cause of their last attempt; those of one cause are one item. */
import { isoTime } from '../../kernel/time.ts'
import { decodeAttempts } from '../../outbound/deliveries/delivery.ts'
import { FAILING_MS } from '../../outbound/deliveries/endpoint-health.ts'
import {
  type FailingEndpoint,
  listFailingEndpoints,
} from '../../outbound/deliveries/endpoint-reader.ts'
import { readAttempted, readOutcomes } from '../../outbound/deliveries/summary-store.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { type AttentionKind, instant, itemOf, modeName } from './attention-kind.ts'

const HOUR_MS = 3_600_000
/** From so many receivers with one cause on, the cause is not theirs. */
const SAME_CAUSE_MIN = 3
const CAUSE_CHARACTERS = 200

interface FailingReceiver {
  readonly row: FailingEndpoint
  /** As the page of the registration has it; null while no attempt is stored. */
  readonly cause: string | null
}

async function withCause(db: Reader, row: FailingEndpoint): Promise<FailingReceiver> {
  const outcomes = await readOutcomes(db, row)
  // `~` sorts after every id.
  const newestId = outcomes?.newest_id ?? '~'
  for await (const rows of readAttempted(db, row, newestId)) {
    const attempts = rows.flatMap(({ attempts }) => decodeAttempts(attempts))
    const last = attempts.toSorted((a, b) => (a.at < b.at ? -1 : 1)).at(-1)
    if (last) return { row, cause: last.error?.slice(0, CAUSE_CHARACTERS) ?? null }
  }
  return { row, cause: null }
}

/** A cause without a response: the name, the network or this machine. */
const isShared = (cause: string | null): cause is string =>
  cause !== null && !cause.startsWith('the receiver answered')

const severityOf = (since: number, now: number) => (now - since >= HOUR_MS ? 'bad' : 'warn')

export const failingEndpoints: AttentionKind = async ({ db }, now) => {
  const rows = await listFailingEndpoints(db)
  const all = await Promise.all(rows.map((row) => withCause(db, row)))
  const groups = [...Map.groupBy(all, ({ row, cause }) => (isShared(cause) ? cause : row.id))]
  return groups.flatMap(([cause, same]) => {
    if (same.length < SAME_CAUSE_MIN) return same.map((receiver) => itemOfOne(receiver, now))
    const since = Math.min(...same.map(({ row }) => row.first_failure_at!))
    return itemOf('endpoints_failing', severityOf(since, now), since, {
      subject: { type: 'service', id: cause.slice(0, 60), label: 'service' },
      facts: { cause, receivers: same.length, urls: same.slice(0, 3).map(({ row }) => row.url) },
    })
  })
}

function itemOfOne({ row, cause }: FailingReceiver, now: number) {
  const { id, url, customer, mode, last_failure_at } = row
  const since = row.first_failure_at!
  return itemOf('endpoint_failing', severityOf(since, now), since, {
    subject: { type: 'webhook', id, label: url },
    facts: {
      cause,
      last_failure_at: instant(last_failure_at),
      disabled_at: isoTime(since + FAILING_MS),
    },
    customer,
    mode: modeName(mode),
  })
}
