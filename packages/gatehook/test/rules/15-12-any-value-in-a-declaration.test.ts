/**
 * §15.12: any value of any member of any word of a declaration is valid, or a mistake with its file
 * and line; none is an exception of the engine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declaredMembers } from '../../src/declare/resources/declared-members.ts'
import { Resource } from '../../src/declare/resources/resource.ts'
import { openApp } from '../../src/embedded.ts'
import { DeclarationError } from '../../src/gatehook.ts'
import { api, plain, words } from '../fixtures/declared-words.ts'

const junk: readonly (readonly [string, unknown])[] = [
  ...[null, true, 0, -1, Number.NaN, 7n, '', 'x', 'X Y', 'a'.repeat(70_000)].map(
    (value) => [String(value).slice(0, 20), value] as const,
  ),
  ['symbol', Symbol('x')],
  ['function', () => 1],
  ['object', {}],
  ['array', []],
  ['array of null', [null]],
  ['array of text', ['x']],
  ['array of numbers', [7]],
  ['object of null', { x: null }],
  ['object of objects', { x: {}, y: [] }],
  ['date', new Date(0)],
  ['map', new Map([['a', 1]])],
]

/** Returns the service with a part that a word has declared. */
const serviceWith = (part: unknown) =>
  part instanceof Resource ? api({ resources: [part] }) : part

function errorOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

test('a value of another kind is a sentence with file and line, not an exception', async () => {
  const wrong: string[] = []
  for (const [word, declare] of Object.entries(words)) {
    for (const member of Object.keys(declaredMembers[word as keyof typeof words])) {
      for (const [kind, value] of junk) {
        const title = `${word} ${member} ${kind}`
        const declareAll = () => serviceWith(declare({ [member]: value }))
        const error = errorOf(declareAll)
        if (error === undefined) continue
        if (!(error instanceof DeclarationError)) wrong.push(`${title}: ${String(error)}`)
        else {
          const options = { service: plain(declareAll) }
          await assert.rejects(openApp(options), /\.ts:\d+: /, title)
        }
      }
    }
  }
  assert.deepEqual(wrong, [])
})
