/**
 * `docs/reference/asvs.md`, `docs/security.md` and `SECURITY.md`: each requirement of OWASP ASVS
 * 5.0.0 is listed once, the counts are right, and every cited rule exists.
 * `test/tidy-paths.test.ts` verifies the cited files.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { rules } from '../../docs/generate/rules.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const asvs = read('docs/reference/asvs.md')

/** Numbers of requirements of levels 1 and 2: by chapter, then by section. */
const REQUIREMENTS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  1: { 1: 2, 2: 9, 3: 11, 4: 3, 5: 2 },
  2: { 1: 3, 2: 3, 3: 4, 4: 1 },
  3: { 2: 2, 3: 4, 4: 6, 5: 5, 7: 2 },
  4: { 1: 3, 2: 1, 3: 2, 4: 4 },
  5: { 1: 1, 2: 3, 3: 2, 4: 3 },
  6: { 1: 3, 2: 12, 3: 4, 4: 4, 5: 5, 6: 3, 8: 4 },
  7: { 1: 3, 2: 4, 3: 2, 4: 5, 5: 2, 6: 2 },
  8: { 1: 2, 2: 3, 3: 1, 4: 1 },
  9: { 1: 3, 2: 4 },
  10: { 1: 2, 2: 2, 3: 4, 4: 11, 5: 5, 6: 2, 7: 3 },
  11: { 1: 2, 2: 3, 3: 3, 4: 4, 5: 1, 6: 1 },
  12: { 1: 3, 2: 2, 3: 4 },
  13: { 1: 1, 2: 5, 3: 2, 4: 5 },
  14: { 1: 2, 2: 4, 3: 3 },
  15: { 1: 3, 2: 3, 3: 7 },
  16: { 1: 1, 2: 5, 3: 4, 4: 3, 5: 3 },
  17: { 1: 1, 2: 4, 3: 2 },
}

const expected = Object.entries(REQUIREMENTS).flatMap(([chapter, sections]) =>
  Object.entries(sections).flatMap(([section, count]) =>
    Array.from({ length: count }, (_, at) => `${chapter}.${section}.${at + 1}`),
  ),
)

interface Requirement {
  readonly id: string
  readonly met: string
  readonly why: string
}

const requirements: readonly Requirement[] = [
  ...asvs.matchAll(/^\| (\d+\.\d+\.\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm),
].map(([, id, met, why]) => ({ id: id!, met: met!, why: why! }))

test('asvs.md lists the 253 requirements of levels 1 and 2 in order, each once', () => {
  assert.equal(expected.length, 253)
  assert.deepEqual(
    requirements.map(({ id }) => id),
    expected,
  )
})

test('asvs.md counts the answers of each chapter', () => {
  const countsOf = (prefix: string) => {
    const rows = requirements.filter(({ id }) => id.startsWith(prefix))
    const answers = ['yes', 'no', 'not applicable']
    return [rows.length, ...answers.map((met) => rows.filter((row) => row.met === met).length)]
  }
  const listed = [...asvs.matchAll(/^\| (?:V(\d+) [^|]+|all) \|((?: \d+ \|){4})$/gm)].map(
    ([, chapter, counts]) => [chapter, counts!.match(/\d+/g)!.map(Number)],
  )
  assert.deepEqual(listed, [
    ...Object.keys(REQUIREMENTS).map((chapter) => [chapter, countsOf(`${chapter}.`)]),
    [undefined, countsOf('')],
  ])
})

test('a requirement that is met names a rule, a file or a page', () => {
  const unfounded = requirements.filter(
    ({ met, why }) => met === 'yes' && !/§\d|`[\w./-]+\/[\w.-]+\.ts`|\]\(/.test(why),
  )
  assert.deepEqual(
    unfounded.map(({ id }) => id),
    [],
  )
})

test('every rule that the security pages cite exists', () => {
  const numbers = new Set(rules.map((rule) => rule.number))
  for (const path of ['docs/reference/asvs.md', 'docs/security.md', 'SECURITY.md']) {
    const text = read(path).replace(/RFC \d+ §[\d.]+/g, '')
    const cited = [...text.matchAll(/§(\d+(?:\.\d+)?)/g)].map(([, number]) => number!)
    assert.deepEqual(
      cited.filter((number) => !numbers.has(number)),
      [],
      path,
    )
  }
})
