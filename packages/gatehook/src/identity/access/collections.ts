/** The table of customers, as `/admin` and the command line return it. */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { createAdminTable } from './admin-table.ts'

const MAX_PER_WINDOW = 1_000_000
const MAX_WINDOW_S = 86_400

/** A number of requests or deliveries per window. */
const rate = b.object({
  limit: b.int(1, MAX_PER_WINDOW).example(600),
  window_s: b.int(1, MAX_WINDOW_S).describe('The window in seconds.').example(60),
})

/** A customer's own limits; the installation's apply if one is absent. */
export const customerLimits = b
  .object({
    rate_limit: rate.nullable().optional().describe('Requests of each credential (§11.3).'),
    total_rate_limit: rate
      .nullable()
      .optional()
      .describe('Requests of all credentials together; default 10 × the limit of one.'),
    delivery_rate: rate.nullable().optional().describe('Webhook deliveries (§9.8).'),
  })
  .describe('Limits of this customer. The limits of the installation apply where one is absent.')

const customerId = b.text().example('cus_01jdq8w9vgk7')
export const mode = b.oneOf(['live', 'test'])

export const customer = b
  .object({
    id: customerId,
    name: b.text().example('Acme GmbH'),
    suspended: b.bool().describe('Every credential of the customer gets 403.').example(false),
    contact_email: b
      .text()
      .nullable()
      .describe('The address for news about the API, for example the end of a version.')
      .example('api@acme.example'),
    external_id: b
      .text()
      .nullable()
      .describe('The id of the customer in your own system; null: none.')
      .example('org_42'),
    limits: customerLimits,
    created_at: b.time(),
    deleting_since: b
      .time()
      .nullable()
      .describe('Its credentials have ended, and its rows are being deleted; null otherwise.')
      .example(null),
    deleted_rows: b.int(0).describe('The rows that the deletion has deleted so far.').example(0),
  })
  .named('Customer')
  .columns({
    name: {},
    id: {},
    external_id: {},
    state: {
      states: [
        ['deleting_since', { '*': ['hold', 'deleting, {deleted_rows} rows so far'] }],
        ['suspended', { true: ['hold', 'suspended'], false: ['ok', 'active'] }],
      ],
    },
    'limits.rate_limit': { title: 'request limit', none: 'default limit' },
    'limits.delivery_rate': { title: 'delivery limit', none: 'default limit' },
    created_at: {},
    'limits.total_rate_limit': {
      title: 'total request limit',
      none: 'default limit',
      isFact: true,
    },
    contact_email: { title: 'contact', isFact: true },
  })

export const customerDeletion = b
  .object({
    id: customerId,
    deleting_since: b
      .time()
      .describe('When its deletion began.')
      .example('2027-03-01T10:20:00.000Z'),
    deleted_rows: b.int(0).describe('The rows that the job has deleted so far.').example(0),
  })
  .named('CustomerDeletion')

export type CustomerJson = JsonOf<typeof customer>

export const customerTable = createAdminTable({
  row: customer,
  path: '/admin/customers',
  name: 'customers',
  table: 'gh_customers',
  filter: ['id', 'name', 'external_id', 'suspended', 'created_at'],
  sort: ['id', 'name', 'created_at'],
  indexes: [['id'], ['name', 'id'], ['created_at', 'id'], ['external_id', 'id']],
})
