/**
 * The types of the words of own code, and the errors that `tsc` must report. An unused
 * `@ts-expect-error` is an error. The file is compiled, not run.
 */
import { f, failure, fields, resource } from 'gatehook'

const exceeded = failure('amount_exceeds_due', {
  status: 409,
  message: 'x',
  details: fields({ due: f.int(), reason: f.string().nullable().default(null) }),
})
const declined = failure('declined', { status: 402, message: 'x' })
export const code: 'amount_exceeds_due' = exceeded.code

export const thrown = [
  exceeded({ details: { due: 1 } }),
  exceeded({ details: { due: 1, reason: 'x' }, message: 'x' }),
  declined(),
  declined({ errors: [{ pointer: '/a', code: exceeded, message: 'x' }] }),
  declined({ errors: [{ pointer: '/a', code: 'too_large', message: 'x' }] }),
]
// @ts-expect-error: details are required
exceeded()
// @ts-expect-error: due is a number
exceeded({ details: { due: '1' } })
// @ts-expect-error: there is no member rest
exceeded({ details: { due: 1, rest: 1 } })
// @ts-expect-error: the code is no failure
declined({ errors: [{ pointer: '/a', code: 'oops', message: 'x' }] })
// @ts-expect-error: 418 is no status of a failure
failure('teapot', { status: 418, message: 'x' })

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const list = { filter: [], sort: [] } as const
resource('bills', {
  fields: { id: f.id('bill'), paid_at: f.time().nullable() },
  list,
  access,
  events: [],
})
  .rule('create', ({ after, now }) => ({ paid_at: after.id === 'x' ? now : null }), {
    failures: [exceeded, 'conflict'],
  })
  .action('pay', { scope: 'w', run: ({ now }) => ({ paid_at: now }), failures: [declined] })
  // @ts-expect-error: there is no code oops
  .action('fail', { scope: 'w', failures: ['oops'] })
resource('carts', { fields: { id: f.id() }, list, access, events: [] })
  // @ts-expect-error: the database generates ids that are numbers
  .rule('create', ({ after }) => void after.id)
