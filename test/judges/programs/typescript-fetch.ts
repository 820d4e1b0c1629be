/** The client of OpenAPI Generator for TypeScript (typescript-fetch). */
import { KEY, run, URL } from './flow.ts'
import { Configuration, type ResponseError, WidgetsApi } from './generated'

const api = new WidgetsApi(new Configuration({ basePath: URL, apiKey: () => KEY }))

await run('generator', {
  create: ({ caption, email }) =>
    api.createWidget({ widgetCreate: { captionCamel: caption, email } }).then(toRow),
  page: async ({ email, ...page }) => {
    const list = await api.listWidgets({ ...page, emailGte: email, emailLt: `${email}~` })
    return { data: list.data.map(toRow), next_cursor: list.nextCursor }
  },
  patch: (id, { caption }) =>
    api.updateWidget({ id, widgetPatch: { captionCamel: caption } }).then(toRow),
  remove: (id) => api.deleteWidget({ id }),
  failure: async (id) => {
    try {
      await api.getWidget({ id })
    } catch (error) {
      return ((await (error as ResponseError).response.json()) as { error: string }).error
    }
  },
})

function toRow({ id, captionCamel: caption }: { id: number; captionCamel: string }) {
  return { id, caption }
}
