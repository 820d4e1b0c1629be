import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HealthState } from './outcome-summary.ts'
import { queueAgesOf } from './queue-age.ts'

const NOW = 100_000

interface Facts {
  readonly breaker?: 'closed' | 'open' | 'probing'
  readonly state?: Exclude<HealthState, 'off'>
  readonly hasToken?: boolean
  readonly nextDueAt?: number | undefined
  readonly holdUntil?: number
}

const endpoint = (facts: Facts) => {
  const { breaker = 'closed', state = 'healthy', hasToken = true, nextDueAt, holdUntil = 0 } = facts
  return {
    breaker: { state: breaker },
    summary: { state },
    owner: { hasToken: () => hasToken },
    nextDueAt,
    holdUntil,
  }
}

const agesOf = (...facts: readonly Facts[]) => queueAgesOf(facts.map(endpoint), NOW, 0)

/** Delays by receivers and customers. */
const others: readonly Facts[] = [
  { breaker: 'open' },
  { breaker: 'probing' },
  { state: 'failing' },
  { state: 'slow' },
  { hasToken: false },
]

test('a receiver or a customer ages the queue, and does not make the node late', () => {
  for (const facts of others) {
    assert.deepEqual(agesOf({ ...facts, nextDueAt: NOW - 900 }), { queueAgeMs: 900, lateMs: 0 })
  }
  const late = { nextDueAt: NOW - 70 }
  for (const state of ['new', 'healthy', 'some_fail'] as const) {
    const mixed = agesOf(...others.map((facts) => ({ ...facts, nextDueAt: NOW - 900 })), {
      ...late,
      state,
    })
    assert.deepEqual(mixed, { queueAgeMs: 900, lateMs: 70 }, state)
  }
})

test('neither deliveries to come nor endpoints on hold have an age', () => {
  const ages = agesOf({}, { nextDueAt: NOW + 5 }, { nextDueAt: NOW - 500, holdUntil: NOW + 1 })
  assert.deepEqual(ages, { queueAgeMs: 0, lateMs: 0 })
})
