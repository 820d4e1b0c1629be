/**
 * §11.5: no caller uses up what its customer has, test mode takes nothing from live mode, and the
 * bounds of process, customer and caller hold; for every budget that callers share.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { Budget, type BudgetOwner, type Holding, type Shares } from '../../src/kernel/budget.ts'
import { type Mode, type Principal, scopeOf } from '../../src/kernel/principal.ts'
import type { Call, Endpoint } from '../../src/protocol/http/call.ts'
import { createEgress, defaultEgressBounds, shed } from '../../src/protocol/http/egress.ts'
import { BODY_SHARES, createIngress } from '../../src/protocol/http/ingress.ts'
import { ownerOfPrincipal } from '../../src/protocol/http/owner.ts'
import { EVENT_STREAM_SHARES } from '../../src/protocol/http/stream-limits.ts'
import { EXPORT_SHARES } from '../../src/protocol/lists/export.ts'
import { start, talk } from '../http/rig.ts'

const budgets: Readonly<Record<string, Shares>> = {
  'unread responses': defaultEgressBounds.shares,
  'arriving bodies': BODY_SHARES,
  'event streams': EVENT_STREAM_SHARES,
  exports: EXPORT_SHARES,
}

const principalOf = (customerNo: number, mode: Mode, subject: string, more = {}): Principal => ({
  ...{ customer: `cus_${customerNo}`, mode, scope: scopeOf(customerNo, mode), kind: 'person' },
  ...{ subject, scopes: new Set<string>() },
  ...more,
})
const CALLERS_OF_GROUP = 3
/** Callers that take anything at any time, and those who hold nothing until they take. */
const takers = [
  ...['a', 'b', 'c'].map((subject) => principalOf(1, 'live', subject)),
  ...['a', 'b', 'c'].map((subject) => principalOf(1, 'test', subject)),
  ...['a', 'b'].map((subject) => principalOf(2, 'live', subject)),
].map(ownerOfPrincipal)
const quiet: Readonly<Record<string, BudgetOwner>> = {
  'of the same customer': ownerOfPrincipal(principalOf(1, 'live', 'quiet')),
  'a key of the same customer': ownerOfPrincipal(principalOf(1, 'live', 'quiet', { kind: 'key' })),
  'of the other mode': ownerOfPrincipal(principalOf(1, 'test', 'quiet')),
  'of another customer': ownerOfPrincipal(principalOf(3, 'live', 'quiet')),
  'an operator': ownerOfPrincipal(principalOf(1, 'live', 'ope', { kind: 'operator' })),
}
const GROUPS = 6

const index = fc.nat(takers.length - 1)
const actions = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(
        fc.constant('take' as const),
        index,
        fc.double({ noNaN: true, min: 0, max: 1 }),
      ),
    },
    fc.tuple(fc.constant('release' as const), fc.nat(200), fc.constant(0)),
    fc.tuple(fc.constant('progress' as const), fc.nat(200), fc.constant(0)),
    fc.tuple(fc.constant('wait' as const), fc.nat(2000), fc.constant(0)),
  ),
  { maxLength: 200 },
)

for (const [name, shares] of Object.entries(budgets)) {
  test(`${name}: bounds hold, and a caller that holds nothing gets its share`, () => {
    fc.assert(
      fc.property(actions, fc.constantFrom(...Object.keys(quiet)), (steps, quietName) => {
        let nowMs = 0
        const budget = new Budget(shares, { elapsedMs: () => nowMs })
        const open = new Map<Holding, { owner: BudgetOwner; amount: number }>()
        const take = (owner: BudgetOwner, amount: number) => {
          const holding = budget.hold(owner, () => open.delete(holding))
          const full = holding.grow(amount)
          if (full) holding.release()
          else open.set(holding, { owner, amount })
          return full
        }
        const requireBounds = () => {
          const all = [...open.values()]
          const sum = (list: typeof all) => list.reduce((total, { amount }) => total + amount, 0)
          assert.ok(sum(all) <= shares.process && sum(all) === budget.total)
          for (const level of ['group', 'caller'] as const) {
            for (const [, list = []] of Object.entries(
              Object.groupBy(all, ({ owner }) => owner[level]),
            )) {
              assert.ok(list.length === 1 || sum(list) <= shares[level], level)
            }
          }
        }
        for (const [action, n, part] of steps) {
          const [holding] = [...open.keys()].slice(n % Math.max(1, open.size))
          if (action === 'take') take(takers[n]!, Math.max(1, Math.round(part * shares.group)))
          else if (action === 'wait') nowMs += n
          else if (action === 'progress') holding?.progress()
          else if (holding) {
            holding.release()
            open.delete(holding)
          }
          requireBounds()
        }
        if (shares.small === 0) return // the first one keeps its streams
        const owner = quiet[quietName]!
        const callers = CALLERS_OF_GROUP + 1
        const share = Math.floor(
          Math.min(shares.small, shares.group / callers, shares.process / (GROUPS * callers)),
        )
        assert.equal(take(owner, Math.max(1, share)), undefined)
        requireBounds()
      }),
      { numRuns: 300 },
    )
  })
}

