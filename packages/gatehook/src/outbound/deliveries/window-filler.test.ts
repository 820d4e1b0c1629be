import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { soleLeases } from '../../../test/deliveries/sole-leases.ts'
import { scopeOf } from '../../kernel/principal.ts'
import { type EndpointState, EndpointTable } from './endpoint.ts'
import type { DueBatch, DueSpan, EndpointKey, EngineRegistration, EngineStore } from './ports.ts'
import { ResultWriter } from './result-writer.ts'
import { WindowFiller } from './window-filler.ts'

const registration: EngineRegistration = {
  customerId: 'cus_1',
  no: 2,
  id: 'wh_2',
  scope: scopeOf(1, 'live'),
  customer: 1,
  url: '',
  sends: true,
  revision: 1,
  secrets: [],
  rate: undefined,
  holdUntil: null,
  firstFailureAt: null,
  lastFailureAt: null,
  lastSuccessAt: null,
}
const noBacklogs: Pick<
  EngineStore,
  'beginBacklogs' | 'fillBacklog' | 'endBacklog' | 'readAwaitedSlice'
> = {
  beginBacklogs: async () => 0,
  fillBacklog: async () => ({ count: 0, dueAt: 0, isLast: true }),
  endBacklog: async () => {},
  readAwaitedSlice: async () => ({ endpoints: [], next: undefined }),
}
const row = { id: 'dlv_1', eventId: 'evt_1', eventType: 'a.b', attempt: 0, createdAt: 0 }

test('a failed read of one endpoint leaves the reads of others to complete', async () => {
  const rows = Promise.withResolvers<DueBatch>()
  const store: EngineStore = {
    readDuePage: async () => Promise.reject(new Error()),
    readEndpointSlice: async () => ({
      endpoints: [1, 2].map((no) => ({ no, scope: scopeOf(1, 'live'), dueAt: 0 })),
      next: undefined,
    }),
    ...noBacklogs,
    listFailing: async () => [],
    async readRegistration(no) {
      if (no === 1) throw new Error('the connection was lost')
      return registration
    },
    readDueDeliveries: () => rows.promise,
    readResentDeliveries: async () => [],
    readSummary: async () => undefined,
    readLargeBody: async () => undefined,
    writeResults: async () => {},
    disableRegistration: async () => {},
  }
  const table = new EndpointTable()
  const clock = { now: () => 1, elapsedMs: () => 1 }
  const filler = new WindowFiller({
    store,
    leases: soleLeases,
    clock,
    rate: undefined,
    table,
    results: new ResultWriter(store, clock),
  })
  const fill = filler.fill()
  fill.catch(() => undefined)
  await nextTurn()
  const endpoint = table.find(2)!
  assert.ok(endpoint.isFilling, 'a second read now would load the same rows twice')
  rows.resolve({ rows: [{ ...row, body: '{}' }], nextDueAt: undefined })
  await assert.rejects(fill, { message: 'the connection was lost' })
  assert.equal(endpoint.isFilling, false)
  assert.equal(endpoint.windowSize, 1)
})

test('endpoints whose customers could not be taken are found again', async () => {
  let takes = 0
  const store = {
    readDuePage: async () => ({
      endpoints: [],
      readUntil: 1,
      isComplete: true,
      nextDueAt: undefined,
    }),
    readEndpointSlice: async () => ({
      endpoints: [{ no: 2, scope: scopeOf(1, 'live'), dueAt: 0 }],
      next: undefined,
    }),
    ...noBacklogs,
    listFailing: async () => [],
    readRegistration: async () => registration,
    readSummary: async () => undefined,
    readDueDeliveries: async () => ({ rows: [], nextDueAt: undefined }),
  } as unknown as EngineStore
  const leases = {
    isAlive: true,
    generation: 0,
    holds: () => takes > 1,
    async take() {
      takes += 1
      if (takes === 1) throw new Error('the connection was lost')
    },
  }
  const table = new EndpointTable()
  const clock = { now: () => 1, elapsedMs: () => 1 }
  const results = new ResultWriter(store, clock)
  const filler = new WindowFiller({ store, leases, clock, rate: undefined, table, results })
  await assert.rejects(filler.fill(), { message: 'the connection was lost' })
  assert.equal(table.find(2), undefined)
  await filler.fill()
  assert.ok(table.find(2))
})

