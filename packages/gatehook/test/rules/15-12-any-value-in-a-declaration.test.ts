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
import type { Shape } from '../../src/protocol/fields/declaration-mistakes.ts'
import { api, plain, words } from '../fixtures/declared-words.ts'
import { junk } from '../fixtures/junk.ts'

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

/** Returns the options of a word with a value of each of its members, also of inner ones. */
const optionsOf = (shape: Shape, value: unknown): [path: string, options: object][] =>
  Object.entries(shape).flatMap(([member, inner]) => [
    [member, { [member]: value }],
    ...(inner === true ? [] : optionsOf(inner, value)).map(([path, options]): [string, object] => [
      `${member}.${path}`,
      { [member]: options },
    ]),
  ])

test('a value of another kind is a sentence with file and line, not an exception', async () => {
  const wrong: string[] = []
  for (const [word, declare] of Object.entries(words)) {
    for (const [kind, value] of junk) {
      for (const [path, options] of optionsOf(declaredMembers[word as keyof typeof words], value)) {
        const title = `${word} ${path} ${kind}`
        const declareAll = () => serviceWith(declare(options))
        const error = errorOf(declareAll)
        if (error === undefined) continue
        if (!(error instanceof DeclarationError)) wrong.push(`${title}: ${String(error)}`)
        else {
          const service = plain(declareAll)
          await assert.rejects(openApp({ service }), /\.ts:\d+: /, title)
        }
      }
    }
  }
  assert.deepEqual(wrong, [])
})
