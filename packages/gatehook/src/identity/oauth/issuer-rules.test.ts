import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  findContinued,
  ID_JAG_TYPE,
  type IssuerRule,
  type Match,
  overlaps,
} from './issuer-rules.ts'

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
  ({ match, typ: undefined, person: undefined, domains: [], ...members }) as unknown as IssuerRule

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

test('a rule continues if it takes all former callers, and none is taken from it', () => {
  const BLOG = { repository: 'acme/blog' }
  const OWNER = { repository_owner: 'acme' }
  const continued = (former: readonly Match[], rules: readonly Match[]) =>
    findContinued(
      former.map((match) => ruleOf(match)),
      rules.map((match) => ruleOf(match)),
    )
  assert.deepEqual(continued([SHOP, BLOG], [BLOG]), [1], 'the first one is removed')
  assert.deepEqual(continued([SHOP, BLOG], [BLOG, SHOP]), [1, 0], 'another order')
  assert.deepEqual(continued([SHOP], [{ repository: ['acme/shop', 'acme/blog'] }]), [0], 'wider')
  assert.deepEqual(continued([SHOP], [{ repository: 'acme/*' }, SHOP]), [undefined, undefined])
  assert.deepEqual(continued([SHOP], [{ ...SHOP, ref: 'main' }]), [undefined], 'narrower')
  assert.deepEqual(continued([{ ...SHOP, ref: 'main' }], [SHOP]), [0], 'without a claim')
  assert.deepEqual(continued([SHOP, OWNER], [SHOP, OWNER]), [0, 1], 'the overlap is not new')
  assert.deepEqual(continued([OWNER], [SHOP, OWNER]), [undefined, undefined], 'taken by the first')
  assert.deepEqual(continued([OWNER, SHOP], [SHOP, OWNER]), [1, undefined], 'it takes some from it')
  assert.deepEqual(continued([SHOP], [SHOP, SHOP]), [0, undefined], 'one continues it')
  const of = (members: Partial<IssuerRule>) => [ruleOf(SHOP, members)]
  const person = { person: 'email' } as const
  const [wide, narrow] = [of({ ...person, domains: ['a.example', 'b.example'] }), of(person)]
  assert.deepEqual(findContinued(wide, narrow), [0], 'any domain')
  assert.deepEqual(findContinued(narrow, wide), [undefined], 'fewer domains')
  assert.deepEqual(findContinued(of({ person: 'sub' }), narrow), [undefined], 'another name')
  assert.deepEqual(findContinued(of({ typ: 'a' }), of({ typ: 'b' })), [undefined])
  assert.deepEqual(findContinued(of({ scope: 2 as never }), of({ scope: 3 as never })), [undefined])
})
