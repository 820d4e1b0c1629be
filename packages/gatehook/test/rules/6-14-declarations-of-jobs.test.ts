/** §6.14: the start names the mistakes in the declaration of background work. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { f, job, resource, service } from '../../src/gatehook.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: false } as const
const doors = resource('doors', {
  fields: { id: f.id() },
  list: { filter: [], sort: [] },
  access,
  events: ['door.created'],
})
const house = service({
  name: 'house',
  versions: { v1: { released: '2026-01-01' } },
  resources: [doors],
})
const knock = job('knock', { times: f.int() })
const handle = () => {}
/** The values of a caller without types. */
const plain = (value: unknown) => value as never

test('each word names its mistake', () => {
  const calls: readonly [RegExp, () => unknown][] = [
    [/\.job Knock!: names look like send_receipt/, () => house.job(job('Knock!'), handle)],
    [/the handler is a function/, () => house.job(knock, plain('text'))],
    [/attempts is from 1 to 25/, () => house.job(knock, handle, { attempts: 0 })],
    [/attempts is from 1 to 25/, () => house.job(knock, handle, { attempts: 26 })],
    [/timeoutMs is from 1 to 3600000/, () => house.job(knock, handle, { timeoutMs: 1e9 })],
    [/knock: the name is declared twice/, () => house.job(knock, handle).job(knock, handle)],
    [
      /knock: the name is declared twice/,
      () => house.job(knock, handle).every('1h', 'knock', handle),
    ],
    [
      /a is not a field, for example f\.string\(\)/,
      () => house.job(job('open', plain({ a: 'text' })), handle),
    ],
    [
      /code is secret, and inputs are stored/,
      () => house.job(job('open', { code: f.string().secret() }), handle),
    ],
    [/id is set/, () => house.job(job('open', { id: f.id() }), handle)],
    [/\.on door\.painted: there is no event/, () => house.on(plain('door.painted'), handle)],
    [/doors has no event door\.painted/, () => house.on(doors, plain('door.painted'), handle)],
    [
      /name this handler: \.on\('door\.created', handle, \{ name \}\)/,
      () => house.on(doors, 'door.created', handle).on(doors, 'door.created', handle),
    ],
    [/\.every sweep: "hourly" is no interval/, () => house.every('hourly', 'sweep', handle)],
    [/\.every sweep: "0 0 30 2 \*" is never due/, () => house.every('0 0 30 2 *', 'sweep', handle)],
    [/names look like/, () => house.every('1h', plain(undefined), handle)],
  ]
  for (const [sentence, call] of calls) assert.throws(call, sentence)
})

test('events of the engine have handlers, and one type has several', () => {
  const { definition } = house
    .on('key.created', handle)
    .on(doors, 'door.created', handle)
    .on(doors, 'door.created', handle, { name: 'paint', attempts: 1, timeoutMs: 5_000 })
  assert.deepEqual(
    definition.jobs.map(({ name, trigger, attempts, timeoutMs }) => [
      name,
      trigger,
      attempts,
      timeoutMs,
    ]),
    [
      ['key.created', 'key.created', 10, 60_000],
      ['door.created', 'door.created', 10, 60_000],
      ['paint', 'door.created', 1, 5_000],
    ],
  )
})
