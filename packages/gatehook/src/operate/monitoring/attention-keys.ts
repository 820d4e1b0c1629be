/** Keys and clients that need the attention of an operator. */
import {
  listExpiringKeys,
  readKeyEnds,
  readKeyNames,
  readLiveKeys,
} from '../../identity/access/key-reader.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { type AttentionKind, itemOf } from './attention-kind.ts'
import * as store from './attention-store.ts'
import { readAddressChanges } from './key-addresses.ts'
import type { AttentionItem } from './operations.ts'
import { SHORTEST_STEP_S } from './steps.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Responses 401 and 403 of one key within an hour. */
const REFUSED_PER_HOUR = 20
/** Responses 429 of one key within five minutes. */
const LIMITED_PERIOD_MS = 5 * 60_000
const LIMITED_PER_PERIOD = 20
const KEY_EXPIRES_WITHIN_MS = 14 * DAY_MS
const KEY_USED_WITHIN_MS = 7 * DAY_MS
/** Test keys that were created for no longer expire as planned: `gatehook listen` creates such. */
const TEMPORARY_KEY_MS = DAY_MS

export const refusedKeys: AttentionKind = async ({ db, monitoring }, now) => {
  const range = { ...store.stepsOf(now, HOUR_MS), above: REFUSED_PER_HOUR }
  const callers = await store.listCallersBy('refused', monitoring, range)
  const subjects = await subjectsOf(db, callers)
  const ends = await readKeyEnds(
    db,
    callers.map(({ caller }) => caller),
    now,
  )
  return callers.map(({ caller, customer, mode, count: refused, firstS, lastS }) =>
    itemOf('key_refused', 'warn', firstS * 1000, {
      subject: subjects(caller),
      facts: {
        ...{ refused, period_s: HOUR_MS / 1000, reason: ends.get(caller) ?? null },
        last_at: isoTime(Math.min((lastS + SHORTEST_STEP_S) * 1000, now)),
      },
      customer,
      mode,
    }),
  )
}

export const limitedKeys: AttentionKind = async ({ db, monitoring }, now) => {
  const range = { ...store.stepsOf(now, LIMITED_PERIOD_MS), above: LIMITED_PER_PERIOD }
  const callers = await store.listCallersBy('limited', monitoring, range)
  const subjects = await subjectsOf(db, callers)
  return callers.map(({ caller, customer, mode, count: limited, firstS }) =>
    itemOf('key_limited', 'warn', firstS * 1000, {
      subject: subjects(caller),
      facts: { limited, period_s: LIMITED_PERIOD_MS / 1000 },
      customer,
      mode,
    }),
  )
}

/** Returns the subject of an item by the id of a key or a client. */
async function subjectsOf(db: Reader, callers: readonly { readonly caller: string }[]) {
  const ids = callers.map(({ caller }) => caller)
  const names = await readKeyNames(db, ids)
  return (id: string): AttentionItem['subject'] => {
    const name = names.get(id)
    return { type: name === undefined ? 'client' : 'key', id, label: name ?? id }
  }
}

export const expiringKeys: AttentionKind = async ({ db }, now) => {
  const rows = await listExpiringKeys(db, {
    fromMs: now,
    toMs: now + KEY_EXPIRES_WITHIN_MS,
    usedSinceMs: now - KEY_USED_WITHIN_MS,
    temporaryMs: TEMPORARY_KEY_MS,
  })
  return rows.map(({ id, name, hint, customer, mode, expires_at, last_used_at }) =>
    itemOf('key_expiring', expires_at - now < DAY_MS ? 'bad' : 'warn', last_used_at, {
      subject: { type: 'key', id, label: name },
      facts: { hint, expires_at: isoTime(expires_at), last_used_at: isoTime(last_used_at) },
      customer,
      mode,
    }),
  )
}

/** Keys that few addresses used, and other ones use now: the owner has moved, or a thief has it. */
export const movedKeys: AttentionKind = async ({ db, monitoring }, now) => {
  const changes = await readAddressChanges(monitoring, now)
  const keys = await readLiveKeys(
    db,
    changes.map(({ key }) => key),
  )
  return keys.map(({ id, name, hint, customer, mode }) => {
    const { addresses, earlier, sinceMs } = changes.find(({ key }) => key === id)!
    return itemOf('key_moved', 'warn', sinceMs, {
      subject: { type: 'key', id, label: name },
      facts: { hint, addresses, earlier },
      customer,
      mode,
    })
  })
}
