/**
 * §11.5: the values of JSON of others are counted before it is parsed, and a row that a response
 * repeats is not parsed at all: a value can take 20 times the memory of its text.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { createOutputConverter } from '../../src/declare/forwards/output.ts'
import { f, fields, resource, service } from '../../src/gatehook.ts'
import { createDocumentFetcher } from '../../src/outbound/transport/fetch-document.ts'
import {
  JSON_NAMES_MAX,
  JSON_VALUES_MAX,
  parseJsonBody,
} from '../../src/protocol/http/json-body.ts'

/** Records the texts that are parsed. */
function recordParsed(t: TestContext): string[] {
  const texts: string[] = []
  const { parse } = JSON
  t.mock.method(JSON, 'parse', (text: string, reviver?: never) => {
    texts.push(text)
    return parse(text, reviver)
  })
  return texts
}

const convert = createOutputConverter(fields({ ok: f.bool() }), ['v1'])
const readUpstream = (text: string) => convert(Buffer.from(text), 'v1')
const answered = {
  ...{ kind: 'answered', status: 200, headers: { 'content-type': 'application/json' } },
  ...{ isWhole: true, durationMs: 1 },
} as const
const fetchFrom = (body: string) =>
  createDocumentFetcher({
    send: async () => ({ ...answered, body }) as never,
    userAgent: 'test',
    clock: { now: () => 0 },
  })('https://other.example', 8_388_608)

/** Each reader of JSON of others. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  'a body': (text) => parseJsonBody(Buffer.from(text)),
  'an answer of an upstream': readUpstream,
  'a document': fetchFrom,
}

const names = Array.from({ length: JSON_NAMES_MAX + 1 }, (_, n) => `"n${n}":1`)
const MANY_NAMES = `{"ok":true,${names}}`

test('an answer of an upstream may have any names: the team chooses them, and no stranger', () => {
  assert.equal(readUpstream(MANY_NAMES), MANY_NAMES)
})

for (const [name, read] of Object.entries(readers)) {
  test(`${name} with too many values or names is not parsed`, async (t) => {
    const parsed = recordParsed(t)
    const textOf = (values: number) => `{"ok":true,"a":[${'0,'.repeat(values)}0]}`
    const quotes = `{"ok":true,"a":${'""'.repeat(200_000)}}`
    const texts = [textOf(JSON_VALUES_MAX), quotes, ...(read === readUpstream ? [] : [MANY_NAMES])]
    for (const text of texts) {
      await assert.rejects(async () => read(text), /more than 50?,000 (?:values|names)/)
    }
    assert.deepEqual(parsed, [])
    await read(textOf(JSON_VALUES_MAX - 4))
    assert.ok(parsed.length > 0)
  })
}

const access = { read: 'x:read', create: 'x:write', update: false, delete: false } as const
const list = { filter: [], sort: ['id'] } as const
const parts = resource('parts', {
  fields: { id: f.id(), data: f.json().max(65_536) },
  ...{ list, access, events: [] },
})
const kits = resource('kits', {
  fields: { id: f.id(), lines: f.array(f.object({ part_id: f.ref('parts') }), { max: 200 }) },
  ...{ list, access, events: [] },
})
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [parts, kits],
})

eachService(
  'the rows that `expand` adds inside a value are not parsed',
  async (app, t) => {
    const values = Array.from({ length: 20_000 }, () => ({}))
    const part = await app.post('/api/v1/parts', { data: ['the part', ...values] })
    assert.equal(part.status, 201)
    const lines = Array.from({ length: 200 }, () => ({ part_id: 1 }))
    for (const count of [20, 200]) {
      await app.post('/api/v1/kits', { lines: lines.slice(0, count) })
    }
    const parsed = recordParsed(t)
    const few = await app.get('/api/v1/kits/1?expand=lines.part')
    assert.deepEqual(few.body.lines[19].part.data, ['the part', ...values])
    const many = await app.get('/api/v1/kits/2?expand=lines.part')
    assert.deepEqual([many.status, many.body.error], [400, 'page_too_large'])
    const rows = parsed.filter((text) => text.includes('the part') && !text.includes('"lines"'))
    assert.deepEqual(rows, [])
  },
  { service: shop },
)
