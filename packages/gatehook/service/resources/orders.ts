/** Orders of users: pending → paid → shipped → delivered, or cancelled before they are shipped. */
import { f, resource } from 'gatehook'

export const orders = resource('orders', {
  fields: {
    id: f.id(),
    user_id: f.ref('users').owner(),
    status: f
      .oneOf(['pending', 'paid', 'shipped', 'delivered', 'cancelled'])
      .default('pending')
      .readonly(),
    amount: f.int().min(1).describe('In minor units of the currency, for example cents.'),
    currency: f.currency().default('EUR'),
    note: f.string().max(500).nullable().default(null),
    created_at: f.createdAt(),
    updated_at: f.updatedAt(),
  },
  list: {
    filter: ['id', 'user_id', 'status', 'amount', 'currency', 'created_at'],
    sort: [
      'id',
      'user_id',
      'status',
      'amount',
      'note',
      'created_at',
      'updated_at',
      ['status', 'created_at'],
    ],
  },
  access: { read: 'orders:read', create: 'orders:write', update: 'orders:write', delete: false },
  events: ['order.created', 'order.updated'],
})
  .links((order) => ({ self: `/orders/${order.id}`, user: `/users/${order.user_id}` }))
  .sample((n) => ({
    amount: 500 + ((n * 1_237) % 20_000),
    currency: currencies[n % currencies.length]!,
    note: n % 4 === 0 ? 'Leave at the door' : null,
  }))
  .action('pay', { scope: 'orders:write', from: ['pending'], to: 'paid', emits: 'order.paid' })
  .editable(['amount', 'currency'], { from: ['pending'] })
  .action('ship', { scope: 'orders:fulfil', from: ['paid'], to: 'shipped', emits: 'order.shipped' })
  .action('deliver', {
    scope: 'orders:fulfil',
    from: ['shipped'],
    to: 'delivered',
    emits: 'order.delivered',
  })
  .action('cancel', {
    scope: 'orders:write',
    from: ['pending', 'paid'],
    to: 'cancelled',
    emits: 'order.cancelled',
    input: { reason: f.string().max(200).nullable().default(null) },
    run: ({ row, input }) => ({ note: input.reason ?? row.note }),
  })

const currencies = ['EUR', 'USD', 'GBP', 'JPY']