for (const [name, shares] of Object.entries(budgets)) {
  test(`${name}: persons, however many, use nothing that programs of their customer have`, () => {
    const budget = new Budget(shares, { elapsedMs: () => 0 })
    const amount = Math.max(1, Math.floor(shares.caller / 4))
    const take = (kind: Principal['kind'], subject: string) => {
      const owner = ownerOfPrincipal(principalOf(1, 'live', subject, { kind }))
      return budget.hold(owner, assert.fail).grow(amount)
    }
    let count = 0
    while (take('person', `${count}`) === undefined) count += 1
    assert.ok(count >= 4 && take('person', 'another') === 'group')
    for (const kind of ['key', 'client'] as const) assert.equal(take(kind, kind), undefined, kind)
  })
}

test('alone, a caller does not reach what its customer has; an operator acts as one', () => {
  for (const [name, shares] of Object.entries(budgets)) {
    const budget = new Budget(shares, { elapsedMs: () => 0 })
    while (budget.hold(takers[0]!, assert.fail).grow(1 + shares.caller / 16) === undefined);
    assert.ok(budget.total <= shares.group / 2, name)
  }
  const operator = principalOf(1, 'live', 'ope', { kind: 'operator' })
  const acting = principalOf(2, 'test', 'x', { caller: operator })
  assert.deepEqual(ownerOfPrincipal(acting), ownerOfPrincipal(operator))
})

const MIB = 1_048_576
/** Exceeds the kernel buffers of a loopback connection. */
const BIG_BYTES = 16 * MIB
const callers = {
  attacker: principalOf(1, 'live', 'a'),
  helper: principalOf(1, 'live', 'b'),
  test: principalOf(1, 'test', 'a'),
  quiet: principalOf(1, 'live', 'quiet'),
}
type Caller = keyof typeof callers

