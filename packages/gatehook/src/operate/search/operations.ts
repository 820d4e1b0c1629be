/** The operation of the console's palette: everything with an id or a name. */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

export const RESULTS_MAX = 8

const SEARCH_TYPES = [
  'request',
  'event',
  'delivery',
  'webhook',
  'key',
  'client',
  'customer',
  'operator',
  'row',
] as const
export type SearchType = (typeof SEARCH_TYPES)[number]

const result = b
  .object({
    type: b.openSet(SEARCH_TYPES).describe('The kind of the result.').example('key'),
    id: b.text().example('key_01jdq8w9vgk7'),
    label: b.text().describe('The name, or what a person recognizes.').example('Shop backend'),
    customer: b.text().nullable().example('cus_01jdq8w9vgk7'),
    mode: b.oneOf(['live', 'test']).nullable(),
    href: b.text().describe('The page of the console.').example('/console/keys/key_01jdq8w9vgk7'),
  })
  .named('SearchResult')

export const searchOperations = {
  search: operation('GET /admin/search', {
    id: 'search',
    summary: 'Find anything by the beginning of its id or name, or the end of its secret',
    description:
      'An id of the engine (`req_`, `evt_`, `dlv_`, `wh_`, `key_`, `client_`, `cus_`, `op_`), ' +
      'the id of a row, the beginning of the name of a customer, key, client or operator, ' +
      'or the last four characters of the secret of a key or client. A label says `(revoked)`. ' +
      `Returns at most ${RESULTS_MAX} results.`,
    tag: 'monitoring',
    query: {
      q: b
        .line(100)
        .describe('The beginning of an id or name, or the end of a secret.')
        .example('Shop'),
    },
    output: b.object({ data: b.list(result) }).named('SearchResults'),
  }),
}
