/** The client of OpenAPI Generator for TypeScript (typescript-fetch). */
import { KEY, run, URL } from './flow.ts'
import { Configuration, type ResponseError, WidgetsApi } from './generated'

const api = new WidgetsApi(new Configuration({ basePath: URL, apiKey: () => KEY }))

await run('generator', {
  create: (body) => api.createWidget({ widgetCreate: body }),
  page: ({ email, ...page }) => api.listWidgets({ ...page, emailGte: email, emailLt: `${email}~` }),
  patch: (id, body) => api.updateWidget({ id, widgetPatch: body }),
  remove: (id) => api.deleteWidget({ id }),
  failure: async (id) => {
    try {
      await api.getWidget({ id })
    } catch (error) {
      return ((await (error as ResponseError).response.json()) as { error: string }).error
    }
  },
})