/** A server that takes the caller from a header, with a manual clock. */
async function stage(t: TestContext) {
  const time = { ms: 0 }
  const clock = { elapsedMs: () => time.ms }
  const shares: Shares = {
    process: 64 * MIB,
    group: 2 * BIG_BYTES,
    caller: BIG_BYTES,
    small: MIB,
    stalledMs: 1000,
  }
  const egress = createEgress(clock, { shares, responseBytes: 2 * BIG_BYTES })
  const ingress = createIngress(clock, {
    process: 16 * MIB,
    group: 4 * MIB,
    caller: 2 * MIB,
    small: MIB,
    stalledMs: 1000,
  })
  const raw = 'x'.repeat(BIG_BYTES)
  const get = (path: string, bytes: number): Endpoint => ({
    ...{ kind: 'public', path },
    methods: {
      GET: { authenticated: false, handle: () => ({ status: 200, raw: raw.slice(0, bytes) }) },
    },
  })
  const identify = (call: Call) => {
    call.principal = callers[call.headers['x-caller'] as Caller]
  }
  const endless: Endpoint = {
    ...{ kind: 'public', path: '/endless' },
    methods: {
      GET: {
        authenticated: false,
        handle: () => ({ status: 200, stream: async (out) => void out.write('x') }),
      },
    },
  }
  const counter = { bodies: 0 }
  const count: Endpoint = {
    ...{ kind: 'api', path: '/api/counted' },
    methods: {
      POST: {
        authenticated: false,
        body: 'required',
        handle: () => ({ status: 200, raw: String(++counter.bodies) }),
      },
    },
  }
  const pages = [get('/big', BIG_BYTES), get('/one-mib', MIB), get('/some-bytes', 100)]
  const more = [...pages, endless, count]
  const rig = await start(t, { more, egress, ingress, head: [identify, shed(egress)] })
  const headOf = (line: string, caller: Caller, ...headers: string[]) =>
    [`${line} HTTP/1.1`, 'Host: localhost', `X-Caller: ${caller}`, ...headers, '\r\n'].join('\r\n')
  /** Sends text and reads nothing. */
  const send = async (...texts: string[]) => {
    const socket = net.connect(rig.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    onEnd(t, () => socket.destroy())
    await once(socket, 'connect')
    for (const text of texts) socket.write(text)
  }
  const read = async (path: string, caller: Caller) =>
    (await talk(rig.port, headOf(`GET ${path}`, caller, 'Connection: close')))[0]!
  const post = async (bytes: number, caller: Caller) => {
    const type = ['Connection: close', 'Content-Type: application/json']
    const head = headOf('POST /api/orders', caller, ...type, `Content-Length: ${bytes}`)
    return (await talk(rig.port, `${head}"${'x'.repeat(bytes - 2)}"`))[0]!
  }
  const postSlowly = (caller: Caller) =>
    send(
      headOf(
        'POST /api/orders',
        caller,
        'Content-Type: application/json',
        `Content-Length: ${MIB}`,
      ),
      ' '.repeat(MIB - 100),
    )
  return { ...rig, time, counter, egress, ingress, send, headOf, read, post, postSlowly }
}

const until = (check: () => boolean) => eventually(async () => check(), Boolean)

test('unread responses of callers reject and cut their own reads only', async (t) => {
  const { egress, time, send, headOf, read } = await stage(t)
  for (const caller of ['attacker', 'helper', 'test'] as const)
    await send(headOf('GET /big', caller))
  await until(() => egress.unreadBytes() === 3 * BIG_BYTES)
  assert.equal((await read('/some-bytes', 'attacker')).status, 503, 'a caller at its share')
  assert.equal((await read('/some-bytes', 'quiet')).status, 200)
  assert.equal(egress.unreadBytes(), 3 * BIG_BYTES, 'a small response cuts none')
  assert.equal((await read('/one-mib', 'quiet')).body.length, MIB, 'a page of a full customer')
  assert.equal(egress.unreadBytes(), 2 * BIG_BYTES, 'one of the larger ones was cut')
  await send(headOf('GET /big', 'attacker'))
  await until(() => egress.unreadBytes() === 3 * BIG_BYTES)
  time.ms = 1000
  await read('/one-mib', 'quiet')
  assert.equal(egress.unreadBytes(), 2 * BIG_BYTES)
})

test('unfinished bodies of callers reject and cut their own writes only', async (t) => {
  const { ingress, post, postSlowly } = await stage(t)
  for (const caller of ['attacker', 'attacker', 'helper', 'helper', 'test', 'test'] as const) {
    await postSlowly(caller)
  }
  await until(() => ingress.total === 6 * MIB)
  assert.equal((await post(8192, 'attacker')).status, 503, 'a caller at its share')
  assert.equal((await post(8192, 'test')).status, 503, 'a caller at its share')
  assert.equal((await post(1024, 'quiet')).status, 200)
  assert.equal(ingress.total, 6 * MIB, 'a small body cuts none')
  assert.equal((await post(MIB / 2, 'quiet')).status, 200, 'a body of a full customer')
  await until(() => ingress.total === 5 * MIB)
})

test('a request behind a response that does not end has no work and no place', async (t) => {
  const { ingress, counter, send, headOf, post } = await stage(t)
  const type = 'Content-Type: application/json'
  for (const caller of ['attacker', 'helper', 'test'] as const) {
    const head = headOf('POST /api/counted', caller, type, `Content-Length: ${MIB}`)
    await send(headOf('GET /endless', caller), `${head}"${'x'.repeat(MIB - 2)}"`)
  }
  assert.equal((await post(MIB, 'quiet')).status, 200)
  assert.deepEqual([counter.bodies, ingress.total], [0, 0])
})

test('a full process has an event stream for each further group, and cuts end', () => {
  const names = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => prefix + n)
  const budget = new Budget(EVENT_STREAM_SHARES, { elapsedMs: () => 0 })
  const open = new Map<Holding, BudgetOwner>()
  const reconnecting: BudgetOwner[] = []
  let cuts = 0
  const take = (owner: BudgetOwner): boolean => {
    const holding = budget.hold(owner, () => {
      cuts++
      open.delete(holding)
      reconnecting.push(owner)
    })
    const isFull = holding.grow(1) !== undefined
    if (isFull) holding.release()
    else open.set(holding, owner)
    return !isFull
  }
  // Both modes of three customers, and the persons of each: 12 groups that take all they get.
  for (const group of names('hog', 12)) {
    for (const caller of names(group, 5)) for (let n = 0; n < 6; n++) take({ group, caller })
  }
  assert.deepEqual([budget.total, open.size], [200, 200])
  cuts = 0
  reconnecting.length = 0
  for (const group of names('quiet', 150)) {
    assert.ok(take({ group, caller: group }), group)
    for (const owner of reconnecting.splice(0)) assert.ok(!take(owner), 'it cuts none')
    assert.equal(open.size, 200)
  }
  assert.ok(cuts >= 140 && cuts <= 150, `${cuts} cuts`)
  const held = Map.groupBy(open.values(), ({ group }) => group)
  assert.equal(held.size, 12 + 150)
})
