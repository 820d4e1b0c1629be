/**
 * Runs every program of the docs against a service that listens: in the shell, with gatehook-client
 * and with Python. Each language and version has a service of its own. The programs run unchanged,
 * except for the id of a row in the state that its action needs.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { sectionsOf } from './pages.ts'
import { createRunner, withoutPython } from './run-program.ts'
import { exampleValues, openTargets, targetOf, withValues } from './targets.ts'

/** The actions after which a new order is in the state that each section needs. */
const PREPARATIONS: Readonly<Record<string, readonly string[]>> = {
  'ship-order': ['pay'],
  'deliver-order': ['pay', 'ship'],
}

interface Service extends TestApp {
  readonly base: string
  readonly secret: string
}

async function listeningService(t: TestContext): Promise<Service> {
  const app = await openService(t, 'sqlite', { seed: true })
  const { url } = await app.app.listen()
  return { ...app, base: url, secret: await app.key() }
}

/** Creates a row for a section whose path has an id; undefined for other sections. */
async function createRow(
  { post }: TestApp,
  call: string,
  section: string,
  version: string,
): Promise<number | undefined> {
  const collection = /\/(orders|users)\/\{id\}/.exec(call)?.[1]
  if (collection === undefined) return undefined
  const body =
    collection === 'orders'
      ? { user_id: 1, amount: 700 }
      : { name: 'Ada', email: `${section}.${version}@example.com` }
  const { id } = (await post(`/api/${version}/${collection}`, body)).body
  for (const action of PREPARATIONS[section] ?? []) {
    const reply = await post(`/api/${version}/${collection}/${id}/${action}`)
    assert.equal(reply.status, 200, action)
  }
  return id
}

/** Replaces the id of the example in a path, or in the first argument of a client's method. */
const withId = (program: string, id: number | undefined): string =>
  id === undefined
    ? program
    : program
        .replace(/(\/(?:orders|users))\/1\b/, `$1/${id}`)
        .replace(/\b(get|update|delete|act)\(1\b/, `$1(${id}`)

const membersOf = (value: unknown): string[] => Object.keys(Object(value)).sort()

/** The programs print JSON, Python in its own notation, or nothing for a 204. */
function assertLike(output: string, answer: unknown, language: string, section: string): void {
  if (answer === undefined) return
  if (language === 'curl') {
    assert.deepEqual(membersOf(JSON.parse(output)), membersOf(answer), `${section}: ${output}`)
    return
  }
  const row = (answer as { data?: unknown[] }).data?.[0] ?? answer
  for (const name of membersOf(row)) assert.ok(output.includes(name), `${section}: ${output}`)
}

for (const language of ['curl', 'TypeScript', 'Python']) {
  const skip = language === 'Python' && withoutPython()
  for (const version of ['v1', 'v2']) {
    test(`every program of ${version} in ${language} runs`, { skip }, async (t) => {
      const service = await listeningService(t)
      const { run } = createRunner(t)
      let count = 0
      for (const name of ['', '/start', '/authentication', '/users', '/orders']) {
        const page = await service.get(`/docs/${version}${name}.md`)
        for (const { id, call, programs, answer } of sectionsOf(page.text)) {
          const program = programs.get(language)
          if (program === undefined) continue
          const row = await createRow(service, call, id, version)
          const output = await run(language, withId(program, row), { KEY: service.secret })
          assertLike(output, answer, language, `${version}${name}#${id}`)
          count++
        }
      }
      assert.ok(count > 13, `${count} programs`)
    })
  }
}

/** The pages of the engine's own endpoints, which are equal in every version. */
const ENGINE_PAGES = ['webhooks', 'events', 'tokens']
/** The token of the examples lacks openid, and no program has an authenticator. */
const NOT_RUN = [
  '/oauth/userinfo',
  'POST /auth/passkeys',
  'POST /auth/login/passkey',
  'DELETE /auth/passkeys/{id}',
]

/** Replaces the path of an example by that of a new object. */
const withTarget = (program: string, template: string, target: string): string => {
  const pattern = template.replace(/[.]/g, '\\$&').replace(/\{\w+\}/, '[\\w.-]+')
  return program.replace(new RegExp(`${pattern}(?![\\w/])`), target)
}

for (const language of ['curl', 'TypeScript', 'Python']) {
  const skip = language === 'Python' && withoutPython()
  test(`every program of the engine's pages in ${language} runs`, { skip }, async (t) => {
    const targets = await openTargets(t)
    const { url } = await targets.app.app.listen()
    const key = await targets.app.key()
    const { run } = createRunner(t)
    let count = 0
    for (const name of ENGINE_PAGES) {
      const page = await targets.app.get(`/docs/v2/${name}.md`)
      for (const { id, call, programs, answer } of sectionsOf(page.text)) {
        const program = programs.get(language)
        const [, path = ''] = call.split(' ')
        if (program === undefined || path === '' || path.endsWith('/stream')) continue
        if (NOT_RUN.includes(path) || NOT_RUN.includes(call)) continue
        const target = await targetOf(targets, path, id)
        const values = await exampleValues(targets)
        assert.ok(program.includes(url), `${name}#${id}`)
        const text = withTarget(withValues(program, values), path, target)
        const output = await run(language, text, { KEY: key, TOKEN: values.access })
        if (answer !== undefined) assert.notEqual(output, '', `${name}#${id}`)
        count++
      }
    }
    assert.ok(count > 20, `${count} programs`)
  })
}
