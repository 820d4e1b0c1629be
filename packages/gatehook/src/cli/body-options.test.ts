/** The options of a body, and the JSON of a command line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { b } from '../protocol/fields/members.ts'
import { type BodyWords, bodyOptions, PAST } from './body-options.ts'
import { UsageError } from './errors.ts'

const rate = b.object({ limit: b.int(1), window_s: b.int(1) })
const members = {
  name: b.line(100).describe('Names the `thing` (§7.6).'),
  scopes: b.set(b.oneOf([]), { max: 9 }),
  mode: b.oneOf(['warm', 'cold']).optional(),
  size: b.int(0).optional(),
  is_public: b.bool().optional(),
  reuse: b.oneOf(['until_expiry']).nullable().optional(),
  expires_at: b.instant().nullable().optional(),
  overlap_seconds: b.int(0).optional(),
  limits: b.object({ rate_limit: rate.nullable().optional() }).optional(),
  jwks: b.anyObject().optional(),
}

const NOW = Date.parse('2027-01-01T00:00:00Z')
const bodyOf = (options: Record<string, unknown>, words: BodyWords = {}, isChange = true) =>
  bodyOptions(members, words, isChange)
    .read({ options })
    .at(async () => NOW)

const flagsOf = (isChange: boolean, visibility?: 'hidden') =>
  bodyOptions(members, {}, isChange)
    .options.filter((option) => option[2] === visibility)
    .map(([flags]) => flags)

test('each member is an option, whose value follows from its kind', () => {
  assert.deepEqual(flagsOf(false), [
    '--name <NAME>',
    '--scopes <SCOPES...>',
    '--mode <MODE>',
    '--size <SIZE>',
    '--is-public',
    '--reuse',
    '--expires <WHEN>',
    '--overlap <SPAN>',
    '--rate-limit <N/SECONDS>',
    '--jwks <FILE>',
  ])
  assert.deepEqual(flagsOf(true, 'hidden'), ['--scope <SCOPES...>', '--no-is-public', '--no-reuse'])
})

test('the meaning is that of the document, with what a command line needs', () => {
  const meanings = (isChange: boolean) =>
    Object.fromEntries(
      bodyOptions(members, {}, isChange).options.map(([flags, text]) => [
        flags.split(' ')[0],
        text,
      ]),
    )
  const created = meanings(false)
  assert.equal(created['--name'], 'names the thing (required)')
  assert.match(created['--mode']!, / \(warm, cold\)$/)
  const changed = meanings(true)
  assert.equal(changed['--name'], 'names the thing')
  assert.match(changed['--expires']!, /; none clears it$/)
  assert.match(changed['--is-public']!, /, or --no-is-public$/)
})

test('a command line is the JSON of the body', async () => {
  const options = {
    name: 'A',
    scopes: ['a,b'],
    scope: ['c'],
    size: '7',
    isPublic: false,
    reuse: true,
    expires: '1d',
    overlap: '1h30m',
    rateLimit: '600/60',
    jwks: '{"keys":[]}',
  }
  assert.deepEqual(await bodyOf(options), {
    name: 'A',
    scopes: ['a', 'b', 'c'],
    size: 7,
    is_public: false,
    reuse: 'until_expiry',
    expires_at: '2027-01-02T00:00:00.000Z',
    overlap_seconds: 5400,
    limits: { rate_limit: { limit: 600, window_s: 60 } },
    jwks: { keys: [] },
  })
  assert.deepEqual(await bodyOf({}), {})
})

test('none clears a member, and a list', async () => {
  const cleared = { expires: 'never', scopes: ['none'], rateLimit: 'none', reuse: false }
  assert.deepEqual(await bodyOf(cleared), {
    scopes: [],
    reuse: null,
    expires_at: null,
    limits: { rate_limit: null },
  })
  assert.deepEqual(await bodyOf({ name: 'none' }), { name: 'none' })
})

test('words rename an option, omit it, and read it in another form', async () => {
  const words = { name: { option: 'title' }, size: false, expires_at: { form: PAST } } as const
  const { options } = bodyOptions(members, words)
  assert.ok(options.some(([flags]) => flags === '--title <NAME>'))
  assert.ok(!options.some(([flags]) => flags.startsWith('--size')))
  assert.deepEqual(await bodyOf({ title: 'A', expires: '1d' }, words), {
    name: 'A',
    expires_at: '2026-12-31T00:00:00.000Z',
  })
})

test('an object of a list has options, if it is the only one', async () => {
  const rules = b.list(b.object({ match: b.line(9), mode: b.oneOf(['live', 'test']) }), { max: 9 })
  const words = { rules: { members: { mode: { isOptional: true } } } } as const
  const { options, read, optionAt } = bodyOptions({ rules }, words, true)
  assert.deepEqual(
    options.map(([flags]) => flags),
    ['--match <MATCH>', '--mode <MODE>'],
  )
  const body = await read({ options: { match: 'a' } }).at(async () => NOW)
  assert.deepEqual(body, { rules: [{ match: 'a' }] })
  assert.throws(() => read({ options: {} }), new UsageError('Missing: --match <MATCH>.'))
  assert.equal(optionAt('/rules/0/match'), '--match')
})

test('a missing option and a value of another form are rejected', () => {
  const create = (options: Record<string, unknown>) => bodyOptions(members).read({ options })
  assert.throws(() => create({ scopes: ['a'] }), /^UsageError: Missing: --name <NAME>\.$/)
  assert.deepEqual(create({ name: 'A' }).missing, ['--scopes'])
  for (const [options, sentence] of [
    [{ overlap: 'soon' }, /--overlap is "soon"; expected a span/],
    [{ expires: 'soon' }, /--expires is "soon"; expected an instant .*, or a span such as 90d/],
    [{ rateLimit: '600' }, /--rate-limit is "600"; expected a number per seconds/],
    [{ jwks: '/no/such/file' }, /--jwks \/no\/such\/file is no file with JSON/],
  ] as const) {
    assert.throws(() => create({ name: 'A', ...options }), sentence)
  }
})
