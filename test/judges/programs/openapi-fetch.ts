/** The client of openapi-typescript and openapi-fetch. */
import createClient from 'openapi-fetch'
import { KEY, run, URL } from './flow.ts'
import type { paths } from './types.ts'

const querySerializer = { array: { style: 'form', explode: false } } as const
const headers = { 'X-API-Key': KEY }
const client = createClient<paths>({ baseUrl: URL, headers, querySerializer })

await run('openapi-fetch', {
  create: async (body) => (await client.POST('/api/vN/widgets', { body })).data!,
  page: async ({ email, ...page }) => {
    const query = {
      ...page,
      sort: ['created_at' as const],
      'email[gte]': email,
      'email[lt]': `${email}~`,
    }
    return (await client.GET('/api/vN/widgets', { params: { query } })).data!
  },
  patch: async (id, body) =>
    (await client.PATCH('/api/vN/widgets/{id}', { params: { path: { id } }, body })).data!,
  remove: (id) => client.DELETE('/api/vN/widgets/{id}', { params: { path: { id } } }),
  failure: async (id) =>
    (await client.GET('/api/vN/widgets/{id}', { params: { path: { id } } })).error?.error,
})
