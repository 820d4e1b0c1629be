/** The client of @hey-api/openapi-ts. */
import { KEY, run, URL } from './flow.ts'
import { client } from './hey/client.gen'
import { createWidget, deleteWidget, getWidget, listWidgets, updateWidget } from './hey/sdk.gen'

client.setConfig({ baseUrl: URL, auth: ({ name }) => (name === 'X-API-Key' ? KEY : undefined) })

await run('hey', {
  create: async (body) => (await createWidget({ body })).data!,
  page: async ({ email, ...page }) => {
    const query = { ...page, 'email[gte]': email, 'email[lt]': `${email}~` }
    return (await listWidgets({ query })).data!
  },
  patch: async (id, body) => (await updateWidget({ path: { id }, body })).data!,
  remove: (id) => deleteWidget({ path: { id } }),
  failure: async (id) => (await getWidget({ path: { id } })).error?.error,
})