test('rows that were read beside a changed registration replace those of its window', async () => {
  let revision = 1
  const reads: string[][] = []
  const store = {
    readRegistration: async () => ({ ...registration, revision }),
    readSummary: async () => undefined,
    async readDueDeliveries(_: EndpointKey, __: unknown, loadedIds: ReadonlySet<string>) {
      reads.push([...loadedIds])
      const rows = ['a', 'b'].filter((id) => !loadedIds.has(id)).map((id) => ({ ...row, id }))
      return { rows, nextDueAt: undefined }
    },
    readDuePage: async () => ({ endpoints: [], readUntil: 1, isComplete: true }),
    readEndpointSlice: async () => ({ endpoints: [], next: undefined }),
    ...noBacklogs,
    listFailing: async () => [],
  } as unknown as EngineStore
  const leases = {
    isAlive: true,
    generation: 0,
    holds: () => true,
    take: async () => {},
  }
  const table = new EndpointTable()
  const clock = { now: () => 1, elapsedMs: () => 1 }
  const results = new ResultWriter(store, clock)
  const filler = new WindowFiller({ store, leases, clock, rate: undefined, table, results })
  const endpoint = (await filler.findAwakened(2))!
  const fill = async () => {
    endpoint.expectDueAt(0)
    endpoint.hasChanged = true
    filler.consider(endpoint, 1)
    await filler.fill()
  }
  await fill()
  assert.equal(endpoint.windowSize, 2)
  await fill()
  assert.deepEqual([endpoint.windowSize, reads.length], [2, 2])
  revision = 2
  await fill()
  assert.deepEqual([endpoint.windowSize, endpoint.loadedIds.size], [2, 2])
  assert.deepEqual(reads, [[], ['a', 'b'], ['a', 'b'], []])
})

for (const cause of ['an open circuit breaker', 'a hold']) {
  test(`after ${cause}, no delivery starts before a changed registration is read`, async () => {
    const time = { now: 1, elapsedMs: 1 }
    let current = { revision: 1, body: 'old' }
    const store = {
      readRegistration: async () => ({ ...registration, revision: current.revision }),
      readSummary: async () => undefined,
      readDueDeliveries: async (_: EndpointKey, __: unknown, loadedIds: ReadonlySet<string>) => ({
        rows: loadedIds.size > 0 ? [] : [{ ...row, body: current.body }],
        nextDueAt: undefined,
      }),
      readDuePage: async () => ({ endpoints: [], readUntil: 1, isComplete: true }),
      readEndpointSlice: async () => ({ endpoints: [], next: undefined }),
      listFailing: async () => [],
      ...noBacklogs,
    } as unknown as EngineStore
    const clock = { now: () => time.now, elapsedMs: () => time.elapsedMs }
    const results = new ResultWriter(store, clock)
    const table = new EndpointTable()
    const filler = new WindowFiller({
      ...{ store, clock, table, results },
      leases: soleLeases,
      rate: undefined,
    })
    const endpoint = (await filler.findAwakened(2))!
    const fill = async () => {
      filler.consider(endpoint, time.now)
      await filler.fill()
    }
    endpoint.expectDueAt(0)
    endpoint.hasChanged = true
    await fill()
    assert.equal(endpoint.windowSize, 1)
    if (cause === 'a hold') endpoint.holdUntil = 60_000
    else for (let n = 0; n < 20; n++) endpoint.breaker.recordResult(false, time.now, false)
    assert.ok(endpoint.blockedUntil(time.now) > 0)
    current = { revision: 2, body: 'new' }
    time.now = endpoint.blockedUntil(time.now) + 1
    time.elapsedMs = time.now
    assert.equal(endpoint.canStart(time.now, time.elapsedMs), false)
    await fill()
    assert.equal(endpoint.windowSize, 1)
    assert.equal(endpoint.takeRow().body, 'new')
  })
}

