/**
 * §15: whatever own code gives to a word, throws, returns or does not await, the response is a 4xx
 * with a code, or that of a mistake of the code; nothing changes, the process goes on, and no log
 * has the value. The contexts name their words, so that a new word needs a row in `yard.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contextWords } from '../../../../docs/generate/context-words.ts'
import { databases } from '../../../../test/rig/databases.ts'
import { f, resource } from '../../src/gatehook.ts'
import { CANARY, type Context, foreign, type Rows, validArguments } from '../fixtures/yard.ts'
import { inside, openYard, use, verify, type Yard } from '../fixtures/yard-rig.ts'

const throws = () => {
  throw new Error('hostile')
}
const hostile = new Proxy({}, { get: throws, has: throws, ownKeys: throws })
/** A resource with the name and the fields of one of the service. */
const double = resource('crates', {
  fields: { id: f.id('crate') },
  list: { filter: [], sort: [] },
  access: { read: 'y', create: 'y', update: 'y', delete: 'y' },
  events: [],
})

const junkOf = ({ other }: Rows): readonly unknown[] => [
  ...[undefined, null, 7n, Number.NaN, Symbol('x'), '', '\u0000', 'x'.repeat(70_000), other],
  ...[foreign, double, hostile, { pin: CANARY, colour: 1 }, { pin: { deep: CANARY } }],
  ...[
    { filter: { label: { in: 'x' } }, limit: 1e9 },
    { key: '', runAt: Number.NaN },
  ],
]
/** Elsewhere: each test of a value costs statements. */
const FEW = [hostile]

/** Returns the names of the functions of a context: `read.sql.all`. */
function namesOf(words: object, prefix = ''): string[] {
  return Object.entries(words).flatMap(([name, word]) => {
    if (typeof word === 'function') return [prefix + name]
    const isGroup = ['read', 'tx', 'sql', 'log'].includes(name)
    return isGroup ? namesOf(word, `${prefix}${name}.`) : []
  })
}

/** Returns the name of the row in the table of valid arguments. */
const rowOf = (context: Context, name: string): string =>
  name === 'write' && !(contextWords[context] as readonly string[]).includes('step')
    ? 'plain write'
    : name.replace(/^(read|tx)\./, '')

async function wordsIn(yard: Yard, context: Context, isTx: boolean): Promise<string[]> {
  let names: string[] = []
  await yard.runIn(
    context,
    inside(isTx, (words) => {
      names = namesOf(words)
    }),
  )
  return names
}

/** The contexts, and the transactions in them. */
const places = (Object.keys(contextWords) as Context[]).flatMap((context) => {
  const words: readonly string[] = contextWords[context]
  const hasTx = words.includes('write') && !context.includes('GET')
  return hasTx ? [[context, false] as const, [context, true] as const] : [[context, false] as const]
})
/** The contexts that share their words with jobs. */
const SLOW = /every|customers|\.on/
const MAIN: Context = '`.route()`, other methods'

for (const { name: kind } of databases) {
  test(`no word in any context makes more of a mistake than its answer [${kind}]`, async (t) => {
    const yard = await openYard(t, kind)
    const shared = places.filter(([context]) => kind === 'sqlite' || !SLOW.test(context))
    for (const [context, isTx] of shared) {
      for (const name of await wordsIn(yard, context, isTx)) {
        const valid = validArguments[rowOf(context, name)]
        assert.ok(valid, `${context}: ${name} has a row in the table`)
        const rows = await yard.rows()
        const junk = kind === 'sqlite' && context === MAIN && isTx ? junkOf(rows) : FEW
        const mistakes = valid(rows).flatMap((_, at) =>
          junk.map((value) => valid(rows).with(at, value)),
        )
        if (/every|customers/.test(context)) mistakes.length = 0
        for (const given of [[], ...mistakes]) {
          const call = inside(isTx, use(name, given))
          verify(yard, await yard.runIn(context, call), `${context}, ${isTx}: ${name}`)
        }
      }
    }
    assert.deepEqual((await yard.operator.get('/admin/jobs?state=running')).body.data, [])
  })
}
