import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ID_JAG_TYPE, type IssuerRule, type Match, overlaps } from './issuer-rules.ts'

const SHOP = { repository: 'acme/shop' }

/** Matches of two rules, and whether an assertion can match both. */
const PAIRS: readonly (readonly [first: Match, second: Match, overlap: boolean])[] = [
  [SHOP, SHOP, true],
  [SHOP, { repository: 'acme/*' }, true],
  [{ repository: 'acme/*' }, { repository: ['other/x', 'acme/shop'] }, true],
  [{ repository: 'acme/team/*' }, { repository: 'acme/*' }, true],
  [SHOP, { repository_owner: 'acme' }, true],
  [{ ...SHOP, at: { env: 'a' } }, { ...SHOP, at: { ref: 'b' } }, true],
  [{ ...SHOP, at: { env: 'a' } }, { ...SHOP, at: { env: 'b' } }, false],
  [{ ...SHOP, at: 'a' }, { ...SHOP, at: { env: 'a' } }, false],
  [SHOP, { repository: 'acme/other' }, false],
  [{ repository: 'acme/*' }, { repository: 'acme2/*' }, false],
]

const ruleOf = (match: Match, members: Partial<IssuerRule> = {}) =>
  ({ match, typ: undefined, person: undefined, ...members }) as IssuerRule

test('two rules overlap if an assertion can match both', () => {
  for (const [first, second, overlap] of PAIRS) {
    for (const pair of [[first, second] as const, [second, first] as const]) {
      const [a, b] = pair.map((match) => ruleOf(match))
      assert.equal(overlaps(a!, b!), overlap, JSON.stringify(pair))
    }
  }
})

test('rules of other types of assertions do not overlap', () => {
  const rule = ruleOf(SHOP)
  assert.equal(overlaps(rule, ruleOf(SHOP, { typ: 'application/JWT' })), true)
  assert.equal(overlaps(rule, ruleOf(SHOP, { typ: 'other+jwt' })), false)
  const person = ruleOf(SHOP, { person: 'sub' })
  assert.equal(overlaps(rule, person), false)
  assert.equal(overlaps(person, ruleOf(SHOP, { person: 'email', typ: ID_JAG_TYPE })), true)
})
