/** A pattern is accepted exactly if it cannot backtrack, and means what `RegExp` means. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { judgePattern, PatternError, shortestMatch } from './pattern.ts'

const accepted = [
  '^[A-Z]{3}-[0-9]{4}$',
  '^[a-z0-9]+(-[a-z0-9]+)*$',
  '^[a-z0-9]+(?:-[a-z0-9]+)*$',
  '^\\+[1-9]\\d{1,14}$',
  '^[A-Z]{2}\\d{2}[A-Z0-9]{11,30}$',
  '^(red|green|blue)?$',
  '^#[0-9a-fA-F]{6}$',
  '^v\\d+\\.\\d+\\.\\d+$',
  '^[^ /]{0}$',
  '^[\\w.\\-]{1,64}$',
  '^(a*b)*$',
  '^[^"]*$',
  '^(aa|b){2,}$',
  '^é😀?$',
]
const rejected: Record<string, RegExp> = {
  '^(a+)+$': /several ways/,
  '^(a*)*$': /several ways/,
  '^(a|a)*$': /several ways/,
  '^(a|ab)(c|bcd)$': /several ways/,
  '^a*a*$': /several ways/,
  '^\\d+\\d$': /several ways/,
  '^((a?|b?)c)*$': /several ways/,
  '^(a?)*$': /several ways/,
  '^(\\w+\\d)+$': /several ways/,
  '^[a-z]{1,3}[a-z]$': /several ways/,
  '^(a{1,500}b){1,500}$': /more than 1000/,
  'a+': /begins with \^/,
  '^(a$': /no end/,
  '^a)$': /no opening/,
  '^(?=a)a$': /nothing to repeat/,
  '^[]$': /has no characters/,
  '^(a)\\1$': /not accepted/,
  '^a+?$': /not accepted/,
  '^.*$': /not accepted/,
  '^*a$': /nothing to repeat/,
  '^a{3,1}$': /minimum above/,
  '^[z-a]$': /wrong order/,
  '^\\p{L}$': /not accepted/,
  '^a|b$c$': /not accepted/,
}

test('a pattern that never backtracks is accepted, and its shortest text matches', () => {
  for (const source of accepted) {
    judgePattern(source)
    const expression = new RegExp(source, 'u')
    assert.match(shortestMatch(source), expression)
  }
})

test('any other pattern is rejected with a sentence', () => {
  for (const [source, sentence] of Object.entries(rejected)) {
    const isExpected = (error: unknown) => error instanceof PatternError
    assert.throws(() => judgePattern(source), isExpected, source)
    assert.throws(() => judgePattern(source), sentence, source)
  }
})

const atom = fc.constantFrom('a', 'b', '[ab]', '[^a]', '\\d', 'c')
const { tree } = fc.letrec<{ tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.tuple(tie('tree'), tie('tree')).map(([left, right]) => left + right),
    fc.tuple(tie('tree'), tie('tree')).map(([left, right]) => `(${left}|${right})`),
    fc
      .tuple(tie('tree'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}'))
      .map(([part, times]) => `(${part})${times}`),
  ),
}))

/** A pattern that backtracks takes minutes for such a text, and the test does not end. */
const LENGTH = 100_000

test('an accepted pattern takes linear time for a text that almost matches', () => {
  const texts = ['a', 'b', 'ab', 'ac', 'bc', 'c', '0'].map((unit) => `${unit.repeat(LENGTH)}!`)
  const property = fc.property(tree, (source) => {
    try {
      judgePattern(`^${source}$`)
    } catch (error) {
      assert.ok(error instanceof PatternError)
      return
    }
    const expression = new RegExp(`^${source}$`, 'u')
    for (const text of texts) expression.test(text)
    assert.match(shortestMatch(`^${source}$`), expression)
  })
  fc.assert(property, { numRuns: 500, seed: 11 })
})
