import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ContentBlock } from './content.ts'
import { stateBlocks } from './resource-page.ts'

const states = ['open', 'pending', 'solved', 'closed']
const state = fc.constantFrom(...states)
const actions = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('wait', 'solve', 'close', 'reopen', 'merge'),
    from: fc.option(fc.uniqueArray(state, { minLength: 1 }), { nil: undefined }),
    to: state,
  }),
  { selector: ({ name }) => name, minLength: 1 },
)

/** Returns `solve: pending > solved` for each way that the blocks show. */
function shownWays(blocks: readonly ContentBlock[]): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'states') {
      return block.steps.map(({ action, to }, at) => {
        const from = at === 0 ? block.start : block.steps[at - 1]!.to
        return `${action}: ${from} > ${to}`
      })
    }
    assert.equal(block.kind, 'text')
    return [...block.text.matchAll(/\*\*(\w+)\*\* (?:also )?leads from (.+?) to `(\w+)`/g)].flatMap(
      ([, action, origins, to]) =>
        origins!.split(' and ').map((from) => `${action}: ${from.replaceAll('`', '')} > ${to}`),
    )
  })
}

test('the states of a collection have each way that its actions declare, once', () => {
  fc.assert(
    fc.property(actions, (declared) => {
      const definition = { name: 'tickets', fields: { status: { default: 'open' } } }
      const blocks = stateBlocks({ ...definition, actions: declared } as never)
      const ways = declared.flatMap(({ name, from = ['any state'], to }) =>
        from.map((origin) => `${name}: ${origin} > ${to}`),
      )
      assert.deepEqual(shownWays(blocks).sort(), ways.sort())
    }),
  )
})

test('an action without an endpoint has no name, which callers could not use', () => {
  const definition = { name: 'tickets', fields: { status: { default: 'open' } } }
  const internal = { scope: false, from: ['open'], to: 'closed' }
  const declared = [
    { name: 'expire', ...internal },
    { name: 'archive', ...internal, to: 'solved' },
  ]
  const text = JSON.stringify(stateBlocks({ ...definition, actions: declared } as never))
  assert.match(text, /The service itself leads from `open` to `solved`/)
  assert.doesNotMatch(text, /expire|archive/)
})
