/** The client of orval. */
import { KEY, run, URL } from './flow.ts'
import * as api from './orval-client'

const plainFetch = globalThis.fetch
globalThis.fetch = (path, init) =>
  plainFetch(`${URL}${path}`, { ...init, headers: { ...init?.headers, 'X-API-Key': KEY } })

await run('orval', {
  create: async (body) => {
    const reply = await api.createWidget(body)
    if (reply.status !== 201) throw new Error(String(reply.status))
    return reply.data
  },
  page: async ({ email, ...page }) => {
    const reply = await api.listWidgets({ ...page, 'email[gte]': email, 'email[lt]': `${email}~` })
    if (reply.status !== 200) throw new Error(String(reply.status))
    return reply.data
  },
  patch: async (id, body) => {
    const reply = await api.updateWidget(id, body)
    if (reply.status !== 200) throw new Error(String(reply.status))
    return reply.data
  },
  remove: (id) => api.deleteWidget(id),
  failure: async (id) => {
    const reply = await api.getWidget(id)
    return reply.status === 404 ? (reply.data as { error: string }).error : undefined
  },
})
