/** The client of oazapfts. */
import { KEY, run, URL } from './flow.ts'
import * as api from './oazapfts-client'

api.defaults.baseUrl = URL
api.defaults.headers = { 'X-API-Key': KEY }

await run('oazapfts', {
  create: async (body) => {
    const reply = await api.createWidget(body)
    if ('error' in reply.data) throw new Error(String(reply.status))
    return reply.data
  },
  page: async ({ email, ...page }) => {
    const reply = await api.listWidgets({ ...page, emailGte: email, emailLt: `${email}~` })
    if (!('data' in reply) || 'error' in reply.data) throw new Error(String(reply.status))
    return reply.data
  },
  patch: async (id, body) => {
    const reply = await api.updateWidget(id, body)
    if ('error' in reply.data) throw new Error(String(reply.status))
    return reply.data
  },
  remove: (id) => api.deleteWidget(id),
  failure: async (id) => {
    const reply = await api.getWidget(id)
    return reply.status === 404 ? reply.data.error : undefined
  },
})