test('a window is read from where the last read ended, and from an earlier delivery', async () => {
  const froms: number[] = []
  const batches = [
    { rows: [], nextDueAt: 40 },
    { rows: [{ ...row, body: '{}' }], nextDueAt: undefined },
  ]
  const store = {
    readRegistration: async () => registration,
    readSummary: async () => undefined,
    async readDueDeliveries(_: EndpointKey, { from }: DueSpan) {
      froms.push(from)
      return batches.shift() ?? { rows: [], nextDueAt: undefined }
    },
    readDuePage: async () => ({ endpoints: [], readUntil: 50, isComplete: true }),
    readEndpointSlice: async () => ({ endpoints: [], next: undefined }),
    ...noBacklogs,
    listFailing: async () => [],
  } as unknown as EngineStore
  const leases = { isAlive: true, generation: 0, holds: () => true, take: async () => {} }
  const table = new EndpointTable()
  const clock = { now: () => 50, elapsedMs: () => 50 }
  const results = new ResultWriter(store, clock)
  const filler = new WindowFiller({ store, leases, clock, rate: undefined, table, results })
  const endpoint = (await filler.findAwakened(2))!
  const fill = async (dueAt: number) => {
    endpoint.expectDueAt(dueAt)
    filler.consider(endpoint, 50)
    await filler.fill()
  }
  for (const dueAt of [50, 50, 50, 20]) await fill(dueAt)
  assert.deepEqual(froms, [0, 40, 50, 20])
  endpoint.clearWindow(50)
  await fill(50)
  assert.deepEqual(froms.slice(4), [0])
})

type Untaken = (endpoint: EndpointState) => { readonly dueAt?: number }
/** Changes of an endpoint or of a committed delivery, after which its rows have to be read. */
const UNTAKEN: Readonly<Record<string, Untaken>> = {
  'a read may have seen it': () => ({ dueAt: 50 }),
  'it is due later': () => ({ dueAt: 61 }),
  'another row is due': (endpoint) => {
    endpoint.expectDueAt(55)
    return {}
  },
  'the registration may have changed': (endpoint) => {
    endpoint.hasChanged = true
    return {}
  },
  'the registration has changed': (endpoint) => {
    endpoint.registration = { ...registration, revision: 2 }
    return {}
  },
  'the registration does not send': (endpoint) => {
    endpoint.registration = { ...registration, sends: false }
    return {}
  },
  'its rows are being read': (endpoint) => {
    endpoint.isFilling = true
    return {}
  },
  'others wait in their events': (endpoint) => {
    endpoint.hasBacklog = true
    return {}
  },
  'it is on hold': (endpoint) => {
    endpoint.holdUntil = 100
    return {}
  },
  'its window is full': (endpoint) => {
    const rows = Array.from({ length: 512 }, (_, n) => ({ ...row, id: `dlv_w${n}`, body: '{}' }))
    endpoint.appendRows(rows)
    return {}
  },
}

test('a committed delivery is taken without a read, unless rows have to be read', async () => {
  for (const [reason, change] of [['', () => ({})] as const, ...Object.entries(UNTAKEN)]) {
    const store = {
      readRegistration: async () => registration,
      readSummary: async () => undefined,
      readDueDeliveries: async () => ({ rows: [], nextDueAt: undefined }),
      readDuePage: async () => ({ endpoints: [], readUntil: 50, isComplete: true }),
      readEndpointSlice: async () => ({ endpoints: [], next: undefined }),
      ...noBacklogs,
      listFailing: async () => [],
    } as unknown as EngineStore
    const table = new EndpointTable()
    const clock = { now: () => 50, elapsedMs: () => 50 }
    const results = new ResultWriter(store, clock)
    const deps = { store, leases: soleLeases, clock, rate: undefined, table, results }
    const filler = new WindowFiller(deps)
    const endpoint = (await filler.findAwakened(2))!
    endpoint.expectDueAt(50)
    filler.consider(endpoint, 50)
    await filler.fill()
    const due = { ...row, body: '{}' }
    const delivery = { webhookNo: 2, revision: 1, dueAt: 51, due, ...change(endpoint) }
    assert.equal(filler.take(endpoint, [delivery], 60), reason === '', reason)
    assert.equal(endpoint.loadedIds.has(due.id), reason === '', reason)
  }
})
